"""The input of a search that leaves the gate's state out, and which call an agent made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lockgate.containment.left_out import as_given, without_state

HOME = "/home/u"
STATE = f"{HOME}/.local/state/lockgate"
OUT = "!**/.local/state/lockgate"


def globs(given: dict[str, Any], cwd: str = f"{HOME}/work", state: str = STATE) -> str | None:
    changed = without_state(given, cwd, HOME, [state])
    return None if changed is None else changed["glob"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"path": HOME}, OUT),
        ({"path": "~"}, OUT),
        ({"path": " ~/ "}, OUT),
        ({"path": "~/.local"}, "!**/state/lockgate"),
        ({"path": ".."}, OUT),
        ({"path": "/"}, "!**/home/u/.local/state/lockgate"),
        ({"path": HOME, "glob": "*.py"}, f"*.py {OUT}"),
        ({"path": HOME, "glob": "*.{py,pyi} !x"}, f"*.{{py,pyi}} !x {OUT}"),
        ({"path": HOME, "glob": "{"}, f"{{ {OUT}"),
    ],
)
def test_the_state_is_left_out_by_the_last_pattern(given: dict[str, Any], expected: str) -> None:
    assert globs(given) == expected


def test_a_pattern_counts_from_the_working_folder_too() -> None:
    # ripgrep cuts the working folder off what it compares: with one pattern alone it would have read the state.
    assert globs({"path": HOME}, f"{HOME}/.local") == f"{OUT} !**/state/lockgate"


@pytest.mark.parametrize(
    "given",
    [
        {"path": STATE},
        {"path": f"{STATE}/x"},
        {"path": f"{HOME}/work"},
        {"path": "/srv"},
        {},
        {"path": 3},
        {"path": HOME, "glob": ["a"]},
    ],
)
def test_where_it_does_not_lie_below_nothing_is_changed(given: dict[str, Any]) -> None:
    assert globs(given) is None


@pytest.mark.parametrize(
    "folder", ["/home/a b/state", "/home/{a}/state", "/home/a,b/state", "/home/[a]/state", "/home/a*/state"]
)
def test_a_folder_that_a_pattern_cannot_name_is_not_left_out(folder: str) -> None:
    assert globs({"path": "/home"}, "/", folder) is None


def test_links_are_told_from_where_they_lead(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "state").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    assert globs({"path": str(tmp_path / "link")}, "/srv", str(home / "state")) == "!**/state"


@pytest.mark.parametrize(
    "given", [{"path": HOME}, {"path": HOME, "glob": "*.py"}, {"path": "~", "glob": "a b", "-n": True}]
)
def test_the_call_that_an_agent_made_is_told_again(given: dict[str, Any]) -> None:
    changed = without_state(given, "/", HOME, [STATE])
    assert changed is not None
    assert as_given(changed, "/", HOME, [STATE]) == given


@pytest.mark.parametrize("glob", ["*.py", "!**/other", f"x{OUT}", f"{OUT} *.py", ""])
def test_other_patterns_stay(glob: str) -> None:
    given = {"path": HOME, "glob": glob}
    assert as_given(given, f"{HOME}/work", HOME, [STATE]) == given
