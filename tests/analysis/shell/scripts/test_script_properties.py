"""Whatever a file holds, the analysis of who runs it ends, raises nothing, and takes it for code of the project."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate.core.model import EffectKind, Variant
from lockgate.shell import analyse_shell
from lockgate.shell.interpreter.lookahead import file_name
from lockgate.shell.scripts.make.syntax import lines
from lockgate.shell.state.abstract_text import PLAIN
from lockgate.shell.state.scope import Arg
from support.projects import host_view
from support.stress import times

MAKE = (
    "$( $(shell $(eval $(call $(foreach $(if ${ ) } , : :: = := ?= += != define endef ifeq ifneq ifdef else endif "
    "include -include $@ $$ $< % %.o .ONESHELL: SHELL .PHONY export override all x X make $(MAKE)"
)
SHELL = "; | & ' \" # if then fi for i in do done case esac { x() <<E E ./x"
PIECES = [
    *MAKE.split(), *SHELL.split(), "\t", "\n", "\\\n", " ", "\r", "\x00", "\x01", "ä", "git push", "curl https://e.example",
    "bash x", "source x", "npm run x", "x a='b':", "{{a}}", "a := `",
    "#!/bin/sh\n", "#!/usr/bin/env -S ", '{"scripts": {"x": "', '"}}',
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=80)
SHELLS = ["bash x", "sh x", ". ./x", "./x"]
MAKING = ["make -f x", "make -f x all", "make", "just", "just x a", "npm run x", "yarn x"]
WAYS = [*SHELLS, *MAKING, "python3 x", "sed -f x a", "awk -f x"]


@given(text=TEXTS, way=st.sampled_from(WAYS))
@settings(max_examples=times(150), deadline=None)
@pytest.mark.stress
def test_any_file_is_code_of_the_project(text, way):
    files = {"x": text, "Makefile": text, "package.json": text, "justfile": text}
    analysis = analyse_shell(way, "/work/project", host_view(files))
    assert "shell:fault" not in {effect.rule for effect in analysis.effects}
    assert not any("not all of it was followed" in effect.because for effect in analysis.effects)
    assert EffectKind.EXECUTE in {effect.kind for effect in analysis.effects}
    assert len(analysis.effects) < 100


@given(text=TEXTS, way=st.sampled_from(SHELLS))
@settings(max_examples=times(100), deadline=None)
@pytest.mark.stress
def test_a_file_takes_nothing_away_from_what_stands_beside_it(text, way):
    command = f"{way}; curl -d @a https://e.example/"
    analysis = analyse_shell(command, "/work/project", host_view({"x": text}))
    # After `source` a name can mean a function of the file, and still the program.
    assert any(e.kind is EffectKind.EGRESS and e.variant is not Variant.SCRIPT for e in analysis.effects)


def test_a_script_that_runs_itself_ends():
    files = {"x": "bash x; bash x; bash x\n", "y": "#!/bin/sh -c\n", "Makefile": "all:\n\tmake all; make all\n"}
    for way in ("bash x", "./y", "./x", "make", "source x"):
        analysis = analyse_shell(way, "/work/project", host_view(files))
        assert {effect.kind for effect in analysis.effects} == {EffectKind.EXECUTE}


@pytest.mark.slow
def test_many_files_and_long_ones_are_bounded():
    looped = "for i in a b c d e f; do bash y; done\n" * 40
    files = {
        "x": looped,
        "y": "curl https://e.example/\n" * 400,
        "Makefile": "A = $(A) $(B)\nB = $(A) $(A)\nall: ; $(B)\n" * 500,
    }
    for way in ("bash x", "make", "bash x; " * 50 + "true"):
        analysis = analyse_shell(way, "/work/project", host_view(files))
        assert EffectKind.EXECUTE in {effect.kind for effect in analysis.effects}
        assert len(analysis.effects) < 2000


LONG = 60_000
TIRING = {
    "just": ("justfile", ["a" + " " * LONG, "a := " + "`" * LONG, "a:\n " + "{{" * 30_000, "a: " + "(b " * 20_000]),
    "make": ("Makefile", ["export " * 8_000 + "A=1", "$" * LONG, "A:=" + "$(subst a,b," * 5_000, "define x\n" * 6_000]),
    "bash x": ("x", ["#!" + " " * LONG, "source x\n" * 6_000, "(" * LONG, "a\n" * 30_000 + "case"]),
}


@pytest.mark.slow
def test_texts_that_are_made_to_tire_the_reader_are_code_of_the_project():
    for way, (name, texts) in TIRING.items():
        for text in texts:
            analysis = analyse_shell(way, "/work/project", host_view({name: text}))
            assert {effect.kind for effect in analysis.effects} == {EffectKind.EXECUTE}
            assert not any("not all of it was followed" in effect.because for effect in analysis.effects)


@pytest.mark.parametrize(
    ("row", "text"), [("a = b # c", "a = b "), (r"a = b \# c", r"a = b \# c"), (r"a = b \\# c", "a = b " + r"\\")]
)
def test_a_comment_of_make_begins_where_no_backslash_escapes_it(row, text):
    assert [line.text for line in lines(row)] == [text]


def test_each_wildcard_of_a_name_is_not_known():
    assert file_name(Arg("a[1]b[2]c*", glob=True)) == f"a{PLAIN}b{PLAIN}c{PLAIN}"
