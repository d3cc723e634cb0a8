"""Writes options into a program's entry: ``python evals/options/add.py 'git log' local '--graph --skip='``.

It edits the YAML file in place and leaves everything else as it is. What the entry has already is left out; another
meaning than the entry's is refused. Several edits come from standard input, one a line, with tabs between the three.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml
from listed import entry

from lockgate.shell.knowledge import lookup as knowledge
from lockgate.shell.knowledge.data import build

_NEEDS_QUOTES = frozenset(",[]{}:?#&*!|>'\"%@`")


class EditError(Exception):
    """An entry that is written in a way that this tool does not edit."""


def edited(text: str, command: tuple[str, ...], role: str, words: str) -> str:
    """The text of a family's file with more options in one entry."""
    root = yaml.compose(text)
    where = _value(root, "programs")
    for depth, word in enumerate(command):
        key, where = _named(where if depth == 0 else _value(where, "commands"), word)
        same = [key.value, *(also.value for also in [_value(where, "also")] if also is not None)]
        if len(names := " ".join(same).split()) > 1:
            sys.stderr.write(f"{' '.join(command)}: the entry is shared by {' '.join(names)}\n")
    if _value(where, "like") is not None and _value(where, "options") is None:
        raise EditError(f"{' '.join(command)}: it has its options from another (`like`)")
    at, inserted = _place(text, where, role, words)
    changed = text[: at[0]] + inserted + text[at[1] :]
    try:
        yaml.compose(changed)
    except yaml.YAMLError as error:
        raise EditError(f"{' '.join(command)}: this would not be YAML any more: {error}") from error
    return changed


def _place(text: str, where: Any, role: str, words: str) -> tuple[tuple[int, int], str]:
    """What is replaced by which text."""
    quoted = f'"{words}"' if _odd(words) else words
    options = _value(where, "options")
    start = where.start_mark.index
    if options is None:
        if where.flow_style:
            return (
                start + 1,
                start + 1,
            ), f"options: {{{role}: {quoted}}}, " if where.value else f"options: {{{role}: {quoted}}}"
        line = f"options: {{{role}: {quoted}}}\n{' ' * where.start_mark.column}"
        return (start, start), line
    key = next(key for key, _ in where.value if key.value == "options")
    behind = key.end_mark.index + 1
    behind += len(text[behind:]) - len(text[behind:].lstrip(" "))
    if text[behind] == "*":
        end = min(at for at in (text.find(sign, behind) for sign in "\n,} ") if at > 0)
        return (behind, end), f"[{text[behind:end]}, {{{role}: {quoted}}}]"
    if isinstance(options, yaml.SequenceNode) and not options.flow_style:
        at = options.start_mark
        return (at.index, at.index), f"- {{{role}: {quoted}}}\n{' ' * at.column}"
    if isinstance(options, yaml.SequenceNode):
        end = options.end_mark.index - 1
        return (end, end), f", {{{role}: {quoted}}}"
    scalar = _value(options, role)
    if scalar is None:
        if options.flow_style:
            at = text.index("{", options.start_mark.index) + 1  # behind an anchor
            return (at, at), f"{role}: {quoted}, "
        first = options.value[0][0].start_mark
        return (first.index, first.index), f"{role}: {quoted}\n{' ' * first.column}"
    return _into(text, options, scalar, role, words)


def _into(text: str, options: Any, scalar: Any, role: str, words: str) -> tuple[tuple[int, int], str]:
    at = scalar.start_mark.index
    if not options.start_mark.index <= at < options.end_mark.index or text[at] in "*&":
        raise EditError(f"the options with the role {role} come from elsewhere: add them by hand")
    if scalar.style in (">", "|"):
        at = text.index("\n", at) + 1
        at += len(text[at:]) - len(text[at:].lstrip(" "))
        return (at, at), f"{words} "
    if scalar.style in ("'", '"'):
        return (at + 1, at + 1), f"{words} "
    if not _odd(words):
        return (at, at), f"{words} "
    end = scalar.end_mark.index
    return (at, end), f'"{words} {" ".join(text[at:end].split())}"'


def _odd(words: str) -> bool:
    return not _NEEDS_QUOTES.isdisjoint(words.replace("=#", ""))


def _value(node: Any, key: str) -> Any:
    return next((value for name, value in node.value if name.value == key), None)


def _named(node: Any, word: str) -> tuple[Any, Any]:
    for key, value in node.value if node is not None else ():
        also = _value(value, "also") if isinstance(value, yaml.MappingNode) else None
        if word in key.value.split() or (also is not None and word in also.value.split()):
            return key, value
    raise EditError(f"no entry names {word}")


def add(command: tuple[str, ...], role: str, words: str) -> None:
    """Write options into the file of a program's family."""
    top, below = knowledge.lookup(command[0]), entry(command)
    if top is None or below is None:
        raise EditError(f"there is no entry {' '.join(command)}")
    new = []
    for word in dict.fromkeys(words.split()):
        (name, (_, count)), *others = build.options("", {role: word}, keyed=below.style == "dd").items()
        meaning = below.options.get(name)
        if others:  # -NUM
            new += [word] if name not in below.options else []
        elif meaning is None:
            new.append(word)
        elif (meaning[0].replace("either", "local"), meaning[1]) != (role.replace("text", "local"), count):
            sys.stderr.write(f"{' '.join(command)}: {name} is {meaning} there, not {role} {word}\n")
    if not new:
        return
    file = Path(build.FOLDER) / f"{knowledge.family(top)}.yaml"
    file.write_text(edited(file.read_text("utf-8"), command, role, " ".join(new)), "utf-8")


def main(argv: list[str]) -> int:
    """Edit; the exit status is 1 where something could not be written."""
    edits = [argv] if argv else [line.rstrip("\n").split("\t") for line in sys.stdin if line.strip() and line[0] != "#"]
    failed = False
    for command, role, words in edits:
        try:
            add(tuple(command.split()), role, words)
        except EditError as error:
            failed = True
            sys.stderr.write(f"{command}: {error}\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
