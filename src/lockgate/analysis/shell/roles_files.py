"""Roles of words that name files and folders."""

from __future__ import annotations

import posixpath

from lockgate.analysis.shell import files
from lockgate.analysis.shell.scope import Arg
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.analysis.shell.invoke import Invocation


def read(call: Invocation, words: list[Arg], _: str) -> None:
    """Files are read."""
    call.read_words += words
    for word in words:
        call.own += files.read(word, call.machine, call.scope, below=call.recursive)


def read_below(call: Invocation, words: list[Arg], _: str) -> None:
    """All that lies in folders is read."""
    call.read_words += words
    for word in words:
        call.own += files.read(word, call.machine, call.scope, below=True)


def name(call: Invocation, words: list[Arg], _: str) -> None:
    """Files are named and not read."""
    call.read_words += words


def write(call: Invocation, words: list[Arg], _: str) -> None:
    """Files are written."""
    for word in words:
        call.own += files.write(word, call.machine, call.scope)


def write_first(call: Invocation, words: list[Arg], option: str) -> None:
    """The first word is a file that is written."""
    write(call, words[:1], option)


def edit(call: Invocation, words: list[Arg], option: str) -> None:
    """Files are read and written."""
    read(call, words, option)
    write(call, words, option)


def into(call: Invocation, words: list[Arg], _: str) -> None:
    """The destination of a copy: a file, or a folder that takes the names of the sources."""
    sources = [word for word in call.matched.operands if word not in words]
    for word in words:
        call.own += files.write_into(word, sources, call.machine, call.scope)


def move(call: Invocation, words: list[Arg], option: str) -> None:
    """Files are read, and gone afterwards."""
    read(call, words, option)
    for word in words:
        call.own += files.write(word, call.machine, call.scope, below=True)


def link(call: Invocation, words: list[Arg], _: str) -> None:
    """What a link names can be read and written through it; a relative name starts where the link lies."""
    places = [word.text for word in call.matched.operands if word not in words]
    for word in words:
        starts = [""] if word.text.startswith("/") else ["", *(f"{p}/" for p in places), *(f"{p}/../" for p in places)]
        for start in starts:
            target = Arg(f"{start}{word.text}", word.glob)
            call.own += files.read(target, call.machine, call.scope)
            call.own += files.write(target, call.machine, call.scope, below=True)


def delete(call: Invocation, words: list[Arg], _: str) -> None:
    """Files are removed; whole trees where the recursive option is given."""
    for word in words:
        call.own += files.delete(word, call.machine, call.scope, below=call.recursive)


def recursive(call: Invocation, _words: list[Arg], _: str) -> None:
    """The option that makes it whole trees."""
    call.recursive = True


def delete_found(call: Invocation, _words: list[Arg], _: str) -> None:
    """``find -delete``: what it finds is below the folders, and named like the pattern."""
    names = [value for option in call.matched.options if option.name in ("-name", "-iname") for value in option.value]
    for root in call.matched.operands or [Arg(".")]:
        call.own += files.delete(root, call.machine, call.scope, below=not names)
        for name in names:
            found = Arg(f"{root.text.rstrip('/')}/{name.text}", glob=True)
            call.own += files.write(found, call.machine, call.scope)


def cwd(call: Invocation, words: list[Arg], _: str) -> None:
    """The folder in which all else happens."""
    call.scope = call.scope.copy()
    for word in words:
        folders = [_joined(cwd, word, call) for cwd in call.scope.cwds]
        call.scope.cwds = tuple(dict.fromkeys(folders))


def _joined(cwd: str, word: Arg, call: Invocation) -> str:
    text = word.text
    if word.static is None:
        return ""
    if text.startswith("/"):
        return posixpath.normpath(text)
    return posixpath.normpath(f"{cwd}/{text}") if cwd else ""
