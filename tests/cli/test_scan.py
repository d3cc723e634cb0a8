"""``lockgate scan`` as a person and as a program runs it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from lockgate.cli.main import cli
from lockgate.cli.scan import scan_command
from support import forked
from support.prepared import give_state

pytestmark = pytest.mark.sampled

KEY = "ghp_" + "8aspm4G7VmSUfOoD6V1vrORcmn0iSH2JWh3d"
"""Made up, with a checksum that is right."""
ADDRESS = "a.keller@" + "kellerbau-nord.ch"
RULE = "secrets_detection/github_pat_classic"


class Person:
    """A home, a project, and a command line."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "work"
        self.project.mkdir()
        state = self.home / ".local" / "state" / "lockgate"
        state.parent.mkdir(parents=True)
        give_state(state)
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}

    def run(self, *words: str, given: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        return forked.run(["scan", *words], cwd=cwd or self.project, env=self.environment, given=given)

    def findings(self, *words: str, given: bytes = b"") -> list[dict[str, Any]]:
        return json.loads(self.run("--json", *words, given=given).stdout)["findings"]

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")

    def git(self, *words: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", *identity, "-C", str(self.project), *words]
        subprocess.run(command, check=True, capture_output=True, env=self.environment)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path.resolve())


def test_nothing_in_what_we_publish_is_taken_for_a_secret(person: Person) -> None:
    root = Path(__file__).parents[2]
    done = person.run(str(root / "docs"), str(root / "README.md"), str(root / "examples"))
    assert done.returncode == 0, done.stdout.decode()


# ---------------------------------------------------------------- files and folders
def test_files_and_folders(person: Person) -> None:
    person.write({"a.py": f'x = 1\ny = "{KEY}"\n', "b/c.md": f"write to {ADDRESS}\n", "b/clean.txt": "nothing\n"})
    done = person.run()
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        f"a.py:2:6: critical: github_pat ({RULE}, validated)",
        "b/c.md:1:10: medium: email (pii_detection/email)",
    ]
    assert done.stderr.decode() == "3 texts, 1 critical, 1 medium\n"
    assert KEY.encode() not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["clean.txt"], 0),
        (["key.txt"], 1),
        (["clean.txt", "key.txt"], 1),
        (["clean.txt", "gone.txt"], 3),
        (["key.txt", "gone.txt"], 3),
        (["--kind", "pii", "key.txt"], 0),
        (["--severity", "critical", "address.txt"], 0),
        (["address.txt"], 1),
        (["binary"], 0),
        (["--max-bytes", "5", "key.txt"], 3),
        (["/dev/null"], 3),
        (["--staged", "key.txt"], 2),
        (["--jsonl", "--staged"], 2),
        (["--json", "--sarif"], 2),
        (["--diff", ""], 2),
        (["--diff", "--output=x"], 2),
        (["--no-such-option"], 2),
        (["--staged"], 3),
    ],
)
def test_exit_status(person: Person, words: list[str], status: int) -> None:
    person.write({"clean.txt": "a\n", "key.txt": f"{KEY}\n", "address.txt": f"{ADDRESS}\n", "binary": f"\0{KEY}"})
    done = person.run(*words)
    assert done.returncode == status, done.stderr.decode()


def test_what_cannot_be_read_is_told_and_the_rest_is_looked_at(person: Person) -> None:
    person.write({"z.txt": f"{KEY}\n"})
    done = person.run("gone.txt", "z.txt")
    assert done.returncode == 3
    assert done.stdout.decode().startswith("z.txt:1:1: critical")
    assert "gone.txt: not looked at: no such file" in done.stderr.decode()
    told = json.loads(person.run("--json", "gone.txt", "z.txt").stdout)
    assert told["skipped"] == [{"file": "gone.txt", "because": "no such file or directory"}]
    assert len(told["findings"]) == 1


def test_a_file_that_is_meant_twice_is_looked_at_once(person: Person) -> None:
    person.write({"a.txt": f"{KEY}\n"})
    assert len(person.findings("a.txt", "a.txt")) == 1


def test_gitignore_holds_unless_a_person_says_otherwise(person: Person) -> None:
    person.write({".gitignore": ".env\n", ".env": f"TOKEN={KEY}\n"})
    assert person.findings() == []
    assert [each["file"] for each in person.findings(".env")] == [".env"]
    assert [each["file"] for each in person.findings("--no-ignore")] == [".env"]


def test_standard_input(person: Person) -> None:
    person.write({"-": "a file with an odd name\n"})
    (found,) = person.findings("-", given=f"é€😀\r\n  {KEY}\r\n".encode())
    assert (found["file"], found["line"], found["column"], found["end_column"]) == ("<stdin>", 2, 3, 43)
    assert (found["start"], found["end"]) == (7, 47)
    assert person.findings(".") == []


def test_names_cannot_act_in_a_terminal(person: Person) -> None:
    person.write({"a\x1b[2J\nb.txt": f"{KEY}\n"})
    done = person.run()
    assert b"\x1b" not in done.stdout
    assert done.stdout.decode().splitlines()[0].startswith("a\\e[2J\\nb.txt:1:1: ")


def test_names_that_are_no_text(person: Person) -> None:
    raw = os.fsencode(person.project) + b"/a\xff.txt"
    with open(raw, "w", encoding="utf-8") as file:
        file.write(KEY)
    assert person.run().returncode == 1
    assert json.loads(person.run("--sarif").stdout)["runs"][0]["results"][0]["locations"][0]["physicalLocation"][
        "artifactLocation"
    ] == {"uri": "a%FF.txt"}


def test_utf_16_and_what_is_no_utf_8(person: Person) -> None:
    (person.project / "wide.txt").write_bytes(f"x\n{KEY}\n".encode("utf-16"))
    (person.project / "latin.txt").write_bytes(f"caf\xe9 {KEY}\n".encode("latin-1"))
    found = {each["file"]: (each["line"], each["column"]) for each in person.findings()}
    assert found == {"latin.txt": (1, 6), "wide.txt": (2, 1)}


# ---------------------------------------------------------------- git
def test_staged_lines_alone(person: Person) -> None:
    person.write({"a.txt": f"old {KEY}\n"})
    person.git("init", "-q", "-b", "main")
    person.git("add", ".")
    person.git("commit", "-q", "-m", "first")
    person.write({"a.txt": f"old {KEY}\nplain\nnew {KEY}\n", "b.txt": f"{ADDRESS}\n"})
    assert person.findings("--staged") == []
    person.git("add", "a.txt")
    (found,) = person.findings("--staged")
    assert (found["file"], found["line"], found["column"]) == ("a.txt", 3, 5)
    person.git("commit", "-q", "-m", "second")
    (found,) = person.findings("--diff", "HEAD~1..HEAD")
    assert (found["file"], found["line"]) == ("a.txt", 3)
    assert person.run("--diff", "no-such-revision").returncode == 3


def test_as_a_hook_of_git(person: Person) -> None:
    person.git("init", "-q", "-b", "main")
    hook = person.project / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\nexec {sys.executable} -m lockgate scan --staged\n", encoding="utf-8")
    hook.chmod(0o755)
    person.write({"a.txt": f"{KEY}\n"})
    person.git("add", ".")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        person.git("commit", "-q", "-m", "first")
    assert b"a.txt:1:1: critical" in refused.value.stdout + refused.value.stderr
    person.write({"a.txt": "nothing\n"})
    person.git("add", ".")
    person.git("commit", "-q", "-m", "first")


def test_the_definition_for_pre_commit(person: Person) -> None:
    """The framework gives the names of files behind the entry; its own environment is not made here."""
    root = Path(__file__).resolve().parents[2]
    (hook,) = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {"id", "name", "description", "entry", "language"} <= set(hook)
    assert hook["language"] == "python"
    program, *words = hook["entry"].split()
    assert (program, words[0]) == ("lockgate", "scan")
    person.write({"a b.txt": f"{KEY}\n", "c.txt": "nothing\n"})
    assert person.run(*words[1:], "a b.txt", "c.txt").returncode == 1
    assert person.run(*words[1:], "c.txt").returncode == 0


# ---------------------------------------------------------------- for programs
def _lines(person: Person, *texts: str) -> list[dict[str, Any]]:
    given = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    done = person.run("--jsonl", given=given.encode())
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_line_for_each_line(person: Person) -> None:
    before = ["", "é", "😀 ", "\ud83d", "\udcff\ud800 ", "a\r\n", "\0", "\u2028 "]
    answers = _lines(person, *(f"{text}\n{KEY} and {ADDRESS}" for text in before), "", "nothing", " ")
    assert len(answers) == len(before) + 3
    for text, answer in zip(before, answers, strict=False):
        start = len(text) + 1
        assert answer == {
            "findings": [
                {
                    "rule": RULE,
                    "type": "github_pat",
                    "start": start,
                    "end": start + len(KEY),
                    "severity": "critical",
                    "validated": True,
                },
                {
                    "rule": "pii_detection/email",
                    "type": "email",
                    "start": start + len(KEY) + 5,
                    "end": start + len(KEY) + 5 + len(ADDRESS),
                    "severity": "medium",
                    "validated": False,
                },
            ]
        }
    assert answers[len(before) :] == [{"findings": []}] * 3


def test_a_long_line(person: Person) -> None:
    length = 5_000_000
    (answer,) = _lines(person, "some words of a text. " * (length // 22) + KEY)
    (found,) = answer["findings"]
    assert (found["start"], found["rule"]) == (length // 22 * 22, RULE)


@pytest.mark.parametrize("line", ["no json", "[]", "{}", '{"text": 1}', '{"text": null}', '"text"', "[" * 100_000])
def test_a_line_that_is_none_ends_it_with_what_came_before(person: Person, line: str) -> None:
    done = person.run("--jsonl", given=f'{{"text": "a"}}\n\n{line}\n{{"text": "b"}}\n'.encode())
    assert done.returncode == 2
    assert done.stdout == b'{"findings": []}\n'
    assert b"line 3 is not a JSON object" in done.stderr


def test_each_answer_comes_before_the_next_question(person: Person) -> None:
    command = [sys.executable, "-m", "lockgate", "scan", "--jsonl"]
    with subprocess.Popen(
        command, cwd=person.project, env=person.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        for text in ("nothing", KEY, "nothing"):
            process.stdin.write(json.dumps({"text": text}).encode() + b"\n")
            process.stdin.flush()
            assert len(json.loads(process.stdout.readline())["findings"]) == (text == KEY)
        process.stdin.close()
        assert process.wait() == 0


def test_sarif(person: Person) -> None:
    person.write({"a dir/ä.py": f'x = "{KEY}"\ny = "{KEY}"\n', "b.txt": f"{ADDRESS}\n"})
    log = json.loads(person.run("--sarif").stdout)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "Lockgate"
    assert [rule["id"] for rule in driver["rules"]] == [RULE, "pii_detection/email"]
    assert [rule["defaultConfiguration"]["level"] for rule in driver["rules"]] == ["error", "warning"]
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert run["columnKind"] == "unicodeCodePoints"
    places = []
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        (location,) = (each["physicalLocation"] for each in result["locations"])
        places.append((location["artifactLocation"]["uri"], *location["region"].values()))
    assert places == [
        ("a%20dir/%C3%A4.py", 1, 6, 1, 46),
        ("a%20dir/%C3%A4.py", 2, 6, 2, 46),
        ("b.txt", 1, 1, 1, 1 + len(ADDRESS)),
    ]


def test_sarif_tells_what_was_not_looked_at_and_names_files_as_hosts_expect(person: Person, tmp_path: Path) -> None:
    person.write({"a.txt": f"{KEY}\n", "b.txt": f"{KEY}\n"})
    other = tmp_path / "other.txt"
    other.write_text(KEY, encoding="utf-8")
    done = person.run("--sarif", "gone", "./a.txt", str(person.project / "b.txt"), str(other))
    (run,) = json.loads(done.stdout)["runs"]
    uris = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]]
    assert uris == ["a.txt", "b.txt", other.resolve().as_uri()]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert "gone" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_no_finding_is_json_too(person: Person) -> None:
    person.write({"a.txt": "nothing\n"})
    assert json.loads(person.run("--json").stdout) == {"findings": [], "skipped": [], "unfinished": [], "texts": 1}
    (run,) = json.loads(person.run("--sarif").stdout)["runs"]
    assert run["results"] == run["tool"]["driver"]["rules"] == []


# ---------------------------------------------------------------- at a terminal
def _at_a_terminal(person: Person, **more: str) -> bytes:
    """What a person sees of both outputs."""
    main, other = pty.openpty()
    environment = person.environment | {"TERM": "xterm-256color"} | more
    command = [sys.executable, "-m", "lockgate", "scan"]
    process = subprocess.Popen(command, cwd=person.project, env=environment, stdin=other, stdout=other, stderr=other)
    os.close(other)
    seen = b""
    try:
        while data := os.read(main, 65536):
            seen += data
    except OSError:
        pass  # Linux says so where the other end is closed
    finally:
        os.close(main)
    assert process.wait() == 1
    return seen


def test_colour_and_a_progress_bar_at_a_terminal_alone(person: Person) -> None:
    person.write({f"{number}.txt": f"{number}\n" for number in range(101)} | {"key.txt": KEY})
    seen = _at_a_terminal(person)
    assert b"scanning" in seen
    assert b"\x1b[31m" in seen
    plain = _at_a_terminal(person, NO_COLOR="1")
    assert b"\x1b[31m" not in plain
    done = person.run()
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"scanning" not in done.stderr


def test_who_stops_reading_gets_no_traceback(person: Person) -> None:
    person.write({f"{number:03}.txt": f"{KEY}\n" * 50 for number in range(50)})
    command = f"{sys.executable} -m lockgate scan | head -n 1"
    done = subprocess.run(
        command, shell=True, cwd=person.project, env=person.environment, capture_output=True, timeout=120
    )
    assert done.stdout.startswith(b"000.txt:1:1: ")
    assert b"Traceback" not in done.stderr


def test_completion_knows_its_options() -> None:
    environ = {"_LOCKGATE_COMPLETE": "zsh_complete", "COMP_WORDS": "lockgate scan --s", "COMP_CWORD": "2"}
    told = CliRunner().invoke(cli, [], prog_name="lockgate", env=environ).output
    assert {"--staged", "--sarif", "--severity"} <= set(told.split())
    environ |= {"COMP_WORDS": "lockgate scan ", "COMP_CWORD": "2"}
    assert CliRunner().invoke(cli, [], prog_name="lockgate", env=environ).output.startswith("file")


# ---------------------------------------------------------------- what the document says
DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "scan.md").read_text(encoding="utf-8")


def test_every_option_is_described() -> None:
    options = {option for parameter in scan_command.params for option in parameter.opts if option.startswith("--")}
    assert {option for option in options if option not in DOCUMENT} == set()


def test_the_sample_of_lines_is_so(person: Person) -> None:
    sample = re.search(r"\$ (printf [^\n]*) \| lockgate scan --jsonl\n(.*?)```", DOCUMENT, re.DOTALL)
    assert sample
    command, answers = sample.groups()
    # Not in the document, in which nothing is to be found.
    environment = {"ADDRESS": "a.keller@kellerbau-nord.ch"}
    texts = subprocess.run(["/bin/sh", "-c", command], env=environment, capture_output=True, check=True).stdout
    done = person.run("--jsonl", given=texts)
    assert done.stdout.decode() == answers


def test_staged_lines_of_no_repository(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lockgate", "scan", "--staged"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    assert "in no git repository" in done.stderr
