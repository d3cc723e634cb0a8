"""Resolves paths as tools and shell words spell them to the form that the table of places takes."""

from __future__ import annotations

import posixpath
from functools import lru_cache

from lockgate.resources.globs import Names, is_wild, may_be, paths_meet
from lockgate.resources.host_view import HostView
from lockgate.resources.places import HOME, Path

STANDARD_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
"""Files that are a program's standard input."""
_LONGEST = 4096
_PROCESSES = ("/proc", "/dev/", "/p?", "/p*", "/*", "/?", "/[", "//", "/.", "/d?", "/d*")
"""How a path can begin that leads through the folders of processes."""
_MOVED = ("/private/", "/system/volumes/data/")  # folders that hold what the system shows at the root too
_SYSTEM_NAMES = frozenset({"bin", "sbin", "lib", "lib64", "libexec", "local", "share", "etc", "games", "include"})


def absolute(path: str, cwd: str, around: HostView) -> str | None:
    """The absolute, lexically normalised path; ``None`` where the folder that it starts from is not known.

    Symbolic links are not resolved. ``~name`` is another person's home folder, which is looked for beside this one's.
    """
    joined = _join(path, cwd, around)
    return None if joined is None else _normal(joined)


def is_outside_workspace(path: str, cwd: str, around: HostView) -> bool:
    """Whether a path, as written or with links resolved, lies outside the project.

    An unknown folder counts as outside.
    """
    full = absolute(path, cwd, around)
    if full is None or not around.workspace:
        return True
    workspace = posixpath.normpath(around.workspace)
    real = _real(_join(path, cwd, around) or full, around)
    return not (is_inside(full, workspace) and is_inside(real, _real(workspace, around)))


def _join(path: str, cwd: str, around: HostView) -> str | None:
    text = path.replace("\0", "")
    if len(text) > _LONGEST:
        # The system opens no such path; a program that takes ``./`` and ``x/..`` out of it first opens what is left.
        text = posixpath.normpath(text)[:_LONGEST]
    if text.startswith("~"):
        name, _, rest = text[1:].partition("/")
        return f"{_home_of(name, around)}/{rest}"
    if not text.startswith("/"):
        text = f"{cwd}/{text}" if cwd.startswith("/") and not _leads_out(text, cwd) else ""
    return follow_process_folder(text, cwd)[0] if text.startswith(_PROCESSES) else text or None


def folder_after_cd(cwd: str, folder: str) -> str:
    """The working folder after a change to another one; empty where it is not known."""
    path = folder if folder.startswith("/") else f"{cwd}/{folder}" if cwd and not _leads_out(folder, cwd) else ""
    if path.startswith(_PROCESSES):
        # A shell takes the name before ``..`` away; the kernel goes to the folder above the one that is meant.
        path = "" if ".." in path else follow_process_folder(path, cwd)[0] or ""
    entered = posixpath.normpath(path) if path else ""
    return somewhere(entered) if entered and is_somewhere(cwd) and path is not folder else entered


def somewhere(folder: str) -> str:
    """The working folder of a command that runs in a folder or in one below it: nobody knows which.

    It has a slash at its end, so that a relative path begins at the folder. That holds as far as it does not lead out
    of it.
    """
    return folder if folder.endswith("/") else f"{folder}/"


def is_somewhere(cwd: str) -> bool:
    """Whether a working folder may also be one below the one that is said."""
    return len(cwd) > 1 and cwd.endswith("/")


def _leads_out(path: str, cwd: str) -> bool:
    """Whether a relative path begins above a folder that is not exactly known."""
    return is_somewhere(cwd) and ".." in path and posixpath.normpath(path).split("/", 1)[0] == ".."


def _beginnings(path: str, cwd: str) -> list[tuple[str, str]]:
    """The folders in which a path may begin that leads out of a folder not exactly known, each with what follows."""
    names = posixpath.normpath(path).split("/")
    up = names.count("..")
    starts = [posixpath.normpath(cwd)]
    for _ in range(up):
        starts.append(posixpath.dirname(starts[-1]))
    return [(start, "/".join(names[up:]) or ".") for start in dict.fromkeys(starts)]


def is_of_a_process(path: str, cwd: str) -> bool:
    """Whether a path goes through a folder that only a process knows: another's, or one that was opened before."""
    start = path if path.startswith("/") else cwd
    if not start.startswith(_PROCESSES) and start != "/":
        return False
    return follow_process_folder(path if start is path else f"{cwd}/{path}", cwd)[0] is None


def follow_process_folder(path: str, cwd: str) -> tuple[str | None, str]:
    """Where an absolute path leads that goes through a folder of a process (``/proc/self/cwd/..``).

    Returns:
        The path without that folder, ``None`` where it is another process's or one that was opened before; and what of
        the path lies behind it.
    """
    names: list[str] = []
    given = path.split("/")
    begun = path
    for at, name in enumerate(given):
        if name in {"", "."}:
            continue
        if name == "..":
            del names[-1:]
            continue
        names.append(name)
        folder = _folder_of_process(names, more=any(given[at + 1 :]))
        if not folder:
            continue
        rest = "/".join(given[at + 1 :])
        if folder == "other" or (folder == "cwd" and (not cwd.startswith("/") or cwd.startswith(_PROCESSES))):
            return None, rest
        names = cwd.split("/")[1:] if folder == "cwd" else []
        begun = "/".join(["", *names, rest])
    return begun, ""


def _folder_of_process(names: list[str], *, more: bool) -> str:
    """What the names of a path lead to: this process's working folder (``cwd``), the ``root``, or another folder."""
    *above, name = names
    if len(above) > 3 and may_be(above[2], "task"):
        del above[2:4]
    if len(above) == 2 and may_be(above[0], "proc"):
        if any(map(is_wild, (above[0], name))):
            return "other" if any(may_be(name, folder) for folder in ("cwd", "root")) else ""
        own = "cwd" if above[1] in {"self", "thread-self"} else "other"
        return {"root": "root", "cwd": own}.get(name, "")
    opened = len(above) == 3 and may_be(above[0], "proc") and may_be(above[2], "fd")
    opened = opened or (len(above) == 2 and may_be(above[0], "dev") and may_be(above[1], "fd"))
    return "other" if opened and more else ""


def _home_of(name: str, around: HostView) -> str:
    if not name or name == posixpath.basename(around.home):
        return around.home
    return "/root" if name == "root" else posixpath.join(posixpath.dirname(around.home), name)


def _normal(path: str) -> str:
    if path.startswith("/") and not ("//" in path or "/." in path or path.endswith("/")):
        return path  # as nearly all are
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it, by their spelling."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _real(path: str, around: HostView) -> str:
    try:
        return _normal(around.realpath(path))
    except (OSError, ValueError):
        return _normal(path)


def _fold(path: str) -> str:
    """The spelling that a file system which ignores case also ignores.

    Composed, case-folded, without invisible characters.
    """
    if path.isascii():
        return path.lower()
    import unicodedata

    shown = "".join(c for c in unicodedata.normalize("NFKC", path) if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFC", shown.casefold())


def forms(path: str, cwd: str, around: HostView) -> list[Path]:
    """The path as the table asks about it: as written, and with links resolved."""
    if _leads_out(path, cwd):
        return [form for start, rest in _beginnings(path, cwd) for form in forms(rest, start, around)]
    joined = _join(path, cwd, around)
    if joined is None:
        return _nowhere(path, cwd, around)
    written = [*_aliases(_normal(joined)), *_aliases(_real(joined, around))]
    spellings = dict.fromkeys([*written, *_find_moved_client(written, around)])
    homes = _homes(around)
    return [_form(spelling, homes) for spelling in spellings]


def _homes(around: HostView) -> tuple[Names, ...]:
    return names_of(around.home), names_of(around.real_home or _real(around.home, around))


def _nowhere(path: str, cwd: str, around: HostView) -> list[Path]:
    """The forms of a path that begins in a folder nobody knows, which may be the home folder."""
    whole = path if path.startswith("/") else f"{cwd}/{path}" if cwd else ""
    text = follow_process_folder(path, cwd)[1] if whole is path else path
    names = tuple(name for name in _fold(text).split("/") if name not in {"", ".", ".."})
    found = [Path(("**", *names), (HOME, *names), any(map(is_wild, names)))] if names else []
    # What another process has for its folder can change, but as it is now it tells more.
    real = _real(whole, around) if whole else ""
    return [*found, _form(real, _homes(around))] if real and real != _normal(whole) else found


def _find_moved_client(written: list[str], around: HostView) -> list[str]:
    """A client that is told to keep its files elsewhere keeps there what is in ``~/.claude`` for others."""
    tops = _find_moved_tops(around.client_paths)
    return [f"{around.home}/.claude{path[len(top) :]}" for top in tops for path in written if is_inside(path, top)]


@lru_cache(maxsize=64)
def _find_moved_tops(client_paths: tuple[str, ...]) -> tuple[str, ...]:
    cut = (folder.partition("/projects") for folder in client_paths)
    return tuple(top for top, found, _ in cut if found and top.startswith("/") and not top.endswith("/.claude"))


def _aliases(path: str) -> list[str]:
    """A path, and what it is where it leads through a name that the system gives to another folder."""
    out = [path]
    if path.lower().startswith(_MOVED):
        out += [path[len(prefix) - 1 :] for prefix in _MOVED if path.lower().startswith(prefix)]
    if "/proc/" in path and (names := path.split("/"))[1] == "proc":
        for index in range(3, min(len(names), 7)):
            if names[index] == "root":
                out += _aliases("/" + "/".join(names[index + 1 :]))
            elif names[index] == "cwd":
                out.append("/**/" + "/".join(names[index + 1 :]))
    return out


def _form(path: str, homes: tuple[Names, ...]) -> Path:
    folded = _fold(path)
    names: Names = ("",) if folded == "/" else tuple(folded.split("/"))
    return Path(names, _relative_to_home(names, homes), is_wild(folded))


def _relative_to_home(names: Names, homes: tuple[Names, ...]) -> Names | None:
    for home in homes:
        if names[: len(home)] == home:
            return (HOME, *names[len(home) :])
    # Another person's home folder: what is secret in one is secret in each.
    if names[:2] == ("", "root"):
        return (HOME, *names[2:])
    if names[:2] in {("", "home"), ("", "users")} and len(names) > 2:
        return (HOME, *names[3:])
    for home in homes if any(map(is_wild, names)) else ():
        if paths_meet((*home, "**"), names):
            # What stands behind the home folder in a path whose first names a shell still expands into it.
            first = next((index for index, name in enumerate(names) if name == "**"), len(names))
            return (HOME, *names[min(len(home), first) :])
    return None


def is_in_project(form: Path, around: HostView) -> bool:
    """Whether a path lies in a project that is a folder of its own, and not a folder of the system such as ``/usr``."""
    names = names_of(around.workspace) if around.workspace else ()
    return len(names) > 2 and names[-1] not in _SYSTEM_NAMES and form.names[: len(names)] == names


def folders(root: str, cwd: str, around: HostView) -> list[Path]:
    """The forms of a folder whose content is meant; a folder above the home folder means also the home folder."""
    home = names_of(around.home)
    found = forms(root, cwd, around)
    # Where it is not known which folder is meant, it may be the home folder itself.
    if not found or any(form.home is None and home[: len(form.names)] == form.names for form in found):
        found.append(Path(home, (HOME,)))
    return found


def has_state_below(form: Path, around: HostView) -> bool:
    """Whether the gate's own state lies below a folder, or can where a shell still expands its name."""
    states = map(names_of, around.state_paths)
    return any(len(form.names) < len(state) and all(map(may_be, form.names, state)) for state in states)


def may_begin_in(names: Names, folder: str) -> bool:
    """Whether names that begin in a folder nobody knows can lead into another one, of which they spell the end."""
    wanted = names_of(folder)
    return any(
        len(names) >= len(wanted) - start and all(map(may_be, names, wanted[start:]))
        for start in range(1, len(wanted) - 1)
    )


@lru_cache(maxsize=64)
def names_of(path: str) -> Names:
    """The case-folded names of an absolute path; the root's is empty."""
    folded = _fold(_normal(path))
    return ("",) if folded == "/" else tuple(folded.split("/"))


def below(form: Path) -> Path:
    """Everything below a path."""
    home = None if form.home is None else (*form.home, "**")
    return Path((*form.names, "**"), home, wild=True)
