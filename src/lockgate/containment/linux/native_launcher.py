"""A walk through the folders of a machine that another process does, and what is made of what it has seen.

To walk through a project takes an interpreter long, and the native launcher does it. It is told how, in words, and
tells of every entry that could matter: those whose name, or whose place below such names, the guard would look at.
It may tell of more. Which of them do matter is asked here, as for a walk of one's own. Formats: native/walk.h.

The launcher is handed a plan in words, too. Format: native/plan.h.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from lockgate.containment import hidden_files
from lockgate.containment.host_facts import Host
from lockgate.containment.layout import FileLookup
from lockgate.containment.plan import Plan
from lockgate.containment.protected_files import MOST_ENTRIES, VENDORED, movable, what_matters
from lockgate.core.errors import BadInputError, ContainmentError
from lockgate.core.record import Record
from lockgate.resources.path_spelling import names_of
from lockgate.resources.protected_paths import PathGuard, ProtectedPath
from lockgate.system.files import real_path

WALK = "walk 1"
PLAN = "plan 2"
_DEEP = 64
_KINDS = frozenset("dlsf")
_OPEN, _PROTECTED, _HIDDEN = range(3)
"""Whether a folder's content matters by itself, only where it is secret, or not at all."""


class Suspect(Record):
    """An entry that could matter."""

    kind: str
    """``d`` folder, ``l`` symbolic link, ``s`` socket or named pipe, ``f`` anything else."""
    path: str
    link: str = ""
    """Where a link leads, as it is written."""


# ---------------------------------------------------------------- what to look for
def encode_filters(guard: PathGuard) -> bytes:
    """What could matter to a guard: the part of :func:`encode_walk` that is the same for as long as the guard is."""
    names, globs, patterns = guard.filters()
    words: list[str] = []
    for several in (sorted(VENDORED), sorted(names), globs):
        words += [str(len(several)), *several]
    words.append(str(len(patterns)))
    for name, pattern in patterns:
        words += [name, "/".join(pattern)]
    return encode_words(words)


def encode_walk(roots: Sequence[str], home: str, guard: PathGuard, filters: bytes) -> bytes:
    """How to walk: through the folders that may be written to, and then near the surface of the home folder.

    Between them stand the folders in which other programs look for programs.
    """
    words = [WALK, str(len(roots) + len(guard.program_folders) + 1)]
    for root in roots:
        all_of_it = guard.from_root(root, anchored=True) is None
        words += [root, str(_DEEP), str(MOST_ENTRIES), "all" if all_of_it else "some", ""]
    for folder in guard.program_folders:
        words += [folder, "0", str(MOST_ENTRIES), "some", ""]
    words += [real_path(home), str(hidden_files.NEAR_LEVELS), str(hidden_files.NEAR_ENTRIES), "some", roots[0]]
    return encode_words(words) + filters


def encode_words(words: Iterable[str]) -> bytes:
    """Words, each with a zero byte at its end."""
    return b"".join(os.fsencode(word) + b"\0" for word in words)


# ---------------------------------------------------------------- what was seen
def suspects(told: bytes, roots: Sequence[str]) -> list[list[Suspect]]:
    """Read what was seen below each of some folders.

    Raises:
        BadInputError: It is cut short, or lies elsewhere.
    """
    words = os.fsdecode(told).split("\0")
    if words.pop() or len(words) % 2:
        raise BadInputError("what was seen is not told to its end")
    found: list[list[Suspect]] = [[] for _ in roots]
    into, inside = None, ""
    for word, link in zip(words[::2], words[1::2], strict=True):
        kind, path = word[:1], word[1:]
        if kind == "r":
            number = int(path) if path.isdecimal() and len(path) < 4 else len(roots)
            if number >= len(roots):
                raise BadInputError("there is no such folder")
            into, inside = found[number], f"{roots[number].rstrip('/')}/"
        elif into is None or kind not in _KINDS or not path.startswith(inside) or os.path.normpath(path) != path:
            raise BadInputError("what was seen lies elsewhere")
        else:
            into.append(Suspect(kind, path, link))
    return found


def entries(root: str, seen: Iterable[Suspect], guard: PathGuard, *, anchored: bool = True) -> Iterator[ProtectedPath]:
    """What :func:`lockgate.containment.protected_files.survey` yields where it meets what another process has seen."""
    known = guard.from_root(root, anchored=anchored)
    states = {root: _OPEN}

    def find_at(path: str, *, folder: bool) -> ProtectedPath | None:
        below = path[len(root.rstrip("/")) :].split("/")[1:]
        folded = [name.lower() if name.isascii() else names_of(f"/{name}")[-1] for name in below]
        patterns = () if known is None else (*known, *(one for name in folded for one in guard.patterns(name)))
        if known is None or guard.matters(path, folded[-1], patterns):
            return what_matters(guard, path, folder=folder)
        return None

    def state_of(folder: str) -> int:
        if folder not in states:
            above = state_of(os.path.dirname(folder))
            found = None if above == _HIDDEN else find_at(folder, folder=True)
            inside = _OPEN if found is None else _HIDDEN if found.hidden else _PROTECTED if found.protected else _OPEN
            states[folder] = max(above, inside)
        return states[folder]

    for each in seen:
        above = state_of(os.path.dirname(each.path))
        if above == _HIDDEN:
            continue
        # A link may lead to a folder now or later.
        found = find_at(each.path, folder=each.kind in "dl")
        if found is None and each.kind == "s":
            found = ProtectedPath(each.path, hidden=True)
        if found is not None and (found.hidden or above == _OPEN):
            yield found._replace(link=each.link)


class RecordedLookup(FileLookup):
    """Files as the process that runs the command has seen them."""

    def __init__(self, guard: PathGuard, roots: Sequence[str], seen: Sequence[Sequence[Suspect]]) -> None:
        """Take what was seen below each of the folders, and near the surface of the home folder."""
        super().__init__(guard)
        self._seen = dict(zip(roots, seen, strict=False))
        self._near = seen[-1]

    def project(self, root: str) -> Iterable[ProtectedPath]:
        """What matters below a folder that may be written to."""
        return entries(root, self._seen[root], self.guard)

    def near(self, home: str, workspace: str) -> Iterable[str]:
        """Files with secrets in the other projects of the person."""
        found = entries(real_path(home), self._near, self.guard, anchored=False)
        return hidden_files.select_hidden(found, workspace)


# ---------------------------------------------------------------- what is new
def encode_protected(roots: Sequence[str], seen: Sequence[Sequence[Suspect]], guard: PathGuard) -> bytes:
    """Of what is new, the paths at which nothing may be made, as words: the topmost of each.

    Args:
        roots: The folders that may be written to.
        seen: What is new in these, and in each folder in which programs are looked for.
        guard: Tells what matters.
    """
    pairs = zip(roots, seen, strict=False)
    found = [entry.path for root, new in pairs for entry in entries(root, new, guard) if entry.protected]
    programs = (each for new in seen[len(roots) :] for each in new if each.kind != "d" and guard.is_helper(each.path))
    return encode_words([*found, *(movable(each.path, roots) for each in programs)])


# ---------------------------------------------------------------- what to run
def encode_plan(plan: Plan, host: Host, *, stays: bool) -> tuple[bytes, bytes]:
    """The words of a plan, and the filter of system calls.

    Args:
        plan: The sandbox.
        host: What this host can do.
        stays: Whether processes may outlast the command, where it runs in a room.

    Raises:
        ContainmentError: The launcher knows no such way.
    """
    # Here, because the process that only tells of a walk must begin quickly.
    from lockgate.containment.linux import bubblewrap
    from lockgate.containment.linux.proc import settings
    from lockgate.containment.linux.seccomp import program

    calls = program()
    if calls is None or host.way not in ("bubblewrap", "namespaces"):
        raise ContainmentError(f"the launcher knows no way named {host.way!r}")
    words = [PLAN, host.way, host.program, plan.cwd, "stays" if stays else "ends"]
    by_bubblewrap = host.way == "bubblewrap"
    words += _count(bubblewrap.options(plan) if by_bubblewrap else ())
    words += _count([] if by_bubblewrap else [text for mount in plan.mounts for text in mount])
    words += _count([] if by_bubblewrap else settings())
    words += _count(plan.writable)
    words += _count([f"{name}={value}" for name, value in plan.environment.items()])
    words += _count(plan.command)
    if any("\0" in word for word in words):
        raise ContainmentError("the plan holds a zero byte")
    return encode_words(words), calls


def _count(words: Sequence[str]) -> Iterator[str]:
    yield str(len(words))
    yield from words
