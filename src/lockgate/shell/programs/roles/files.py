"""Applies roles of words that name files and folders."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.globs import is_wild
from lockgate.resources.path_spelling import folder_after_cd, is_inside
from lockgate.shell.effects import files
from lockgate.shell.knowledge import lookup
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, PLAIN, is_known
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role

_LISTING = frozenset({"-t", "--list", "-O", "--to-stdout", "--to-command"})
_ANYWHERE = frozenset({"-P", "--absolute-names", "--transform", "--xform", "-s"})
_INSTALLED = "place:vendored/package-text"
ADDRESS = lazy_re(r"[A-Za-z][A-Za-z0-9+.-]*://")
"""How an address begins in the place of a file."""
_KEYS = lazy_re(r"\+{1,2}(?:\d{0,9}[gGFp%]?|[/?][ -~]{0,200})")
"""Keys for a pager that go to a line, to the end or to what is looked for."""


def read(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files are read. Many a library that opens them opens an address as well, whatever the manual says."""
    call.read_words += words
    for word in words:
        if ADDRESS.match(word.text):
            from lockgate.shell.programs.roles.addresses import apply_url

            apply_url(call, [word], option)
        else:
            call.own += files.read(word, call.machine, call.scope, below=call.recursive)
            _read_list(call, word)


def read_below(call: ProgramCall, words: list[Arg], _: str) -> None:
    """All that lies in folders is read."""
    call.read_words += words
    for word in words:
        call.own += files.read(word, call.machine, call.scope, below=True)
        _read_list(call, word)


def _read_list(call: ProgramCall, word: Arg) -> None:
    """For many programs ``@file`` is a list of names."""
    if word.text[:1] == "@":
        call.own += files.read(Arg(word.text[1:]), call.machine, call.scope)
        call.own += files.read(Arg(OPAQUE), call.machine, call.scope)


def apply_name(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Files are named and not read."""
    call.read_words += words


def look(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Files are read, also out of a revision (``HEAD:.env``), by a program whose output does not name them."""
    # What the environment or another command names in one word is taken for a revision, where there can be one.
    plain = "--no-index" not in call.matched.given
    for given in words:
        word = Arg(given.text.replace(ENVIRONMENT, PLAIN), given.glob) if plain and ENVIRONMENT in given.text else given
        # Beside a repository two folders are compared as they lie there; what is said from its root is known to it.
        beside = word.text.startswith(("/", "~", "../"))
        call.own += files.read(word, call.machine, call.scope, below=beside)
        revision, colon, path = word.text.partition(":")
        if colon and revision:
            call.own += files.read(Arg(path, word.glob), call.machine, call.scope)


def write(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files are written; what stands at an address is sent there."""
    for word in words:
        if ADDRESS.match(word.text):
            from lockgate.shell.programs.roles.addresses import send_to

            send_to(call, [word], option)
        else:
            # What an option names may be a folder that is filled.
            call.own += files.write(word, call.machine, call.scope, below=call.recursive, replaced=bool(option))


def apply_folder(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Folders are made, with nothing in them that could run: only what they are called counts, and whose they are."""
    for word in words:
        found = files.write(word, call.machine, call.scope)
        call.own += [e for e in found if e.kind is not EffectKind.PERSIST or e.rule == files.OPTION_NAME]


def apply_prefix(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The words begin the names of files that are written; an option can end them."""
    endings = [v for o in call.matched.options if o.name == "--additional-suffix" for v in o.value] or [Arg("")]
    for word in words:
        for ending in endings:
            call.own += files.write(Arg(f"{word.text}{PLAIN}{ending.text}"), call.machine, call.scope)


def apply_name_end(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The end of names that are made up: what leads to another folder can lead to any."""
    if any("/" in word.text or not is_known(word.text) for word in words):
        call.add("write-unnamed")


_BACKUPS = frozenset({"~", ".bak", ".backup", ".old", ".orig", ".tmp"})
"""Endings with which nothing is run or believed."""


def apply_backup(call: ProgramCall, words: list[Arg], option: str) -> None:
    """The end of a backup's name; with a slash the backup lies in another folder and may replace anything there."""
    operands = call.matched.operands
    for word in words:
        if "/" in word.text or not is_known(word.text):
            call.add_opaque(f"`{option}` puts a copy into another folder")
        if any(sign.isspace() for sign in word.text):
            call.add_opaque(f"what stands behind a space in the value of `{option}` can be more options")
        if word.text in _BACKUPS:
            # A wild name stands for files that are there, and those are written themselves.
            operands = [other for other in operands if not other.glob]
        inside = [f"{operands[-1].text}/{other.text.rpartition('/')[2]}" for other in operands[:-1]]
        for name in (*(other.text for other in operands), *inside):
            call.own += files.write(Arg(name + word.text), call.machine, call.scope)


def unpack(call: ProgramCall, _words: list[Arg], _: str) -> None:
    """Files are written whose names no word says.

    In the project they can be settings and hooks, in any folder: with a repository in ``out``, ``git add out`` makes
    every later ``git status`` run what its settings say.
    """
    given = call.matched.given
    if given & _LISTING:
        return
    call.machine.disk.note_unnamed()
    anywhere = sorted(given & _ANYWHERE)
    if anywhere:
        call.add_opaque(f"with `{anywhere[0]}` files are written anywhere")
    root = call.machine.around.workspace or call.machine.around.home
    for cwd in call.scope.cwds:
        if not cwd or is_inside(root, cwd) or is_inside(cwd, root):
            call.add_opaque(f"`{call.what}` writes files here whose names nobody knows: they can be settings or hooks")
            if cwd:
                call.own += files.write(Arg(f"{cwd}/_"), call.machine, call.scope)
        else:
            call.own += files.write(Arg(cwd), call.machine, call.scope, below=True)
            call.own += files.write(Arg(f"{cwd}/{PLAIN}"), call.machine, call.scope)


def write_first(call: ProgramCall, words: list[Arg], option: str) -> None:
    """The first word is a file that is written."""
    write(call, words[:1], option)


def apply_packed(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files that are packed or unpacked in place: the name gets an ending, or loses it."""
    edit(call, words, option)
    for word in words:
        folder, slash, name = word.text.rpartition("/")
        call.own += files.write(Arg(f"{folder}{slash}{name.rpartition('.')[0] or name}"), call.machine, call.scope)


def edit(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files are read and written."""
    read(call, words, option)
    for word in words:
        if not ADDRESS.match(word.text):
            call.own += files.change(word, call.machine, call.scope, below=call.recursive)


def edit_below(call: ProgramCall, words: list[Arg], option: str) -> None:
    """All that lies in folders is read, and files of one kind are written there."""
    before = len(call.own)
    read_below(call, words, option)
    for word in words:
        if ADDRESS.match(word.text):
            continue
        swept = _swept(call, word)
        if swept != [word]:
            # Formatters pass by what is installed.
            call.own[before:] = [effect for effect in call.own[before:] if effect.rule != _INSTALLED]
        for meant in swept:
            call.own += files.change(meant, call.machine, call.scope)


def _swept(call: ProgramCall, word: Arg) -> list[Arg]:
    """What a pattern over whole folders stands for that a formatter gets (``prettier --write 'src/**/*.ts'``).

    Its settings say how it changes what it meets, so it is code of the project. Then ``**`` is the ordinary way to say
    which files are meant, and stands for no hidden folder; one that the pattern itself names counts.
    """
    names = word.text.split("/")
    if word.static is None or "**" not in names or not is_wild(names[-1]) or "execute" not in call.entry.effects:
        return [word]
    deep = "/".join("_" if name == "**" else name for name in names)
    flat = "/".join(name for name in names[:-1] if name != "**")
    last = "_" if names[-1] == "**" else names[-1]
    return [Arg(deep), Arg(f"{flat}/{last}" if flat or word.text.startswith("/") else last)]


def apply_into(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The destination of a copy: a file, or a folder that takes the names of the sources."""
    sources = [word for word in call.matched.operands if word not in words]
    if call.matched.given & {"-T", "--no-target-directory"}:
        sources = [Arg(f"{word.text}/.") for word in sources]
    from lockgate.shell.effects.copies import CopyMode

    taken = call.entry.operands[0].removesuffix("...") if call.entry.operands else ""
    how = CopyMode(call.recursive or taken in ("move", "read-below"), taken == "move", taken == "link")
    for word in words:
        call.own += files.write_into(word, sources, call.machine, call.scope, how)
        if "--parents" in call.matched.given:
            for source in sources:
                inside = Arg(f"{word.text}/{source.text}", source.glob)
                call.own += files.write(inside, call.machine, call.scope)


def move(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files are read, and gone afterwards."""
    read(call, words, option)
    for word in words:
        call.own += files.change(word, call.machine, call.scope, below=True)


def apply_link(call: ProgramCall, words: list[Arg], _: str) -> None:
    """What a link names can be read and written through it; a relative name starts where the link lies."""
    if call.recursive:  # a tree of links is as good as its copy
        read(call, words, "")
    places = [word.text for word in call.matched.operands if word not in words]
    for word in words:
        starts = [""] if word.text.startswith("/") else ["", *(f"{p}/" for p in places), *(f"{p}/../" for p in places)]
        for start in starts:
            target = Arg(f"{start}{word.text}", word.glob)
            call.own += files.read(target, call.machine, call.scope)
            call.own += files.write(target, call.machine, call.scope, below=True)


def delete(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Files are removed; whole trees where the recursive option is given."""
    from lockgate.shell.effects import removal

    for word in words:
        # A pattern that stands for nothing is left as it is: others than ``rm`` may look for it in their own way.
        if word.names == () and lookup.family(call.entry) == "files":
            continue
        call.own += removal.delete(word, call.machine, call.scope, below=call.recursive)


def apply_recursive(call: ProgramCall, _words: list[Arg], _: str) -> None:
    """The option that makes it whole trees."""
    call.recursive = True


def delete_found(call: ProgramCall, _words: list[Arg], _: str) -> None:
    """``find -delete``: what it finds is below the folders, and named like the patterns before it."""
    from lockgate.shell.effects import removal
    from lockgate.shell.programs import find_expression

    names = find_expression.names([arg.text for arg in call.args[1:]], call.entry.options, find_expression.DELETE)
    roots = [word for word in call.matched.operands if word.text not in ("!", "(", ")", ",")]
    for root in roots or [Arg(".")]:
        if names is None:
            call.own += removal.delete(root, call.machine, call.scope, below=True)
        # Where there is nothing in it, nothing is lost.
        named = [name for name in names or () if name != find_expression.EMPTY]
        for found in (f"{root.text.rstrip('/')}/{place}{name}" for name in named for place in ("", f"{PLAIN}/")):
            call.own += removal.delete(Arg(found, glob=True), call.machine, call.scope, below=False)


def apply_cwd(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The folder in which all else happens."""
    call.scope = call.scope.copy()
    for word in words:
        folders = [folder_after_cd(cwd, word.text) if word.static is not None else "" for cwd in call.scope.cwds]
        call.scope.cwds = tuple(dict.fromkeys(folders))


def apply_paged(call: ProgramCall, words: list[Arg], option: str) -> None:
    """What a pager shows; after ``+`` stand keys that it is given, and some of them run a command or write a file."""
    for word in words:
        if not word.text.startswith("+"):
            read(call, [word], option)
        elif not _KEYS.fullmatch(word.text):
            call.add_opaque(f"`{word.shown}` are keys for `{call.what}`, and they can run a command")


def apply_archive(call: ProgramCall, words: list[Arg], option: str) -> None:
    """An archive that is written or read: ``host:path`` lies on another machine, to which ``ssh`` connects."""
    from lockgate.shell.programs.roles.addresses import apply_host

    # It is opened before the program goes to the folder that an option names.
    inner, call.scope = call.scope, call.started
    write(call, words, option)
    call.scope = inner
    for word in words:
        place, colon, _ = word.text.partition(":")
        if colon and "/" not in place and "--force-local" not in call.matched.given:
            apply_host(call, [Arg(place)], option)


FUNCTIONS: dict[str, Role] = {
    "name": apply_name,
    "look": look,
    "unpack": unpack,
    "folder": apply_folder,
    "prefix": apply_prefix,
    "name-end": apply_name_end,
    "backup": apply_backup,
    "packed": apply_packed,
    "read": read,
    "read-below": read_below,
    "read-but": read,
    "read-below-but": read_below,
    "paged": apply_paged,
    "archive": apply_archive,
    "write": write,
    "edit": edit,
    "edit-below": edit_below,
    "into": apply_into,
    "move": move,
    "link": apply_link,
    "delete": delete,
    "recursive": apply_recursive,
    "cwd": apply_cwd,
    "delete-found": delete_found,
    "write-first": write_first,
}
"""The function that applies each role."""
