"""What a client that is added needs beside its adapter. Each test says what is missing, and which page says what to do.

The page is ``docs/contributing-clients.md``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.cli.common.ancestors import AGENTS
from lockgate.clients.adapter import CLIENTS, adapter
from lockgate.clients.common.hook_command import CALL_EVENTS
from lockgate.clients.install import other_checks
from lockgate.clients.install.claude_settings_view import CheckContext
from lockgate.clients.install.others import WAYS, ClientHooks, hooks_file, scopes
from lockgate.core.errors import InstallError
from lockgate.core.model import EffectKind
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import write_effects
from lockgate.system.folders import Folders

HOME, PROJECT = "/home/user", "/home/user/work"
FOLDERS = Folders(HOME, f"{HOME}/.local/state/lockgate", f"{HOME}/.config/lockgate")
DOCS = Path(__file__).parents[2] / "docs"
PAGE = "see docs/contributing-clients.md"
OTHERS = [client for client in CLIENTS if client != "claude-code"]


def test_each_client_is_told_of_its_hooks() -> None:
    missing = set(OTHERS) - set(WAYS)
    assert not missing, f"WAYS in clients/install/others.py lacks {missing}: {PAGE}"


def test_each_client_is_looked_for_in_path() -> None:
    missing = set(OTHERS) - set(other_checks.PROGRAMS)
    assert not missing, f"PROGRAMS in clients/install/other_checks.py lacks {missing}: {PAGE}"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_hook_waits_as_long_as_a_call_may(client: str) -> None:
    event = adapter(client).CALL_EVENT
    assert event in adapter(client).EVENTS, f"the adapter of {client} names no CALL_EVENT of its EVENTS: {PAGE}"
    assert event in CALL_EVENTS, f"CALL_EVENTS in clients/common/hook_command.py lacks {event} of {client}: {PAGE}"


@pytest.mark.parametrize("client", OTHERS)
def test_each_client_has_its_page(client: str) -> None:
    assert (DOCS / f"{client}.md").is_file(), f"docs/{client}.md is missing: {PAGE}"
    for index in (DOCS / "index.md", DOCS.with_name("mkdocs.yml")):
        assert f"{client}.md" in index.read_text("utf-8"), f"{index.name} has no row for docs/{client}.md: {PAGE}"


@pytest.mark.parametrize(("client", "scope"), [(client, scope) for client in WAYS for scope in scopes(client)])
def test_no_agent_may_take_its_hooks_out(client: str, scope: str) -> None:
    file = hooks_file(client, scope, FOLDERS, PROJECT, {})
    kinds = {effect.kind for effect in write_effects(file, PROJECT, HostView(home=HOME, workspace=PROJECT))}
    assert EffectKind.TAMPER in kinds, (
        f"an agent may overwrite the hooks of {client} in {file}: write that path into the row tamper/other-agents of"
        f" resources/data/places.yaml, then run make knowledge; {PAGE}"
    )


@pytest.mark.parametrize(("client", "program"), other_checks.PROGRAMS.items())
def test_a_client_is_not_taken_for_a_persons_terminal(client: str, program: str) -> None:
    assert program in AGENTS, f"AGENTS in cli/common/ancestors.py lacks {program}, the program of {client}: {PAGE}"


def test_a_client_may_have_no_settings_of_a_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What one client lacks breaks the checks of none."""
    ways = {**WAYS, "codex": ClientHooks((".codex", "hooks.json"), ())}
    monkeypatch.setattr("lockgate.clients.install.others.WAYS", ways)
    (tmp_path / ".codex").mkdir()
    hooks = tmp_path / ".codex" / "hooks.json"
    hooks.write_text("'/x/lockgate/hook.py' codex")
    folders = FOLDERS._replace(home=str(tmp_path))
    seen = CheckContext(folders=folders, project=str(tmp_path / "work"), layers=(), environ={}, version="")
    assert other_checks.find_guarded(seen) == [("codex", str(hooks))]
    assert scopes("codex") == ("user",)
    with pytest.raises(InstallError, match=r"take user$"):
        hooks_file("codex", "project", folders, seen.project, {})
