"""The index over the table of places finds what a look at each pattern would find."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from lockgate.resources.globs import name_matches, path_matches
from lockgate.resources.places import HOME, Path, Place, find, find_begun, floats, places

_SPELT = sorted({name for place in places() for pattern in place.match for name in pattern} - {"", "**"})
_NAMES = st.one_of(
    st.sampled_from(_SPELT),
    st.sampled_from([name.translate(str.maketrans("*?", "ab", "[]!")) or "a" for name in _SPELT]),
    st.sampled_from(["src", "x.git", "claude-1000", "file.o", "a"]),
)


@st.composite
def _paths(draw: st.DrawFn) -> Path:
    """Paths as they are written, whose names are such as the table spells."""
    below = tuple(draw(st.lists(_NAMES, min_size=1, max_size=5)))
    if draw(st.booleans()):
        return Path(("", "home", "ann", *below), (HOME, *below))
    return Path(("", *below))


def _meets(pattern: tuple[str, ...], path: Path) -> bool:
    view = path.home if pattern[0] == HOME else path.names
    return view is not None and path_matches(pattern, view)


def _is(place: Place, path: Path) -> bool:
    excepted = any(_meets(pattern, path) for pattern in place.exceptions)
    return not excepted and any(_meets(pattern, path) for pattern in place.match)


def _begins(place: Place, path: Path) -> bool:
    """Whether a folder's last names are the first that a pattern for any folder spells."""
    for pattern in filter(floats, place.match):
        spelt = pattern[1:]
        for length in range(1, min(len(spelt) - 1, len(path.names)) + 1):
            if all(map(name_matches, spelt[:length], path.names[-length:])):
                return place.around
    return False


@given(_paths())
@example(Path(("", "srv", "x.git")))
@example(Path(("", "tmp", "claude-1000", "x", "tasks")))
@example(Path(("", "srv", "-a")))
def test_all_places_that_a_path_is_are_found(path: Path) -> None:
    assert find(path) == tuple(place for place in places() if _is(place, path))
    assert find_begun(path) == tuple(place for place in places() if _begins(place, path))
