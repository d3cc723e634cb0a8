"""Trust in Codex's hooks: what was written for the gate is taken out again, byte for byte, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockgate.clients.common.hook_command import HookLaunch
from lockgate.clients.install import codex_trust
from lockgate.clients.install.codex_trust import CodexHook
from lockgate.clients.install.others import entries_of
from lockgate.core.errors import InstallError
from lockgate.system.folders import Folders

OTHER = '[hooks.state."/x/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "sha256:f"\n'
BEFORE = ["", 'model = "m"', 'model = "m"\n', 'model = "m"\n\n', f"a = 1\n\n{OTHER}", f"{OTHER}\n[b]\nc = 2"]


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a stranger's hook and the gate's, as Codex keeps them."""
    monkeypatch.delenv("CODEX_HOME", raising=False)
    launch = HookLaunch("/opt/python", "/opt/lockgate/hook.py", Folders("/home/user", "/s", "/c"))
    file = tmp_path / ".codex" / "hooks.json"
    file.parent.mkdir()
    foreign = {"hooks": [{"type": "command", "command": "true"}]}
    groups = {event: [foreign, {"hooks": [entry]}] for event, entry in entries_of("codex", launch).items()}
    file.write_text(json.dumps({"hooks": groups}))
    return file


def test_the_names_are_codexs_own(hooks: Path) -> None:
    keys = codex_trust.own_keys(str(hooks))
    assert f"{hooks}:pre_tool_use:1:0" in keys
    assert f"{hooks}:user_prompt_submit:1:0" in keys
    assert len(keys) == len(json.loads(hooks.read_text())["hooks"])
    assert codex_trust.own_keys(str(hooks.with_name("gone"))) == []
    hooks.write_text("[]")
    with pytest.raises(InstallError, match="cannot be read"):
        codex_trust.own_keys(str(hooks))


@pytest.mark.parametrize("before", BEFORE)
def test_trust_is_taken_out_again(hooks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    config = hooks.with_name("config.toml")
    if before:
        config.write_text(before)
    keys = codex_trust.own_keys(str(hooks))
    found = [CodexHook(key, f"sha256:{number}", trusted=False, file=str(hooks)) for number, key in enumerate(keys)]
    monkeypatch.setattr(codex_trust, "hooks", lambda *_: found)
    for _ in range(2):  # a second time changes nothing
        assert codex_trust.trust(str(hooks), "/", str(tmp_path)) == len(keys)
    assert config.read_text().count("trusted_hash") == len(keys) + before.count("trusted_hash")
    assert codex_trust.forget(keys, str(tmp_path)) == len(keys)
    assert (config.read_text() if before else not config.exists()) == (before or True)
    assert codex_trust.forget(keys, str(tmp_path)) == 0


def test_what_somebody_has_added_stays(hooks: Path, tmp_path: Path) -> None:
    key = codex_trust.own_keys(str(hooks))[0]
    config = hooks.with_name("config.toml")
    table = f'[hooks.state.{json.dumps(key)}]\ntrusted_hash = "sha256:1"\n'
    config.write_text(f"a = 1\n{table}enabled = false\n")
    assert codex_trust.forget([key], str(tmp_path)) == 0
    config.write_text(f"a = 1\n{table}[b]\nc = 2\n")
    assert codex_trust.forget([key], str(tmp_path)) == 1
    assert config.read_text() == "a = 1\n[b]\nc = 2\n"
