"""``lockgate config``, ``trust`` and ``untrust`` as a person runs them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lockgate.configuration.layers.files import digest_of, trust_name
from lockgate.policy.validation import schema_text
from lockgate.store.sqlite.store import SqliteStore
from support import forked

pytestmark = pytest.mark.sampled


class Person:
    """A home, a project, and a command line."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "work"
        self.ours, self.theirs = self.home / ".config" / "lockgate" / "lockgate.yaml", self.project / "lockgate.yaml"
        for folder in (self.home / ".claude", self.ours.parent, self.project / ".claude", self.project / "sub"):
            folder.mkdir(parents=True)
        self.environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "lockgate", *words]

    def run(self, *words: str, cwd: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        return forked.run_text(words, cwd=cwd or self.project / "sub", env=self.environ | environ)

    def in_terminal(self, answer: str, *words: str) -> tuple[int, str]:
        """Run a command with a terminal as its input, type an answer, and return its exit status and what it wrote."""
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            self.command(*words),
            cwd=self.project,
            env=self.environ,
            stdin=follower,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        os.close(follower)
        os.write(leader, answer.encode() + b"\n")
        written, _ = process.communicate(timeout=120)
        os.close(leader)
        return process.returncode, written.decode()

    def trusted(self) -> dict[str, str]:
        store = SqliteStore.open_existing(str(self.home / ".local" / "state" / "lockgate"))
        if store is None:
            return {}
        with store.reading() as tx:
            found = tx.settings(trust_name(""))
        store.close()
        return {name.removeprefix(trust_name("")): digest for name, digest in found.items()}


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path.resolve())
    (made.project / ".git").mkdir()
    return made


# ---------------------------------------------------------------- show


def test_show_names_the_layer_of_every_value(person: Person) -> None:
    person.ours.write_text("mcp_default: acting\ntable: {egress: {untrusted: ask}}\n")
    person.theirs.write_text('bash_patterns: {acting: ["^deploy\\u202e"]}\n')
    done = person.run("config", "show")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert f"project lockgate.yaml untrusted {person.theirs}" in lines
    assert "profile quarantine shipped" in lines
    assert "mcp_default acting user lockgate.yaml" in lines
    assert "table.egress allow | ask | allow | deny shipped, user lockgate.yaml" in lines
    further = lines[lines.index("a layer that may only tighten says also (a call gets the stricter verdict of both)") :]
    assert further[1:] == [
        "bash_patterns.acting ^deploy\\u{202e} project lockgate.yaml",
        "",
        "notes",
        "project lockgate.yaml: it can only tighten until you trust it (`lockgate trust`)",
    ]


def test_show_as_json(person: Person) -> None:
    person.ours.write_text("profile: trifecta\nbash_patterns: {acting: ['!x']}\n")
    person.theirs.write_text("secret_paths: [p]\n")
    found = json.loads(person.run("config", "show", "--json").stdout)
    values = {value["key"]: (value["value"], value["layer"]) for value in found["values"]}
    assert values["profile"] == ("trifecta", "user lockgate.yaml")
    assert values["table.execute.both"] == (["contain", "judge", "ask"], "shipped")
    assert found["tightening"] == [[{"key": "secret_paths", "value": "p", "layer": "project lockgate.yaml"}]]
    assert found["problems"] == []
    assert found["notes"][0].startswith("user lockgate.yaml:bash_patterns.acting[0]: removes nothing")
    assert [layer["state"] for layer in found["layers"] if layer["name"].endswith("lockgate.yaml")] == [
        "absent", "valid", "untrusted", "absent",
    ]  # fmt: skip


def test_show_says_what_is_not_valid(person: Person) -> None:
    person.theirs.write_text("profil: x\n")
    done = person.run("config", "show")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2:] == [
        "problems",
        f"  {person.theirs}:1: profil: unknown key; did you mean `profile`?",
    ]
    assert person.run("config", "show", "--json").returncode == 1


def test_looking_makes_nothing(person: Person) -> None:
    for words in (["show"], ["check"], ["path"], ["schema"]):
        person.run("config", *words)
    assert not (person.home / ".local").exists()


def test_an_unreadable_state_is_said(person: Person) -> None:
    person.theirs.write_text("profile: observe\n")
    person.run("trust", "--yes")
    state = person.home / ".local" / "state" / "lockgate"
    for path in state.glob("*.db*"):
        path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    for words in (["config", "show"], ["config", "check"], ["config", "path"], ["untrust"], ["explain", "ls"]):
        done = person.run(*words)
        assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (3, "", False), (words, done.stderr)
        assert done.stderr.startswith("lockgate: ")


# ---------------------------------------------------------------- check, schema, path


def test_check_without_files_checks_what_holds_here(person: Person) -> None:
    done = person.run("config", "check")
    assert (done.returncode, done.stdout) == (0, "there are no configuration files here (`lockgate config path`)\n")
    person.ours.write_text("profile: observe\n")
    done = person.run("config", "check")
    assert (done.returncode, done.stdout) == (0, f"valid: {person.ours}\n")
    person.ours.write_text("profile: observ\nstrict: 1\n")
    done = person.run("config", "check")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"{person.ours}:1: profile: must be one of quarantine, quarantine-strict, cascade, trifecta, observe, "
        'not `"observ"`; did you mean `observe`?',
        f"{person.ours}:2: strict: must be true or false, not the number 1",
    ]


def test_check_files(person: Person, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "lockbox.json"
    good.write_text("profile: observe\n")
    bad.write_text('{\n"profile": "observe"\n}')
    assert person.run("config", "check", str(good)).returncode == 0
    done = person.run("config", "check", str(good), str(bad), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "valid": False,
        "problems": [{"file": str(bad), "line": 2, "key": "profile", "problem": "unknown key"}],
        "notes": [],
    }


@pytest.mark.parametrize("words", [["check", "/nowhere.yaml"], ["check", "--frob"], ["schema", "other"], ["frob"]])
def test_usage(person: Person, words: list[str]) -> None:
    done = person.run("config", *words)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (2, "", False)


def test_what_check_prints_moves_no_cursor(person: Person, tmp_path: Path) -> None:
    evil = tmp_path / "evil\x1b[2J.yaml"
    evil.write_text('"\\e[31mred": 1\n')
    done = person.run("config", "check", str(evil))
    assert done.returncode == 1
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_check_of_what_is_no_file(person: Person, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.yaml"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    done = person.run("config", "check", str(path))
    assert (done.returncode, done.stdout) == (1, f"{path}: cannot be read: not a regular file\n")


@pytest.mark.parametrize(("words", "name"), [([], "lockgate"), (["lockgate"], "lockgate"), (["lockbox"], "lockbox")])
def test_schema_prints_the_published_schema(person: Person, words: list[str], name: str) -> None:
    done = person.run("config", "schema", *words)
    assert (done.returncode, done.stdout) == (0, schema_text(name))
    assert (Path(__file__).parents[2] / "schema" / f"{name}.schema.json").read_text() == done.stdout


def test_path_names_all_places(person: Person) -> None:
    person.ours.write_text("")
    lines = [" ".join(line.split()) for line in person.run("config", "path").stdout.splitlines()]
    assert f"user lockgate.yaml valid {person.ours}" in lines
    assert f"project lockbox.json absent {person.project}/.claude/lockbox.json" in lines
    assert len(lines) == 11
    told = json.loads(person.run("config", "path", "--json").stdout)
    assert [f"{layer['name']} {layer['state']} {layer['path']}" for layer in told] == lines


# ---------------------------------------------------------------- trust


def test_trust_says_what_it_means_and_records_the_content(person: Person) -> None:
    person.theirs.write_text("table: {egress: {untrusted: ask}}\nsecret_paths: [p]\n")
    digest = digest_of(person.theirs.read_bytes())
    done = person.run("trust", "--yes")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"{person.theirs}  (SHA-256 {digest})",
        "it would loosen:",
        "  table: egress, untrusted: ask else deny becomes ask",
        "trusted, until any byte of it changes",
    ]
    assert person.trusted() == {str(person.theirs): digest}
    assert "project lockgate.yaml valid" in " ".join(person.run("config", "path").stdout.split())
    person.theirs.write_bytes(person.theirs.read_bytes() + b"\n")
    assert "project lockgate.yaml untrusted" in " ".join(person.run("config", "path").stdout.split())


def test_untrust_takes_it_back(person: Person) -> None:
    person.theirs.write_text("profile: observe\n")
    person.run("trust", "--yes")
    done = person.run("untrust")
    assert (done.returncode, person.trusted()) == (0, {})
    assert "project lockgate.yaml untrusted" in " ".join(person.run("config", "path").stdout.split())
    assert person.run("untrust").returncode == 0


def test_the_acts_are_in_the_audit(person: Person) -> None:
    person.theirs.write_text("profile: observe\n")
    for words in (["trust", "--yes"], ["trust", "--yes"], ["untrust"], ["untrust"]):
        person.run(*words)
    store = SqliteStore.open(str(person.home / ".local" / "state" / "lockgate"))
    with store.reading() as tx:
        bodies: list[dict[str, Any]] = [json.loads(row.body) for row in tx.audit()]
    store.close()
    digest = digest_of(person.theirs.read_bytes())
    assert [(b["event"], b["file"], b["sha256"]) for b in bodies] == [
        ("trust", str(person.theirs), digest),
        ("untrust", str(person.theirs), digest),
    ]


def test_trust_of_one_file(person: Person) -> None:
    lockbox = person.project / ".claude" / "lockbox.json"
    person.theirs.write_text("profile: observe\n")
    lockbox.write_text("{}")
    done = person.run("trust", "--yes", str(lockbox))
    assert done.returncode == 0
    assert "it loosens nothing: it holds already, and needs no trust" in done.stdout
    assert set(person.trusted()) == {str(lockbox)}
    assert person.run("trust", "--yes", "../lockgate.yaml").returncode == 0
    assert set(person.trusted()) == {str(lockbox), str(person.theirs)}


def test_trust_of_a_folder(person: Person, tmp_path: Path) -> None:
    person.theirs.write_text("profile: observe\n")
    done = person.run("trust", "--yes", str(person.project), cwd=str(tmp_path))
    assert (done.returncode, set(person.trusted())) == (0, {str(person.theirs)})


def test_trust_asks_a_person(person: Person) -> None:
    person.theirs.write_text("profile: observe\n")
    done = person.run("trust")
    assert (done.returncode, person.trusted()) == (2, {})
    assert "run it in a terminal, or give --yes" in done.stderr


@pytest.mark.parametrize(("answer", "status", "trusted"), [("y", 0, True), ("n", 1, False), ("", 1, False)])
def test_trust_takes_a_persons_answer(person: Person, answer: str, status: int, trusted: bool) -> None:
    person.theirs.write_text("profile: observe\n")
    code, written = person.in_terminal(answer, "trust")
    assert (code, bool(person.trusted())) == (status, trusted)
    assert "profile: quarantine becomes observe" in written


def test_an_agent_cannot_trust(person: Person) -> None:
    person.theirs.write_text("profile: observe\n")
    done = person.run("trust", "--yes", CLAUDECODE="1")
    assert (done.returncode, person.trusted()) == (1, {})
    assert "only a person may trust a project's configuration" in done.stderr


def test_what_is_not_valid_is_not_trusted(person: Person) -> None:
    person.theirs.write_text("profil: x\n")
    done = person.run("trust", "--yes")
    assert (done.returncode, person.trusted()) == (1, {})
    assert f"{person.theirs}:1: profil: unknown key" in done.stderr


@pytest.mark.parametrize("words", [["trust", "--yes", "README.md"], ["untrust", "/etc/passwd"]])
def test_another_file_is_no_configuration(person: Person, words: list[str]) -> None:
    done = person.run(*words)
    assert done.returncode == 2
    assert "is no project configuration" in done.stderr


def test_nothing_to_trust(person: Person) -> None:
    done = person.run("trust", "--yes")
    assert (done.returncode, "there is no project configuration" in done.stderr) == (1, True)
