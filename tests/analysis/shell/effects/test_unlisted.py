"""What no table lists: a command of which not everything is known is contained in a session with labels."""

from __future__ import annotations

import pytest

from lockgate.core.model import Analysis, EffectKind, Label, Variant, Verdict
from lockgate.policy.decide import decide
from lockgate.policy.profiles import read_shipped_profiles
from lockgate.shell import analyse_shell
from lockgate.shell.effects.unlisted import OPTION, VARIABLE
from lockgate.shell.knowledge.lookup import lookup
from lockgate.shell.knowledge.options import match
from lockgate.shell.state.scope import Arg
from support.analysed import AROUND, PROJECT

A, C, Q, D = Verdict.ALLOW, Verdict.CONTAIN, Verdict.ASK, Verdict.DENY
CLEAN: frozenset[Label] = frozenset()
UNTRUSTED, SECRET = frozenset({Label.UNTRUSTED}), frozenset({Label.SECRET})
STATES = (CLEAN, UNTRUSTED, SECRET, UNTRUSTED | SECRET)


def analysed(command: str) -> Analysis:
    return analyse_shell(command, PROJECT, AROUND)


def rules(command: str) -> list[str]:
    return [effect.rule for effect in analysed(command).effects if effect.variant is Variant.UNLISTED]


def verdicts(command: str, *, contains: bool = True) -> list[Verdict]:
    able = frozenset({C}) if contains else frozenset()
    return [
        decide(analysed(command).effects, state, read_shipped_profiles()["quarantine"], able=able).verdict
        for state in STATES
    ]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("ls --no-such-option", id="a long option"),
        pytest.param("ls --no-such-option=x", id="with a value"),
        pytest.param("git --frob status", id="before the subcommand"),
        pytest.param("git status --frob", id="behind the subcommand"),
        pytest.param("ls -l~", id="a letter in a cluster"),
        pytest.param("cat -7 a.txt", id="a number that the program does not take"),
        pytest.param("ls --alm", id="short for an option that is listed"),
        pytest.param("fnm --version --frob=a.txt", id="behind a question that is short for no other option"),
        pytest.param("find . -frobnicate x", id="a test of find"),
        pytest.param("dd if=a.txt frob=x", id="a word of dd"),
        pytest.param("ls --all=a.txt", id="a value of an option that has none"),
        pytest.param("xargs ls --frob", id="in a command that another one runs"),
        pytest.param("for f in a b; do wc --frob $f; done", id="in a loop"),
        pytest.param("python3 -m json.tool --frob a.json", id="of a module"),
    ],
)
def test_an_option_that_no_table_lists_is_contained(command):
    assert set(rules(command)) == {OPTION}
    assert verdicts(command) == [A, C, C, C]
    assert verdicts(command, contains=False) == [A, Q, Q, Q]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("head -20 a.txt", id="a number as an option"),
        pytest.param("ls -la --color=always", id="listed"),
        pytest.param("ls -- --frob", id="no option at all"),
        pytest.param("python3 -c 'print(1)' --frob", id="a word of the code's own"),
        pytest.param("frobnicate=1; echo --frob", id="a builtin's word"),
    ],
)
def test_what_is_listed_runs_as_it_is(command):
    assert rules(command) == []
    assert verdicts(command) == [A, A, A, A]


def test_what_acts_outside_needs_no_second_reason():
    assert rules("git push --frob") == []
    assert verdicts("git push --frob") == [A, D, A, D]


def test_an_address_behind_an_unlisted_option_is_not_known():
    """In the sandbox it could only fail, and outside the option may add to what is sent."""
    fetches = [e for e in analysed("curl --frob https://docs.example/").effects if e.kind is EffectKind.FETCH]
    assert [(effect.variant, effect.address) for effect in fetches] == [(Variant.PLAIN, "")]
    assert "no table says what `--frob` does" in fetches[0].because


def test_a_reader_with_an_unlisted_value_may_show_a_strangers_text():
    assert analysed("cat --frob=x a.txt").gives == {Label.UNTRUSTED}
    assert analysed("cat --frob a.txt").gives == frozenset()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("ls --" + "x" * 60_000, id="a long one"),
        pytest.param("ls -" + "\u00df" * 60_000, id="a long cluster"),
        pytest.param("ls -" + "".join(chr(0x4E00 + number) for number in range(20_000)), id="all letters"),
        pytest.param("ls " + " ".join(f"--o{number}" for number in range(5_000)), id="many"),
        pytest.param("ls --\udcff=\udc80", id="no UTF-8"),
        pytest.param("ls -" + "\udcff" * 60_000, id="a long cluster that is no UTF-8"),
    ],
)
def test_bad_input_has_a_verdict(command):
    assert verdicts(command)[1] >= C
    assert all(len(effect.because) < 1_000 for effect in analysed(command).effects)


def test_a_word_is_told_of_once_however_many_of_its_letters_no_table_lists():
    entry = lookup("ls")
    assert entry is not None
    matched = match(entry, [Arg("-" + "\u00df~l" * 20_000)])
    assert len(matched.unknown) == 1
    assert [option.name for option in matched.options] == ["-l"]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("FROB=x ls", id="before a program"),
        pytest.param("FROB=$(cat a) ls", id="with a value of the moment"),
        pytest.param("export FROB=x; ls", id="exported"),
        pytest.param("FROB=x; export FROB; ls", id="exported later"),
        pytest.param("declare -x FROB=x; ls", id="declared"),
        pytest.param("set -a; FROB=x; ls", id="exported with all others"),
        pytest.param("env FROB=x ls", id="by env"),
        pytest.param("env 'FROB.A=x' ls", id="with a name that no shell takes"),
        pytest.param("f() { ls; }; FROB=x f", id="before a function"),
        pytest.param("FROB=x command ls", id="before command"),
        pytest.param("FROB=x eval 'ls'", id="before eval"),
        pytest.param("INHERITED=x; ls", id="one of the environment"),
        pytest.param("read INHERITED < a.txt; ls", id="one of the environment, read"),
    ],
)
def test_a_variable_that_no_table_lists_is_contained(command):
    around = AROUND._replace(exported="INHERITED".__eq__)
    effects = analyse_shell(command, PROJECT, around).effects
    assert VARIABLE in {effect.rule for effect in effects if effect.variant is Variant.UNLISTED}
    assert decide(effects, UNTRUSTED, read_shipped_profiles()["quarantine"], able=frozenset({C})).verdict is C


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("LC_ALL=C sort a.txt", id="listed as harmless"),
        pytest.param("FROB=x; ls $FROB", id="the shell's own"),
        pytest.param("export FROB=x; echo $FROB", id="exported, but no program runs"),
        pytest.param("FROB=x true", id="before a builtin"),
        pytest.param("while IFS= read -r line; do echo $line; done < a.txt", id="before read"),
        pytest.param("for frob in a b; do cat $frob; done", id="of a loop"),
    ],
)
def test_a_variable_that_no_program_gets_or_that_is_listed_changes_nothing(command):
    assert rules(command) == []


# ---------------------------------------------------------------- files that contained commands have for themselves
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("grep passed /tmp/out.txt", id="read"),
        pytest.param("cd /tmp && tail -3 out.txt", id="by its folder"),
        pytest.param("wc -l < /tmp/./out.txt", id="as an input"),
        pytest.param("rm /tmp/out.txt", id="removed"),
    ],
)
def test_a_file_that_only_contained_commands_see_is_looked_for_there(command: str) -> None:
    around = AROUND._replace(is_seen_by_contained_only=lambda path: path == "/tmp/out.txt")
    found = [effect.rule for effect in analyse_shell(command, PROJECT, around).effects]
    assert "shell:contained-file" in found
    assert "shell:contained-file" not in rules(command)
    elsewhere = analyse_shell(command.replace("out.txt", "other.txt"), PROJECT, around)
    assert "shell:contained-file" not in [effect.rule for effect in elsewhere.effects]
