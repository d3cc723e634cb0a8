"""Writes a tree as shell again, in short, for a person who reads what a command is made of."""

from __future__ import annotations

from lockgate.shell.grammar.tree import (
    AndOr,
    Arith,
    ArithCommand,
    ArithFor,
    Assignment,
    Braces,
    Case,
    Command,
    CommandSub,
    Condition,
    Coproc,
    For,
    Function,
    Glob,
    Group,
    If,
    Literal,
    Param,
    Part,
    Pipeline,
    ProcessSub,
    Redirect,
    Simple,
    Tilde,
    While,
    Word,
)

_SPECIAL = frozenset(" \t\n'\"\\$`|&;()<>*?[]{}~#!")
_BARE = frozenset({"[", "]", "{}", "!"})


def first_line(node: Command) -> str:
    """The first line of a command: whole where it is simple, its head where it holds other commands."""
    if isinstance(node, Simple):
        words = [*map(_assignment, node.assignments), *map(word, node.words), *map(_redirect, node.redirects)]
        return " ".join(words)
    return _head(node) + "".join(f" {_redirect(item)}" for item in getattr(node, "redirects", ()))


def _head(node: Command) -> str:
    if isinstance(node, Pipeline):
        return ("! " if node.negated else "") + ("time " if node.timed else "") + "pipeline"
    if isinstance(node, AndOr):
        return " ".join(dict.fromkeys(node.operators))
    if isinstance(node, Group):
        return "( ... )" if node.subshell else "{ ... }"
    if isinstance(node, If):
        return "if"
    if isinstance(node, While):
        return "until" if node.until else "while"
    if isinstance(node, For):
        words = "" if node.words is None else " in " + " ".join(map(word, node.words))
        return f"{'select' if node.select else 'for'} {node.name}{words}"
    if isinstance(node, ArithFor):
        return f"for (({_parts(node.header.parts)}))"
    if isinstance(node, Case):
        return f"case {word(node.subject)} in"
    if isinstance(node, Function):
        return f"function {node.name}"
    if isinstance(node, Condition):
        return f"[[ {' '.join(map(word, node.words))} ]]"
    if isinstance(node, ArithCommand):
        return f"(({_parts(node.expression.parts)}))"
    return f"coproc {node.name}".rstrip() if isinstance(node, Coproc) else type(node).__name__.lower()


def word(item: Word) -> str:
    """A word as it could be written."""
    literal = item.literal
    if literal is not None:
        plain = literal in _BARE or (literal and not _SPECIAL.intersection(literal))
        return literal if plain else _quote(literal)
    text = _parts(item.parts)
    return f'"{text}"' if any(mark in text for mark in " \t\n") and "$(" not in text else text


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _parts(parts: tuple[Part, ...]) -> str:
    return "".join(map(_part, parts))


def _part(part: Part) -> str:
    if isinstance(part, (Literal, Glob)):
        return part.text
    if isinstance(part, Tilde):
        return f"~{part.user}"
    if isinstance(part, Param):
        return _param(part)
    if isinstance(part, CommandSub):
        return "$(...)"
    if isinstance(part, ProcessSub):
        return f"{part.direction}(...)"
    if isinstance(part, Arith):
        return f"$(({_parts(part.parts)}))"
    return "{" + ",".join(map(word, part.alternatives)) + "}" if isinstance(part, Braces) else ""


def _param(part: Param) -> str:
    index = f"[{word(part.subscript)}]" if part.subscript is not None else ""
    if part.operator == "#length":
        return f"${{#{part.name}{index}}}"
    if part.operator.startswith("!"):
        return f"${{!{part.name}{index}}}"
    if not part.operator and not index:
        return f"${part.name}"
    joined = ("/" if part.operator.startswith("/") else ":").join(map(word, part.arguments))
    return f"${{{part.name}{index}{part.operator}{joined}}}"


def _assignment(item: Assignment) -> str:
    index = f"[{word(item.subscript)}]" if item.subscript is not None else ""
    value = word(item.value) if item.elements is None else f"({' '.join(map(word, item.elements))})"
    return f"{item.name}{index}{'+' if item.append else ''}={'' if value == _quote('') else value}"


def _redirect(item: Redirect) -> str:
    if item.operator in ("<<", "<<-"):
        return f"{item.fd}{item.operator} ..."
    space = " " if item.operator not in ("<&", ">&") else ""
    return f"{item.fd}{item.operator}{space}{word(item.target)}"
