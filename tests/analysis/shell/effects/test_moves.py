"""What was copied or moved on the way: where a path was before, and that many moves take no time without end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.model import EffectKind
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import is_inside
from lockgate.shell import analyse_shell
from lockgate.shell.state.machine import Moves

PATHS = st.lists(st.sampled_from("abc"), max_size=3).map(lambda names: "/" + "/".join(names))
WORK = "/work/project"


def _by_definition(path: str, moves: list[tuple[str, str]]) -> list[str]:
    """Each move, the latest first, is undone on all places that were found so far."""
    found = [path]
    for source, target in reversed(moves):
        found += [f"{source}{place[len(target) :]}" for place in found if is_inside(place, target)]
    return list(dict.fromkeys(found[1:]))


@given(PATHS, st.lists(st.tuples(PATHS, PATHS), max_size=9))
def test_where_something_was_is_found_in_its_order(path: str, moves: list[tuple[str, str]]) -> None:
    noted = Moves()
    for source, target in moves:
        noted.note(source, target)
    assert bool(noted) is bool(moves)
    assert noted.originals(path) == _by_definition(path, moves)


@pytest.mark.parametrize("count", [60, 1000])
def test_where_that_are_too_many_places_nothing_is_told(count: int) -> None:
    noted = Moves()
    for number in range(count):
        noted.note(f"/t/{number}", "/t")
    assert noted.originals("/t/y") is None
    assert noted.originals("/t/y") is None, "nor later"


def _kinds(command: str) -> set[EffectKind]:
    around = HostView(home="/home/user", workspace=WORK, variables={"PATH": "/usr/bin"})
    return {effect.kind for effect in analyse_shell(command, WORK, around).effects}


@pytest.mark.sampled
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("; ".join(f"mv t/{number} t" for number in range(60)) + "; echo x > t/y", id="one after another"),
        pytest.param("; ".join(f"cp -r t/{number} t" for number in range(60)) + "; echo x > t/y", id="copies"),
        pytest.param("; ".join(f"mv t/{number} t" for number in range(60)) + "; cd t; git status", id="then git"),
    ],
)
def test_more_moves_than_can_be_followed_are_not_seen_through(command: str) -> None:
    assert EffectKind.EXECUTE in _kinds(command)


@pytest.mark.parametrize("verb", ["cp", "cp -r", "mv", "ln", "install", "rsync -a"])
def test_many_files_that_are_copied_by_name_are_followed(verb: str) -> None:
    files = " ".join(f"f{number}" for number in range(2_000))
    assert _kinds(f"{verb} {files} out") == _kinds(f"{verb} f1 f2 out")


@pytest.mark.parametrize(
    ("command", "through"),
    [
        pytest.param("mv link b out; echo x > out/link", True, id="under its own name"),
        pytest.param("mv link b out; echo x > out/b", False, id="the other one"),
        pytest.param("mv link out; echo x > out", True, id="alone it gets the target's name"),
        pytest.param("mv link b out; echo x > out", False, id="of two none gets the target's name"),
        pytest.param("mv link $b out; echo x > out", True, id="the other word may be none"),
        pytest.param("mv link b* out; echo x > out", True, id="a pattern may stand for nothing"),
    ],
)
def test_a_link_is_followed_to_where_it_was_moved(command: str, through: bool) -> None:
    links = {f"{WORK}/link": "/home/user/.bashrc"}
    around = HostView("/home/user", WORK, realpath=lambda path: links.get(path, path), variables={"PATH": "/usr/bin"})
    written = {effect.what for effect in analyse_shell(command, WORK, around).effects}
    assert ("/home/user/.bashrc" in written) is through, written
