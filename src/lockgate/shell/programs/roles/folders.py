"""Applies roles of words that give whole folders away: to a repository, to a container, to other users."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.globs import is_wild
from lockgate.resources.path_spelling import absolute, is_inside, is_outside_workspace
from lockgate.resources.paths import OWN_BELOW, OWN_STATE
from lockgate.shell.effects import files
from lockgate.shell.programs.roles.files import ADDRESS, apply_into, read, read_below
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, is_known
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role

_OF_STATE = frozenset({OWN_STATE, OWN_BELOW})
_SOURCE = frozenset({"source", "src"})
_HERE = Arg(".")
_LISTS = frozenset({"--pathspec-from-file", "--targets"})
"""Options that name a file with the names of what is kept."""
_MOST_NAMES = 100
_IN_CONTAINER = lazy_re(r"[\w][\w.-]*:")
"""How a path in a container begins; one of this machine with a colon begins with ``/`` or ``./``."""
_EMPTY = frozenset({"-", "/dev/null"})
"""Inputs that name no other file, where nothing is on standard input."""


def keep(call: ProgramCall, words: list[Arg], option: str) -> None:
    """All that lies in folders is kept in a repository, which shows it to later commands. A flag means this folder.

    What a project keeps of its own files is its business; the gate's state is not to be had this way either, nor are
    secrets in folders that are no project.
    """
    if option in _LISTS:
        call.own += [effect for word in words for effect in files.read(word, call.machine, call.scope)]
        words = []
    around, cwds = call.machine.around, call.scope.cwds
    for word in words or [_HERE]:
        # A pattern of the repository's own (``:/``, ``'*'``) can mean all of it.
        folder = _HERE if word.text.startswith((":", "*")) else word
        found = files.read(folder, call.machine, call.scope, below=True)
        away = any(cwd and is_outside_workspace(folder.text, cwd, around) for cwd in cwds)
        call.own += found if away else [effect for effect in found if effect.rule in _OF_STATE]
        call.machine.disk.stores_secret |= any(effect.kind is EffectKind.READ_SECRET for effect in found)


def apply_listed(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files are read whose names stand in a file, or come from standard input: so a flag says, and ``-``."""
    from lockgate.shell.programs.roles.files import read

    lists = [word for word in words if word.text != "-"]
    read(call, lists, option)
    if lists:
        call.own += files.read(Arg(OPAQUE), call.machine, call.scope)
    if len(lists) < len(words) or not words:
        names = (call.stdin or "").splitlines()
        for name in names if len(names) <= _MOST_NAMES else [OPAQUE]:
            # For git what stands behind a colon is a path in a revision.
            for path in dict.fromkeys((name, name.partition(":")[2] or name)):
                call.own += files.read(Arg(path), call.machine, call.scope)


def apply_unnamed(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files are read that no word names: what a source includes, what stands in a list."""
    read(call, words, option)
    if (option and words) or call.stdin or not all(word.text in _EMPTY for word in call.matched.operands):
        call.own += files.read(Arg(OPAQUE), call.machine, call.scope)


def apply_manual(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Names of manual pages; a word with a slash is a file, which takes in others."""
    if all("/" not in word.text and is_known(word.text) for word in words):
        read(call, words, option)
    else:
        apply_unnamed(call, words, option)


def apply_either(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The value that an option has for some of the programs that share an entry: for others it is an operand."""
    below = call.recursive or any(
        role.startswith(("read-below", "edit-below", "source-below")) for role in call.entry.operands
    )
    changed = any(role.startswith(("edit", "write")) for role in call.entry.operands)
    for word in words:
        if not word.text.isdecimal():
            call.own += files.read(word, call.machine, call.scope, below=below)
            call.own += files.change(word, call.machine, call.scope) if changed else []


def apply_source_below(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A folder all of which is sent to what makes an image of it, or an address."""
    from lockgate.shell.programs.roles.network import apply_source

    for word in words:
        if ADDRESS.match(word.text):
            apply_source(call, [word], option)
        elif word.text != "-":
            call.own += files.read(word, call.machine, call.scope, below=True)


def apply_mount(call: ProgramCall, words: list[Arg], _: str) -> None:
    """A folder of this machine is given to a container: ``SOURCE:TARGET[:OPTIONS]`` or ``type=bind,source=...``.

    It is read, and where nobody forbids it, written. What a container of the project may do to the project is said by
    its other effects.
    """
    for word in words:
        folder = _find_mounted(word.text)
        if folder is None:
            continue
        arg = Arg(folder, word.glob)
        call.own += files.read(arg, call.machine, call.scope, below=True)
        if _is_read_only(word.text):
            continue
        for cwd in call.scope.cwds:
            if is_outside_workspace(folder, cwd, call.machine.around):
                call.own += _find_loosened(files.write(arg, call.machine, call.scope, below=True))


def _find_loosened(written: list[Effect]) -> list[Effect]:
    """What of the effects of writing a folder works against the gate: a cache may be mounted."""
    return [effect for effect in written if effect.kind is EffectKind.TAMPER]


def _find_mounted(text: str) -> str | None:
    """The folder of this machine, ``None`` where a volume by name is meant, or none."""
    if "=" in text.partition(":")[0]:
        given = dict(part.partition("=")[::2] for part in text.split(","))
        return next((given[name] for name in _SOURCE if name in given), None) if given.get("type") == "bind" else None
    folder, colon, _ = text.partition(":")
    return folder if colon and ("/" in folder or folder[:1] in (".", "~")) else None


def _is_read_only(text: str) -> bool:
    parts = text.replace(":", ",").split(",")
    return not {"ro", "readonly", "readonly=true", "ro=true"}.isdisjoint(parts[1:])


_MAGIC = lazy_re(r":(?:\((?P<long>[^)]*)\)|(?P<short>[/!^]+):?)(?P<rest>(?s:.*))")
"""What stands before a path for git (*gitglossary*, "pathspec")."""


_ANY = frozenset({"*", "**", "."})
"""Names at the end of a path that stand for all that the folder before them holds."""


def apply_pathspec(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files are written that a pathspec of git names: from the root of the repository, too, and with stars.

    One that names a folder means all that lies in it. An option's word is a file in which pathspecs stand.
    """
    if option:
        read(call, words, option)
        call.own += files.write(Arg(OPAQUE), call.machine, call.scope)
        return
    for word in words:
        magic = _MAGIC.fullmatch(word.text)
        long, short, path = (magic["long"] or "", magic["short"] or "", magic["rest"]) if magic else ("", "", word.text)
        if set(short) & set("!^") or "exclude" in long.split(","):
            continue
        spelt = Arg(path, word.glob or (any(mark in path for mark in "*?[") and "literal" not in long))
        _fill_matches(call, spelt)
        if "/" in short or "top" in long.split(","):
            root = call.machine.around.workspace or call.machine.around.home
            _fill_matches(call, Arg(f"{root}/{path}", spelt.glob))


def _fill_matches(call: ProgramCall, spec: Arg) -> None:
    """For git a star also stands for slashes and hidden names, and what a pattern matches may be a folder."""
    _fill(call, spec)
    above, _, name = spec.text.rpartition("/")
    if not spec.glob or name in _ANY:
        return
    if is_wild(name):
        call.own += files.write(Arg(f"{spec.text}/*", glob=True), call.machine, call.scope)
    elif above in {"*", "**"}:
        call.own += files.write(Arg(f"{PLAIN}/{name}"), call.machine, call.scope)


def fill(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Folders are filled with files that no word names."""
    for word in words:
        _fill(call, word)


def _fill(call: ProgramCall, word: Arg) -> None:
    """A file is written, or all that lies in a folder.

    What is put over the whole project is what a branch or a repository brings, and switching to it is no more.
    """
    names = word.text.split("/")
    while len(names) > 1 and (names[-1] in _ANY or not names[-1]):
        names.pop()
    folder = "." if len(names) == 1 and names[0] in _ANY else "/".join(names)
    around = call.machine.around
    for cwd in call.scope.cwds:
        scope = call.scope.copy()
        scope.cwds = (cwd,)
        place = absolute(folder, cwd, around)
        below = place is not None and not is_inside(around.workspace or around.home, place)
        call.own += files.write(Arg(folder, word.glob) if below else word, call.machine, scope, below=below)


def apply_container_copy(call: ProgramCall, words: list[Arg], option: str) -> None:
    """``docker cp``: into a container it changes what runs there; out of one it may bring a folder with any names.

    Those can be settings and hooks in the project, as with an archive that is unpacked (:func:`unpack`).
    """
    call.machine.disk.note_unnamed()
    read_below(call, words[:1], option)
    # A file in a container is secret where it would be here.
    read(call, [Arg(_IN_CONTAINER.sub("", word.text, count=1), word.glob) for word in words[:1]], option)
    apply_into(call, words[1:], option)
    texts = [word.static for word in words]
    if len(texts) != 2 or None in texts or call.matched.unknown or not _IN_CONTAINER.match(texts[0] or ""):
        call.add("execute")
        return
    target, around = texts[1] or "", call.machine.around
    places = [absolute(target, cwd, around) for cwd in call.scope.cwds]
    root = around.workspace or around.home
    if _IN_CONTAINER.match(target) or not all(places):
        call.add("execute")
    elif target != "-" and any(is_inside(root, place) or is_inside(place, root) for place in places if place):
        call.add_opaque(f"`{call.what}` writes files here whose names nobody knows: they can be settings or hooks")
    elif target != "-":
        name = (texts[0] or "").rstrip("/").rpartition("/")[2].rpartition(":")[2]
        whole = name in ("", ".", "..")
        # A folder that is not there yet takes what the other one holds.
        there = target.endswith("/") or around.home in places
        landing = [f"{target}/{name}"] if not whole else [f"{target}/{PLAIN}"]
        for path in (*landing, *([] if there and not whole else [target])):
            call.own += files.write(Arg(path), call.machine, call.scope, below=True)


FUNCTIONS: dict[str, Role] = {
    "container-copy": apply_container_copy,
    "keep": keep,
    "pathspec": apply_pathspec,
    "fill": fill,
    "listed": apply_listed,
    "either": apply_either,
    "unnamed": apply_unnamed,
    "manual": apply_manual,
    "source-below": apply_source_below,
    "mount": apply_mount,
}
"""The function that applies each role."""
