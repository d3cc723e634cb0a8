"""``lockgate patterns``, and pattern files in ``config`` and ``trust``, as a person runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lockgate.patterns.library.loading import schema_text

pytestmark = pytest.mark.slow

ACME = """\
patterns:
  input:
    acme:
      mode: block
      kind: secret
      rules:
        - type: acme_key
          pattern: 'acme_[a-z0-9]{12}'
          severity: critical
          provider: Acme
          examples: {match: [["acme_", "0a1b2c3d4e5f"]], no_match: [acme_short]}
        - type: card
          pattern: '[0-9]{16}'
          validate: [luhn]
          severity: low
"""
KEY = "acme_" + "0a1b2c3d4e5f"


class Person:
    """A home, a project, and a command line."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "work"
        self.ours = self.home / ".config" / "lockgate" / "patterns.yaml"
        self.theirs = self.project / ".claude" / "hooks" / "patterns" / "patterns.yaml"
        for path in (self.ours, self.theirs, self.project / ".git" / "x"):
            path.parent.mkdir(parents=True)

    def run(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lockgate", *words],
            cwd=self.project,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path.resolve())


# ---------------------------------------------------------------- list


def test_list_shows_rules_with_their_layer(person: Person) -> None:
    person.ours.write_text(ACME)
    done = person.run("patterns", "list", "--group", "acme")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert lines == [
        "id group type severity mode layer provider",
        "acme_key acme acme_key critical block user patterns.yaml Acme",
        "card acme card low block user patterns.yaml",
        "2 rules",
    ]


def test_list_as_json_can_be_narrowed(person: Person) -> None:
    person.ours.write_text(ACME)
    found = json.loads(person.run("patterns", "list", "--json", "--severity", "critical").stdout)
    assert {rule["severity"] for rule in found["rules"]} == {"critical"}
    ours = next(rule for rule in found["rules"] if rule["group"] == "acme")
    assert (ours["file"], ours["line"], ours["layers"]) == (str(person.ours), 7, ["user patterns.yaml"])
    assert {"id": "acme", "side": "input", "kind": "secret"}.items() <= next(
        group for group in found["groups"] if group["id"] == "acme"
    ).items()


def test_list_says_what_is_held_back_and_what_is_wrong(person: Person) -> None:
    person.ours.write_text(ACME)
    person.theirs.write_text("patterns: {input: {acme: {mode: warn}}}\ntool_rules: {Bash: {patterns: [akme]}}\n")
    done = person.run("patterns", "list", "--group", "acme")
    assert done.returncode == 1
    assert f"{person.theirs}:1: patterns.input.acme.mode: it can only tighten: `block` holds" in done.stdout
    assert f"{person.theirs}:2: tool_rules.Bash.patterns[0]: there is no group `akme`; did you" in done.stdout


def test_a_group_that_is_not_there_is_a_usage_error(person: Person) -> None:
    done = person.run("patterns", "list", "--group", "nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert "secrets_detection" in done.stderr


# ---------------------------------------------------------------- test


def test_examples_of_a_file_are_run(person: Person) -> None:
    file = person.project / "mine.yaml"
    file.write_text(ACME)
    done = person.run("patterns", "test", "mine.yaml")
    assert (done.returncode, done.stdout) == (0, "2 examples hold\n")
    file.write_text(ACME.replace("no_match: [acme_short]", f"no_match: [{KEY}]"))
    done = person.run("patterns", "test", "mine.yaml")
    assert done.returncode == 1
    assert done.stdout == f"mine.yaml:7: acme/acme_key.examples.no_match[0]: matches: '{KEY}'\n"


def test_what_is_wrong_in_a_file_is_said(person: Person) -> None:
    (person.project / "mine.yaml").write_text(ACME.replace("[0-9]{16}", "(?=a)"))
    done = person.run("patterns", "test", "mine.yaml", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"]) == (1, False)
    (problem,) = found["problems"]
    assert (problem["file"], problem["line"], problem["key"]) == (
        "mine.yaml", 13, "patterns.input.acme.rules[1].pattern",
    )  # fmt: skip
    assert person.run("patterns", "test", "nothing.yaml").returncode == 2


def test_all_layers_are_tested_without_files(person: Person) -> None:
    person.theirs.write_text(ACME)
    done = person.run("patterns", "test", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["problems"]) == (0, [])
    assert found["examples"] > 1000


# ---------------------------------------------------------------- explain, schema


def test_explain_says_what_matches_and_why(person: Person) -> None:
    person.ours.write_text(ACME)
    done = person.run("patterns", "explain", f"x={KEY} \x1b[31m", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["decision"]) == (1, "block")
    match = next(match for match in found["matches"] if match["rule"] == "acme/acme_key")
    assert (match["text"], match["start"], match["end"], match["decision"]) == (KEY, 2, 2 + len(KEY), "block")


def test_explain_shows_validators_and_never_a_raw_control_character(person: Person) -> None:
    person.ours.write_text(ACME + "        - {type: odd, pattern: 'o.d'}\n")
    done = person.run("patterns", "explain", "-", text="é 4111111111111112 4111111111111111 o\x1bd")
    assert done.returncode == 1
    assert "acme/card  does not count\n  at 2-18: 4111111111111112\n  rejected by luhn\n" in done.stdout
    assert "  at 19-35: 4111111111111111\n  luhn: proven\n" in done.stdout
    assert "o\\ed" in done.stdout
    assert "\x1b" not in done.stdout


def test_explain_of_nothing(person: Person) -> None:
    done = person.run("patterns", "explain", "just words")
    assert (done.returncode, done.stdout) == (0, "approve: nothing matches\n")


def test_schema_is_printed(person: Person) -> None:
    assert person.run("patterns", "schema").stdout == schema_text()


# ---------------------------------------------------------------- config, trust


def test_config_check_looks_at_patterns_too(person: Person) -> None:
    person.ours.write_text(ACME.replace("mode: block", "mode: deny"))
    done = person.run("config", "check")
    assert done.returncode == 1
    assert done.stdout.startswith(f"{person.ours}:4: patterns.input.acme.mode: must be one of block, ask, warn, off")
    person.ours.write_text(ACME)
    assert person.run("config", "check").stdout == f"valid: {person.ours}\n"
    (person.project / "patterns.yaml").write_text("profile: observe\n")
    assert "unknown key" in person.run("config", "check", "patterns.yaml").stdout


def test_trust_says_what_patterns_loosen_and_lets_them(person: Person) -> None:
    person.ours.write_text(ACME)
    person.theirs.write_text("patterns: {input: {acme: {mode: warn}}}\n")
    done = person.run("trust", "--yes")
    assert done.returncode == 0, done.stderr
    assert "it would loosen:\n" in done.stdout
    assert "patterns.input.acme.mode" in done.stdout
    listed = person.run("patterns", "list", "--json", "--group", "acme")
    assert {rule["mode"] for rule in json.loads(listed.stdout)["rules"]} == {"warn"}
    assert person.run("untrust", str(person.theirs)).returncode == 0
    listed = person.run("patterns", "list", "--json", "--group", "acme")
    assert {rule["mode"] for rule in json.loads(listed.stdout)["rules"]} == {"block"}


def test_patterns_that_are_not_valid_are_not_trusted(person: Person) -> None:
    person.theirs.write_text("patterns: {input: {acme: {mode: deny}}}\n")
    done = person.run("trust", str(person.theirs), "--yes")
    assert done.returncode == 1
    assert f"{person.theirs}:1: patterns.input.acme.mode" in done.stderr
