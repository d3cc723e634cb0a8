"""``lockgate approvals key``: a person's own key, chosen, made and shown."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate.configuration.bundles.keys import PrivateKey, parse
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.gate.approvals import questions
from lockgate.gate.approvals.proof import is_proven
from support.person import Machine, opened


class Keys(Machine):
    """A person's machine with keys of OpenSSH."""

    COMMAND = ("approvals", "key")

    def ssh_key(self, name: str, passphrase: str = "", kind: str = "ed25519") -> Path:
        file = self.home / name
        command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", f"{name} at home", "-f", str(file)]
        subprocess.run(command, check=True)
        return file

    def listed(self, name: str, key: str) -> dict[str, Any]:
        """Have the person's configuration name one approver."""
        approvers = {"keys": [{"name": name, "key": key.strip()}]}
        file = self.home / ".config" / "lockgate" / "lockgate.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"approvers": approvers}))
        return approvers

    def asked(self) -> str:
        """A question that waits; gives its id."""
        call, now = ToolCall("Bash", {"command": "git push"}, "/work", "c1"), time.time()
        about = {"tool": "Bash", "cwd": "/work", "whole": {"command": "git push"}, "labels": []}
        with self.store.transaction() as tx:
            context = Context("claude-code", Subject("s1"), "/work")
            return questions.ask(tx, context, call, "d" * 64, "b" * 64, about, now, 300.0).approval


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[Keys]:
    with opened(Keys, tmp_path) as keys:
        yield keys


def test_a_key_of_openssh_is_used_where_it_lies(keys: Keys) -> None:
    file = keys.ssh_key("id_ed25519")
    line = file.with_suffix(".pub").read_text().strip()
    done = keys.run("use", "~/id_ed25519")
    assert (done.returncode, done.stdout.strip()) == (0, line)
    assert keys.run("show").stdout.strip() == line
    kept = Path(keys.state) / "approver.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert b"PRIVATE" not in kept.read_bytes()


def test_a_new_key_is_for_its_owner_alone(keys: Keys) -> None:
    words = keys.home / "words"
    words.write_text("a passphrase\n")
    done = keys.run("make", "mine.pem", "--comment", "ann", "--passphrase-file", str(words))
    assert done.returncode == 0, done.stderr
    file = keys.home / "mine.pem"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    public = parse(keys.run("show").stdout)
    assert PrivateKey.load(file.read_bytes(), b"a passphrase").public().raw == public.raw
    assert public.comment == "ann"
    again = keys.run("make", "mine.pem", "--no-passphrase")
    assert (again.returncode, "cannot be written" in again.stderr) == (1, True)


def _another_kind(keys: Keys) -> str:
    return str(keys.ssh_key("id_rsa", kind="rsa"))


def _open_to_others(keys: Keys) -> str:
    file = keys.ssh_key("open")
    file.chmod(0o640)
    return str(file)


def _a_public_key(keys: Keys) -> str:
    file = keys.ssh_key("k").with_suffix(".pub")
    file.chmod(0o600)
    return str(file)


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        pytest.param(_another_kind, "none of Ed25519", id="another kind"),
        pytest.param(_open_to_others, "not yours alone", id="others can read it"),
        pytest.param(_a_public_key, "not a private key", id="the public half"),
        pytest.param(lambda _: "/nowhere", "cannot be read", id="no file"),
    ],
)
def test_keys_that_are_not_used(keys: Keys, file: object, problem: str) -> None:
    assert callable(file)
    done = keys.run("use", file(keys))
    assert done.returncode == 1
    assert problem in done.stderr
    assert "you have chosen no key yet" in keys.run("show").stderr


def test_what_a_passphrase_of_openssh_takes_is_told(keys: Keys) -> None:
    """The library for it may be there or not: either the key is used, or what is missing is named."""
    file = keys.ssh_key("locked", "a passphrase")
    with keys.terminal("use", str(file)) as terminal:
        terminal.wait_for("Passphrase of")
        terminal.press("a passphrase\r")
        try:
            import bcrypt  # noqa: F401
        except ImportError:
            terminal.wait_for("pip install bcrypt")
        else:
            terminal.wait_for("ssh-ed25519")


def test_no_agent_chooses_a_key(keys: Keys) -> None:
    file = keys.ssh_key("id_ed25519")
    assert keys.run("use", str(file), CLAUDECODE="1").returncode == 1
    assert not os.path.lexists(Path(keys.state) / "approver.json")


class Answering(Keys):
    """The same machine, for the commands that answer."""

    COMMAND = ()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Answering]:
    with opened(Answering, tmp_path) as desk:
        yield desk


def test_a_yes_is_signed_with_the_chosen_key(desk: Answering) -> None:
    words = desk.home / "words"
    words.write_text("secret\n")
    made = desk.run("approvals", "key", "make", "ann.pem", "--passphrase-file", str(words))
    approvers, approval = desk.listed("ann", made.stdout), desk.asked()
    with desk.terminal("approve", approval, "--yes") as terminal:
        terminal.wait_for("Passphrase of")
        terminal.press("secret\r")
        terminal.wait_for("approved, once")
    row = desk.row(approval)
    assert (row.state, row.decided_by) == ("approved", "ann (signed)")
    with desk.store.reading() as tx:
        assert is_proven(tx, row, approvers)
        assert not is_proven(tx, row._replace(expires_at=row.expires_at + 1), approvers)
    assert desk.run("audit", "verify").returncode == 0


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        pytest.param("", "you have chosen no key yet", id="no key"),
        pytest.param("other", "is not among the `approvers`", id="a key that is not listed"),
    ],
)
def test_who_is_no_approver_is_told_so_and_can_still_refuse(desk: Answering, chosen: str, problem: str) -> None:
    desk.listed("ann", desk.ssh_key("ann").with_suffix(".pub").read_text())
    if chosen:
        assert desk.run("approvals", "key", "use", str(desk.ssh_key(chosen))).returncode == 0
    approval = desk.asked()
    with desk.terminal("approve", approval, "--yes") as terminal:
        terminal.wait_for(problem)
    assert desk.row(approval).state == "pending"
    with desk.terminal("deny", approval) as terminal:
        terminal.wait_for("denied")
    assert desk.row(approval).state == "denied"


@pytest.mark.parametrize(
    ("listed", "says"),
    [
        pytest.param("ann", "you sign answers as ann", id="an approver"),
        pytest.param("bob", "your key is not among the approvers", id="another person's key is listed"),
    ],
)
def test_the_doctor_tells_whether_the_person_is_an_approver(desk: Answering, listed: str, says: str) -> None:
    keys = {name: desk.ssh_key(name) for name in ("ann", "bob")}
    assert desk.run("approvals", "key", "use", str(keys["ann"])).returncode == 0
    desk.listed(listed, keys[listed].with_suffix(".pub").read_text())
    assert says in desk.run("doctor").stdout


def test_a_yes_that_nobody_signed_is_found(desk: Answering) -> None:
    approval = desk.asked()
    with desk.terminal("approve", approval, "--yes") as terminal:
        terminal.wait_for("approved, once")
    assert desk.run("audit", "verify").returncode == 0
    desk.listed("ann", desk.ssh_key("ann").with_suffix(".pub").read_text())
    found = desk.run("audit", "verify")
    assert found.returncode == 1
    assert "no approver of the configuration has signed this yes" in found.stdout + found.stderr
    assert "no approver of the configuration" in desk.run("doctor").stdout
