"""Runs a program in bubblewrap: no network, everything read-only, a home that is thrown away, a time limit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".evals" / "options"
"""Unpacked packages. Git ignores it."""
SECONDS = 15
_MOST = 4_000_000


def box(shown: Sequence[Path] = (), written: Mapping[Path, str] | None = None) -> list[str]:
    """The words of bubblewrap before a command.

    Args:
        shown: Folders below what is hidden (``/tmp``, ``/work``, ``/run``) that are shown all the same, read-only.
        written: Folders that may be written, and the names they have inside.
    """
    words = [
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
    ]
    for hidden in ("/tmp", "/var/tmp", "/run", "/work"):
        words += ["--tmpfs", hidden] if Path(hidden).is_dir() else []
    words += ["--dir", "/tmp/home", "--dir", "/tmp/project"]
    # Scripts of packages name the cache by its own path, also where it is reached by a link.
    for path in dict.fromkeys((CACHE, CACHE.resolve(), *shown)):
        words += ["--ro-bind", str(path), str(path)] if path.exists() else []
    for path, inside in (written or {}).items():
        words += ["--bind", str(path), inside]
    return [*words, "--chdir", "/tmp/project", "--cap-drop", "ALL"]


def variables(path: Sequence[Path] = (), libraries: Sequence[Path] = ()) -> dict[str, str]:
    """The environment inside. Tool managers of this machine find their programs in the person's home."""
    home = Path.home()
    kept = {
        name: str(home / folder)
        for name, folder in (("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"), ("PYENV_ROOT", ".pyenv"))
    }
    return {
        **{name: folder for name, folder in kept.items() if Path(folder).exists()},
        "HOME": "/tmp/home",
        "PATH": os.pathsep.join([*map(str, path), os.environ.get("PATH", os.defpath)]),
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
        "RUBYLIB": os.pathsep.join(str(path) for folder in libraries for path in folder.glob("ruby/[v3]*")),
        "COLUMNS": "1000",
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
        "PAGER": "cat",
        "MANPAGER": "cat",
        "GIT_PAGER": "cat",
        "NO_COLOR": "1",
    }


def run(command: Sequence[str], path: Sequence[Path] = (), libraries: Sequence[Path] = ()) -> str:
    """What a command prints, on both outputs; empty where it does not end in time or is not there."""
    full = [*box(), "--", *command]
    try:
        done = subprocess.run(
            full, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
            check=False, env=variables(path, libraries),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout[:_MOST].decode("utf-8", "replace")
