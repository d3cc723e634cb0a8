"""What was copied or moved on the way: where a path was before, and that many moves take no time without end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.model import EffectKind
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import inside
from lockgate.shell import analyse_shell
from lockgate.shell.state.machine import Moves

PATHS = st.lists(st.sampled_from("abc"), max_size=3).map(lambda names: "/" + "/".join(names))
WORK = "/work/project"


def _by_definition(path: str, moves: list[tuple[str, str]]) -> list[str]:
    """Each move, the latest first, is undone on all places that were found so far."""
    found = [path]
    for source, target in reversed(moves):
        found += [f"{source}{place[len(target) :]}" for place in found if inside(place, target)]
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


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("; ".join(f"mv t/{number} t" for number in range(60)) + "; echo x > t/y", id="one after another"),
        pytest.param("cp -r " + " ".join(f"t/{number}" for number in range(60)) + " t", id="by one command"),
        pytest.param("cp " + " ".join(f"f{number}" for number in range(2_000)) + " out", id="many files"),
        pytest.param("; ".join(f"mv t/{number} t" for number in range(60)) + "; cd t; git status", id="then git"),
    ],
)
def test_more_moves_than_can_be_followed_are_not_seen_through(command: str) -> None:
    assert EffectKind.EXECUTE in _kinds(command)


def test_many_files_that_are_copied_by_name_are_followed() -> None:
    assert _kinds("cp " + " ".join(f"f{number}" for number in range(300)) + " out") == set()
