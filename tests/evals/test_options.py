"""Documented options are read as they are meant, and those of the programs used most are listed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from lockgate.shell.knowledge import lookup as knowledge
from lockgate.shell.knowledge.data import build
from lockgate.shell.knowledge.options import match
from lockgate.shell.state.scope import Arg

sys.path.append(str(Path(__file__).resolve().parents[2] / "evals/options"))

import add
import completions
import documented
import listed
import record
import texts
import used

README = Path(used.__file__).with_name("README.md")


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("  -a, --all                  do not ignore entries starting with .", "-a --all"),
        ("      --color[=WHEN]         color the output WHEN", "--color=~"),
        ("  -I, --ignore=PATTERN       do not list", "-I= --ignore="),
        ("  -p, --indicator-style=slash  append / to directories", "-p --indicator-style="),
        ("  -f, --file string          Name of the file", "-f= --file="),
        ("      --no-cache             Do not use it", "--no-cache"),
        ("  -j, --jobs <N>             Number of jobs", "-j= --jobs="),
        ("  -C [<n>], --find-copies[=<n>]   copies", "-C=~ --find-copies=~"),
        ("  --[no-]renames             find them", "--renames --no-renames"),
        ("  -n <number>, --max-count=<number>", "-n= --max-count="),
        ("  -<number>                  so many", "-NUM"),
        ("  -o FILE, --output FILE     write there", "-o= --output="),
        ("  --color {auto,always}      when", "--color="),
        ("  --null-input / -n:", "--null-input -n"),
        ("  -count n\trun each test n times", "-count="),
        ("  --add-host list            Add a host", "--add-host="),
        ("  --arg NAME VALUE           set it", "--arg=="),
        (
            "  -t, --name   only these\n               tests   [string]\n  --all  every one  [boolean]",
            "-t= --name= --all",
        ),
        ("  -v, --verbose...           more", "-v --verbose"),
        ("  - a list of things", ""),
        ("  -x is what everybody uses for that", ""),
        ("    -A, --all-namespaces=false:", "-A --all-namespaces"),
        ("    --sort-by='':", "--sort-by="),
        ("  -a, --all[=false]      Show all", "-a --all"),
    ],
)
def test_a_line_of_help(line, names):
    assert " ".join(one.name + one.takes for one in texts.options(line, "help")) == names


def test_a_synopsis():
    found = texts.usage("usage: x [-abC] [-o file | --out=FILE] [--[no-]y]", clusters=True)
    assert " ".join(one.name + one.takes for one in found) == "-a -b -C -o= --out= --y --no-y"


def test_two_spellings_in_a_synopsis():
    found = texts.usage("npm ls [-a|--all] [-w|--workspace <name> [-w|--workspace <name> ...]]", clusters=True)
    assert {one.name + one.takes for one in found} == {"-a", "--all", "-w=", "--workspace="}


def test_completions(tmp_path):
    (tmp_path / "zsh").write_text("'(-q --quiet)'{-q,--quiet}'[say less]'\n '--depth=[levels]:number:'\n")
    assert {one.name + one.takes for one in completions.zsh(tmp_path / "zsh")} == {"-q", "--quiet", "--depth="}
    (tmp_path / "fish").write_text(
        "complete -c x -s a -l all -d 'all of them'\n"
        "complete -c x -n '__fish_seen_subcommand_from get' -l limit -x -d 'at most'\n"
    )
    assert [one.name for one in completions.fish(tmp_path / "fish", ())] == ["-a", "--all"]
    assert [one.name + one.takes for one in completions.fish(tmp_path / "fish", ("get",))] == ["--limit="]


def test_the_manual_is_believed_before_a_completion():
    one = documented.Documented
    found = documented.merged([one("-x", "=", "", "zsh"), one("-x", "", "flag", "manual"), one("-y", "", "", "fish")])
    assert found["-x"].takes == ""
    assert set(documented.surely(found)) == {"-x"}


def test_a_line_without_a_description_is_believed_last():
    one = documented.Documented
    assert (
        documented.merged([one("--root", "=~", "", "manual"), one("--root", "", "all", "manual")])["--root"].takes == ""
    )


def test_an_abbreviation_is_not_listed():
    entry = knowledge.ProgramEntry("x", options={"--color-moved": ("local", 0)})
    assert not listed.standing(entry, "--color", "").listed
    assert listed.standing(entry, "--color-moved", "").listed


@pytest.mark.parametrize(("word", "unknown"), [("-20", 0), ("-5q", 0), ("-x", 1)])
def test_a_number_can_be_an_option(word, unknown):
    entry = knowledge.ProgramEntry("x", options=build.options("", {"local": "-NUM -q"}, keyed=False))
    assert len(match(entry, [Arg(word)]).unknown) == unknown


def test_an_option_may_be_named_like_a_number():
    assert set(build.options("", {"local": "--LINE-NUMBERS -NUM"}, keyed=False)) == {
        "--LINE-NUMBERS",
        *(f"-{digit}" for digit in range(10)),
    }


RECORDED = [
    (command, fact)
    for file in sorted(record.FOLDER.glob("*.json"))
    for command, fact in record.facts(file.stem).items()
]


@pytest.mark.parametrize(("command", "fact"), RECORDED, ids=[command for command, _ in RECORDED])
def test_every_documented_option_is_listed(command, fact):
    entry = listed.entry(tuple(command.split()))
    assert entry is not None
    written = [(word.rstrip("=~"), word[len(word.rstrip("=~")) :]) for word in fact["options"].split()]
    assert [name for name, takes in written if not listed.anywhere(entry, name, takes).listed] == []
    contained = fact.get("contained", "").split()
    assert [name for name in contained if listed.standing(entry, name, "").listed] == []


def test_the_programs_used_most_are_recorded_or_said_to_be_elsewhere():
    readme = README.read_text("utf-8").partition("## Not from a registry\n")[2]
    elsewhere = set(re.findall(r"[\w.+-]+", readme))
    recorded = {command.split()[0] for command, _ in RECORDED}
    programs = used.most_used(300)
    assert len(programs) == 300
    assert set(programs) - recorded - elsewhere == set()
    assert len(set(programs) & recorded) > 210


FAMILY = """\
family: x
shared: {a: &a {local: -q}}
programs:
  one: {about: a thing}
  two three:
    about: things
    options: {write: -o=, local: "-x --y"}
    commands:
      get put: {options: *a}
      all:
        options: [*a, {read: -f=}]
  four:
    about: a thing
    options:
      local: >-
        --x
        --y
"""


@pytest.mark.parametrize(
    ("command", "role", "line"),
    [
        ("one", "local", "  one: {options: {local: --new}, about: a thing}"),
        ("two", "local", '    options: {write: -o=, local: "--new -x --y"}'),
        ("three", "read", '    options: {read: --new, write: -o=, local: "-x --y"}'),
        ("two put", "local", "      get put: {options: [*a, {local: --new}]}"),
        ("two all", "local", "        options: [*a, {read: -f=}, {local: --new}]"),
        ("four", "local", "        --new --x"),
    ],
)
def test_an_option_is_added(command, role, line):
    changed = add.edited(FAMILY, tuple(command.split()), role, "--new").splitlines()
    assert line in changed
    assert len(set(changed) - set(FAMILY.splitlines())) == 1
