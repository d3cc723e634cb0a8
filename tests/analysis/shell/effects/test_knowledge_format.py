"""What the format of the knowledge refuses, and what its short forms stand for."""

import pytest

from lockgate.shell.knowledge import lookup as knowledge
from lockgate.shell.knowledge.data import build
from lockgate.shell.knowledge.lookup import ProgramEntry


def compiled(entry):
    return build.family("x.yaml", {"shout": {"about": "makes text loud", **entry}})["shout"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"otherwise": "connect"}, "`otherwise` without `commands`"),
        ({"effects": "frobnicate"}, "there is no effect frobnicate"),
        ({"options": {"read": "-x=", "write": "-x="}}, "the option -x has two meanings"),
        ({"options": [{"read": "-x="}, {"write": "-x="}]}, "the option -x has two meanings"),
        ({"when": [{"options": "-x", "then": {"effects": ""}}]}, "options that there are not: -x"),
        ({"when": [{"options": "-x=y", "then": {"effects": ""}}]}, "options that there are not: -x"),
        ({"commands": {"a b": {}, "b": {}}}, "the subcommand b stands there twice"),
        ({"groups": "a", "commands": {"a": {}}}, "a is a group and a subcommand"),
    ],
)
def test_an_entry_that_does_not_hold_together(entry, problem):
    with pytest.raises(build.KnowledgeError, match=problem):
        compiled(entry)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"options": {"frobnicate": "-x"}}, id="of an option"),
        pytest.param({"operands": "read... frobnicate..."}, id="of an operand"),
        pytest.param({"commands": {"a": {"operands": "frobnicate"}}}, id="below a subcommand"),
        pytest.param(
            {"options": {"local": "-x"}, "when": [{"options": "-x", "then": {"operands": "frobnicate"}}]},
            id="of a change",
        ),
    ],
)
def test_all_roles_of_an_entry_are_found(entry):
    assert "frobnicate" in build.roles_in(compiled(entry))


def test_two_programs_of_one_name():
    entry = {"about": "makes text loud"}
    with pytest.raises(build.KnowledgeError, match="yell stands there twice"):
        build.family("x.yaml", {"shout yell": entry, "yell": entry})


def test_when_may_name_an_option_of_the_parent():
    entry = compiled(
        {"options": {"local": "-n"}, "commands": {"a": {"when": [{"options": "-n", "then": {"effects": ""}}]}}}
    )
    assert entry["commands"]["a"]["when"][0]["options"] == ["-n"]


def test_several_tables_of_options_are_one():
    assert compiled({"options": [{"read": "-f="}, {"write": "-o="}]})["options"] == {
        "-f": ["read", 1],
        "-o": ["write", 1],
    }


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("describe-x", "shout/describe-x"),
        ("describe-secret", "shout/describe-secret"),
        ("get", "shout/get"),
        ("x-all", "shout/x-all"),
        ("described", None),
        ("Get", None),
    ],
)
def test_a_subcommand_may_be_a_pattern(word, name):
    raw = compiled({"commands": {"describe-secret": {"effects": "read-secret"}, "describe-* get *-all": {}}})
    below = knowledge.subcommand(ProgramEntry(**raw), word)
    assert (below.name if below else None) == name
    assert below is None or tuple(below.effects) == (("read-secret",) if word == "describe-secret" else ())


def test_after_a_group_come_the_same_subcommands():
    raw = compiled({"groups": "a b", "commands": {"list": {"effects": "fetch-own"}}})
    below = ProgramEntry(**raw)
    for word in ("a", "b", "a"):
        below = knowledge.subcommand(below, word)
    assert knowledge.subcommand(below, "list").name == "shout/a/b/a/list"
    assert knowledge.subcommand(below, "c") is None


def test_a_subcommand_has_its_parents_style_and_options():
    raw = compiled({"style": "single-dash", "options": {"read": "-file="}, "commands": {"a": {}}})
    below = knowledge.subcommand(ProgramEntry(**raw), "a")
    assert (below.style, below.options) == ("single-dash", {"-file": ["read", 1]})


def test_packages_of_a_scope_are_programs_that_are_known():
    packages = knowledge.table("scoped_packages")
    assert [
        name for name, program in packages.items() if not name.startswith("@") or not knowledge.lookup(program)
    ] == []


def test_subcommands_in_any_case():
    raw = compiled({"any_case": True, "commands": {"get": {}}})
    assert knowledge.subcommand(ProgramEntry(**raw), "GET").name == "shout/get"


def test_what_is_known_is_counted(capsys):
    assert build.main(["--stats"]) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split()[0] == "family"
    assert rows[-1].split()[0] == "total"
    columns = [sum(int(row.split()[at]) for row in rows[:-1]) for at in range(1, 7)]
    assert columns == [int(cell) for cell in rows[-1].split()[1:]]
    assert all(columns)
