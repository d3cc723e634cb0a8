"""Writes a plan as a profile for ``sandbox-exec`` of macOS, with rules where Linux has mounts. No I/O.

Of the rules that match, the last holds, so that they stand in the order of the mounts. What differs from mounts:

* There is no network of its own: a loopback inside would be the machine's, so all of the network is refused, but Unix
  sockets in the command's own temporary folder.
* What is hidden is not empty but refused, and nothing has another content than outside: the command's own folders are
  reached by ``TMPDIR`` and ``XDG_CACHE_HOME``.
* A rule holds for places that do not exist yet.

The language is not documented by its maker. What is used here is what the profiles below
``/System/Library/Sandbox/Profiles`` use; whether it does what it should is tried on each machine, see ``probe_mac.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from lockgate.containment.plan import DEVICES, EMPTY, READ_ONLY, SHARED, WRITABLE, Mount, Plan
from lockgate.resources.globs import Names

_HEAD = """(version 1)
(deny default)
(allow process-exec process-fork)
(allow process-info* signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow ipc-posix-shm* (ipc-posix-name-regex #"^/(psm_|mp-)"))
(allow pseudo-tty)
"""
"""What holds for every command. Shared memory only by the names that Python's own processes use among themselves."""

_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
    "com.apple.bsd.dirhelper",
)
"""Who is asked for users, groups and folders. None of them passes anything on, or starts a program."""

_TERMINALS = '(require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty"))'
"""Terminals that the command has opened itself, and not the person's."""
_DEVICES = ("null", "zero", "random", "urandom", "ptmx", "dtracehelper")
_READ, _WRITE = "file-read*", "file-write*"
_SHARED = "/tmp"  # noqa: S108 - how the name of the command's own folder ends


def profile(plan: Plan) -> str:
    """The profile for a plan.

    Raises:
        ValueError: A path cannot be written in a profile.
    """
    return _HEAD + "".join(f"{rule}\n" for rule in _rules(plan))


def own_folders(plan: Plan) -> tuple[str, ...]:
    """The command's own folders: nobody outside looks into them."""
    return tuple(mount.source for mount in plan.mounts if mount.kind == WRITABLE and mount.source != mount.target)


def environment(plan: Plan) -> dict[str, str]:
    """The plan's environment, with the command's own folders in the place of those that mounts would cover."""
    own = own_folders(plan)
    if not own:
        return dict(plan.environment)
    temporary = next((folder for folder in own if folder.endswith(_SHARED)), own[0])
    cache = next((folder for folder in own if folder.endswith("/cache")), own[0])
    leads = {"TMPDIR": temporary, "TMP": temporary, "TEMP": temporary, "XDG_CACHE_HOME": cache}
    return {**plan.environment, **leads}


def _rules(plan: Plan) -> Iterator[str]:
    yield _rule("allow", "mach-lookup", (f"(global-name {_text(name)})" for name in _SERVICES))
    for mount in plan.mounts:
        yield from _mount(mount)
    roots = tuple(mount.target for mount in plan.mounts if mount.kind == WRITABLE and mount.source == mount.target)
    held = [mount.target for mount in plan.mounts if mount.kind in (READ_ONLY, EMPTY, SHARED)]
    patterns = [_regex(root, names) for root in roots for names in plan.places]
    if patterns:
        yield _rule("deny", _WRITE, patterns)
    pinned = {*roots, *(above for path in held for root in roots for above in _folders_between(root, path))}
    if pinned:
        # Who could move a folder away could put another in its place.
        yield _rule("deny", "file-write-unlink", map(_literal, sorted(pinned)))
    own = own_folders(plan)
    if own:
        yield _rule(
            "allow", f"{_READ} {_WRITE} network-bind network-inbound network-outbound", map(_subpath_filter, own)
        )
    seen = {above for path in (*own, *roots, *held, plan.cwd) for above in _folders_between("/", path)}
    yield _rule("allow", "file-read-metadata", map(_literal, sorted(seen | {"/"})))


def _mount(mount: Mount) -> Iterator[str]:
    where = [_subpath_filter(mount.target)]
    if mount.kind == DEVICES:
        devices = [*(_literal(f"/dev/{name}") for name in _DEVICES), _subpath_filter("/dev/fd")]
        yield _rule("deny", f"{_READ} {_WRITE}", where)
        yield _rule("allow", f"{_READ} {_WRITE} file-ioctl", [*devices, _TERMINALS])
        yield _rule("allow", "file-read-metadata", where)
    elif mount.kind in (EMPTY, SHARED) or (mount.source and mount.source != mount.target):
        yield _rule("deny", f"{_READ} {_WRITE}", where)
    elif mount.kind == READ_ONLY:
        yield _rule("allow", _READ, where)
        yield _rule("deny", _WRITE, where)
    elif mount.kind == WRITABLE:
        yield _rule("allow", f"{_READ} {_WRITE}", where)


def _rule(verdict: str, operations: str, filters: Iterable[str]) -> str:
    return f"({verdict} {operations} {' '.join(filters)})"


def _subpath_filter(path: str) -> str:
    return f"(subpath {_text(path)})"


def _literal(path: str) -> str:
    return f"(literal {_text(path)})"


def _text(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"{text!a} cannot be written in a profile")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _folders_between(above: str, path: str) -> Iterator[str]:
    """The folders from one above a path down to the one that it lies in."""
    folder = os.path.dirname(path)
    while folder.startswith(f"{above.rstrip('/')}/"):
        yield folder
        folder = os.path.dirname(folder) if folder != "/" else ""
    if folder == above:
        yield above


def _regex(root: str, names: Names) -> str:
    """A pattern of places, below a root, as a regular expression; letters match in both cases, as on that system."""
    parts = []
    for name in names:
        # A class of characters is rare, and refusing too much is no harm.
        wide = "*" if "[" in name else name
        parts.append("(.*/)?" if name == "**" else f"{''.join(map(_match_any_case, wide))}/")
    text = "".join(parts)
    # The place itself, and all below it.
    text = f"{text.removesuffix('(.*/)?').rstrip('/')}(/.*)?"
    quoted = "".join(map(_quote, root))
    return f'(regex #"^{quoted}/{text}$")'


def _match_any_case(character: str) -> str:
    if character == "*":
        return "[^/]*"
    if character == "?":
        return "[^/]"
    if character.lower() != character.upper():
        return f"[{character.lower()}{character.upper()}]"
    return _quote(character)


def _quote(character: str) -> str:
    if not character.isprintable() or character == '"':
        raise ValueError(f"{character!a} cannot be written in a profile")
    return character if character.isalnum() or character in "/_- ,@~=:" else f"\\{character}"
