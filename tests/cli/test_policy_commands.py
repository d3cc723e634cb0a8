"""``lockgate policy``: from keygen to rollout to rotation, and what a person is kept from doing by mistake."""

from __future__ import annotations

import json
import re
import shlex
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lockgate.cli.main import cli

pytestmark = pytest.mark.slow

PATTERNS = r"""
patterns:
  input:
    acme:
      name: Acme
      mode: block
      timeout_ms: 50
      rules:
        - id: acme-ticket
          pattern: 'ACME-[0-9]{6}'
          examples: {match: [%s], no_match: [ACME-1]}
"""


class Desk:
    """A person's home, and a folder with a policy."""

    def __init__(self, root: Path) -> None:
        self.root, self.policy, self.state = root, root / "policy", root / "state" / "lockgate"
        self.policy.mkdir()
        (self.policy / "lockgate.yaml").write_text("table: {egress: ask}\n")

    def run(self, *arguments: str, code: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(cli, ["policy", *arguments], input=stdin)
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    def keygen(self, name: str) -> tuple[str, str]:
        """A key's file and its public line."""
        file = str(self.root / f"{name}.pem")
        return file, self.run("keygen", file, "--no-passphrase", "--comment", name).stdout.strip()

    def build(self, out: str, *options: str, code: int = 0) -> Result:
        return self.run("build", str(self.policy), "--fleet", "acme", "--out", out, *options, code=code)

    def status(self, code: int = 0) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.run("status", "--json", code=code).stdout)
        return found


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name, folder in (("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state")):
        (tmp_path / folder).mkdir(mode=0o700)
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


def test_from_keygen_to_rotation(desk: Desk) -> None:
    old, old_line = desk.keygen("acme-2026")
    assert stat.S_IMODE(Path(old).stat().st_mode) == 0o600
    assert Path(f"{old}.pub").read_text().strip() == old_line

    assert desk.status()["fleet"] is None
    desk.run("pin", old_line, "--fleet", "acme", "--yes")
    assert desk.status(code=1)["policy"] is None  # nothing is in force yet, and all is locked
    assert "every call is denied" in desk.run("status", code=1).output

    desk.build("1.bundle", "--serial", "1", "--key", old, "--expires", "90d")
    assert "good" in desk.run("verify", "1.bundle").output
    assert "acme/1 is in force" in desk.run("install", "1.bundle").output
    assert desk.status()["problems"] == []
    assert "acme/1, in force" in desk.run("status").output

    new, _ = desk.keygen("acme-2027")
    desk.run("pin", f"{new}.pub", "--fleet", "acme", "--yes")
    desk.build("2.bundle", "--after", "1.bundle", "--key", old, "--expires", "2999-01-31")
    desk.run("sign", "2.bundle", "--key", new)
    desk.run("install", "2.bundle")
    [first, second] = desk.status()["keys"]  # type: ignore[misc]
    desk.run("unpin", first["id"])
    assert desk.status()["policy"]["serial"] == 2  # type: ignore[index]
    refused = desk.run("install", "1.bundle", code=1)
    assert "no pinned key" in refused.stderr
    desk.run("unpin", second["id"], code=1)  # the last one
    desk.run("unpin", "--all")
    assert desk.status()["fleet"] is None


def test_the_ten_minutes_of_the_document(desk: Desk) -> None:
    """Every command of docs/fleet-policy.md, in its order, with the policy that stands there."""
    text = (Path(__file__).parents[2] / "docs" / "fleet-policy.md").read_text("utf-8")
    [policy] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (desk.policy / "lockgate.yaml").write_text(policy)
    commands = [line for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    for command in commands:
        program, group, name, *rest = shlex.split(command)
        assert (program, group) == ("lockgate", "policy")
        rest = [desk.status()["keys"][0]["id"] if word == "SHA256:…" else word for word in rest]  # type: ignore[index]
        unasked = {"keygen": ["--no-passphrase"], "pin": ["--yes"]}
        desk.run(name, *rest, *unasked.get(name, []))
    found = desk.status()
    assert found["policy"]["serial"] == 3  # type: ignore[index]
    assert [key["comment"] for key in found["keys"]] == ["acme-policy-2027"]  # type: ignore[attr-defined]
    assert {"keygen", "build", "sign", "inspect", "verify", "pin", "unpin", "install", "status"} == {
        command.split()[2] for command in commands
    }


def test_every_act_is_in_the_audit(desk: Desk) -> None:
    key, line = desk.keygen("k")
    desk.run("pin", line, "--fleet", "acme", "--yes")
    desk.build("1.bundle", "--serial", "1", "--key", key)
    desk.run("install", "1.bundle")
    desk.run("unpin", "--all")
    told = CliRunner().invoke(cli, ["audit", "export"]).output
    events = [json.loads(line)["body"]["event"] for line in told.splitlines() if '"body"' in line]
    assert events == ["policy-pinned", "policy-accepted", "policy-unpinned"]


def test_a_passphrase_locks_a_key(desk: Desk) -> None:
    Path("words").write_text("correct horse\n")
    desk.run("keygen", "k.pem", "--passphrase-file", "words")
    assert b"ENCRYPTED" in Path("k.pem").read_bytes()
    desk.build("1.bundle", "--serial", "1", "--key", "k.pem", "--passphrase-file", "words")
    Path("words").write_text("wrong\n")
    wrong = desk.run("sign", "1.bundle", "--key", "k.pem", "--passphrase-file", "words", code=1)
    assert "another passphrase" in wrong.stderr
    desk.run("keygen", "l.pem", code=2)  # nobody to ask


def test_a_key_file_is_never_overwritten(desk: Desk) -> None:
    file, line = desk.keygen("k")
    desk.run("keygen", file, "--no-passphrase", code=1)
    assert Path(f"{file}.pub").read_text().strip() == line


def test_a_key_of_openssh_signs_too(desk: Desk) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    Path("ssh").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    Path("ssh.pub").write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b" me@host\n")
    desk.build("1.bundle", "--serial", "1", "--key", "ssh")
    assert "good" in desk.run("verify", "1.bundle", "--key", "ssh.pub").output


NOT_BUILT: dict[str, tuple[str, str, str]] = {
    "a slip in a key": ("lockgate.yaml", "profil: cascade\n", "profil"),
    "a bad expression": ("lockgate.yaml", "bash_patterns: {safe: ['(']}\n", "regular expression"),
    "an example that does not hold": ("patterns.yaml", PATTERNS % "ACME-12", "does not match"),
    "a group that nobody has": ("patterns.yaml", "tool_rules: {Bash: {patterns: [nobody]}}\n", "nobody"),
    "a name that no gate reads": ("lockgate.patterns.yaml", "patterns: {}\n", "and nothing else"),
    "not UTF-8": ("lockbox.json", "\udcff", "not UTF-8"),
}


@pytest.mark.parametrize(("name", "text", "problem"), NOT_BUILT.values(), ids=NOT_BUILT)
def test_a_policy_that_is_broken_cannot_be_built(desk: Desk, name: str, text: str, problem: str) -> None:
    (desk.policy / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert problem in desk.build("1.bundle", "--serial", "1", code=1).stderr
    assert not Path("1.bundle").exists()


def test_what_is_built_says_what_was_checked_and_what_is_perhaps_not_meant(desk: Desk) -> None:
    (desk.policy / "patterns.yaml").write_text(PATTERNS % "ACME-123456")
    (desk.policy / "lockgate.yaml").write_text("profile: cascade\n")
    built = desk.build("1.bundle", "--serial", "1").output
    assert "hold: 2; not signed yet" in built
    assert "a judge of its own" in built
    assert "never expires" in built


def test_building_needs_one_way_to_a_serial_and_the_same_fleet(desk: Desk) -> None:
    desk.build("1.bundle", "--serial", "1")
    desk.build("2.bundle", code=2)
    desk.build("2.bundle", "--serial", "2", "--after", "1.bundle", code=2)
    desk.build("2.bundle", "--serial", "2", "--expires", "soon", code=2)
    other = desk.run("build", str(desk.policy), "--fleet", "other", "--after", "1.bundle", "--out", "x", code=1)
    assert "for the fleet acme" in other.stderr


def test_a_bundle_can_be_looked_into(desk: Desk) -> None:
    key, _ = desk.keygen("k")
    (desk.policy / "lockgate.yaml").write_text("# \u202ered\ntable: {egress: ask}\n")
    desk.build("1.bundle", "--serial", "7", "--key", key)
    said = json.loads(desk.run("inspect", "1.bundle", "--json").stdout)
    assert (said["fleet"], said["serial"], [each["name"] for each in said["files"]]) == ("acme", 7, ["lockgate.yaml"])
    shown = desk.run("inspect", "1.bundle", "--file", "lockgate.yaml").stdout
    assert "table: {egress: ask}" in shown
    assert "\u202e" not in shown
    desk.run("inspect", "1.bundle", "--file", "patterns.yaml", code=1)
    desk.run("sign", "1.bundle", "--key", key, code=1)  # already
    Path("1.bundle").write_text("profile: observe\n")
    desk.run("inspect", "1.bundle", code=1)


def test_verifying_says_why_not(desk: Desk) -> None:
    key, line = desk.keygen("k")
    _, other = desk.keygen("other")
    desk.build("1.bundle", "--serial", "1", "--key", key)
    assert "--key" in desk.run("verify", "1.bundle", code=1).stderr  # nothing is pinned
    assert json.loads(desk.run("verify", "1.bundle", "--key", line, "--json").stdout)["good"] is True
    found = json.loads(desk.run("verify", "1.bundle", "--key", other, "--json", code=1).stdout)
    assert found == {"good": False, "problem": "no pinned key has signed it"}


def test_pinning_asks_a_person_and_one_fleet_at_a_time(desk: Desk) -> None:
    _, line = desk.keygen("k")
    desk.run("pin", line, "--fleet", "acme", code=2)  # nobody to ask
    desk.run("pin", line, "--fleet", "ACME", "--yes", code=2)
    desk.run("pin", "ssh-ed25519 AAAA", "--fleet", "acme", "--yes", code=1)
    desk.run("pin", line, "--fleet", "acme", "--yes")
    assert "belongs to acme" in desk.run("pin", line, "--fleet", "other", "--yes", code=1).stderr
    desk.run("unpin", "SHA256:nobody", code=1)
    desk.run("unpin", code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("pin", "ssh-ed25519 AAAA", "--fleet", "acme", "--yes"),
        ("unpin", "--all"),
        ("install", "x.bundle"),
        ("sign", "x.bundle", "--key", "k.pem"),
        ("keygen", "n.pem", "--no-passphrase"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_agent_may_not(desk: Desk, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    key, _ = desk.keygen("k")
    desk.build("x.bundle", "--serial", "1", "--key", key)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "only a person may" in desk.run(*arguments, code=1).stderr
