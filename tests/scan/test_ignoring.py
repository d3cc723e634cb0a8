"""``.gitignore`` as git itself reads it: random trees, and what ``git check-ignore`` says of each file."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lockgate.cli.scan.sources import files_below
from support.stress import examples

NAMES = ("a", "b", "c.txt", "d.log", "build", "x y", "#h", "!n", "[z]", "ü")
_PARTS = (*NAMES, "*", "**", "*.txt", "*.log", "?", "b*", "[ab]", "[!a]", "[a-c]*", "\\#h", "\\!n", "\\[z]", "x\\ y")

names = st.sampled_from(NAMES)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
rules = st.builds(
    lambda negated, rooted, parts, folder, end: (
        ("!" if negated else "") + ("/" if rooted else "") + "/".join(parts) + ("/" if folder else "") + end
    ),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(_PARTS), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from(["", "", "", " ", "\r", "\\ ", "  # no comment"]),
)
ignore_files = st.lists(st.one_of(rules, st.sampled_from(["", "# comment", "\ufeff", "a\x0bb", "!"])), max_size=5)
trees = st.tuples(
    st.lists(paths, min_size=1, max_size=8),
    st.dictionaries(st.sampled_from(["", "a", "b", "build", "a/b"]), ignore_files, max_size=3),
)


def _build(root: Path, files: list[str], ignores: dict[str, list[str]]) -> None:
    for name in files:
        path = root / name
        if any(parent.is_file() for parent in path.parents) or path.is_dir():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    for folder, lines in ignores.items():
        if (root / folder).is_dir():
            (root / folder / ".gitignore").write_text("\n".join(lines), encoding="utf-8", newline="")


def _by_git(root: Path) -> set[str]:
    """All files that git would not ignore."""
    environment = {"HOME": str(root), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(root), "ls-files", "-z", "--others", "--exclude-standard"]
    done = subprocess.run(command, check=True, capture_output=True, env=environment)
    return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(trees)
@example((["a/c.txt", "b"], {"": ["a/", "!a/c.txt"]}))
@example((["a/b/c.txt", "build/a"], {"": ["**/build", "a/**"], "a": ["!b/"]}))
@example((["x y", "#h", "!n", "[z]"], {"": ["x\\ y", "\\#h", "\\!n", "\\[z]"]}))
@example((["ü"], {"": ["?"]}))
@example((["ü"], {"": ["[!a]"]}))
@example((["ü"], {"": ["??"]}))
@example((["ü"], {"": ["ü"]}))
def test_as_git(tree: tuple[list[str], dict[str, list[str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        _build(root, *tree)
        subprocess.run(["git", "init", "-q", str(root)], check=True, capture_output=True)
        found = {os.path.relpath(path, root) for path in files_below([str(root)]) if isinstance(path, str)}
        assert found == _by_git(root)
