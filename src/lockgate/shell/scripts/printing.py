"""Tells whether a script prints what it fetches. Only then it can come into the agent's context.

On the command line this is not asked, because there the agent chooses what is printed; a script was written before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lockgate.core.model import Effect, EffectKind, Label
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.tree import Pipeline, Redirect, Simple
from lockgate.shell.knowledge.options import Option

if TYPE_CHECKING:
    from typing import Any

    from lockgate.shell.knowledge.call import ProgramCall

_UNPACKING = frozenset({"tar", "bsdtar", "unzip", "cpio", "sh", "bash", "zsh", "dash", "python", "python3", "node"})
"""Programs that make files of what they read, or run it, and do not print it."""
_RUNNING = frozenset({"sudo", "doas", "command", "exec"})
"""Words before the program's own name."""
_SHOWN = ("-", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2")
_INSTALLING = frozenset({EffectKind.FETCH, EffectKind.INGEST, EffectKind.EXECUTE})


def saves(call: ProgramCall, options: list[Option]) -> bool:
    """Whether a program that fetches writes all of it to files."""
    saving = [option for option in options if option.name in call.entry.saves]
    if any(value.text in _SHOWN for option in options for value in option.value):
        return False
    return "saved..." in call.entry.operands or (bool(saving) and len(saving) >= len(call.contact.targets))


def drop_unprinted(effects: Iterable[Effect]) -> list[Effect]:
    """Effects of a command of whose result nothing is printed that others wrote."""
    return [effect._replace(gives=None) if effect.gives is Label.UNTRUSTED else effect for effect in effects]


def installs(own: Iterable[Effect]) -> bool:
    """Whether a command installs: it prints how far it is, and not what it has fetched."""
    kinds: dict[str, set[EffectKind]] = {}
    for effect in own:
        kinds.setdefault(effect.rule, set()).add(effect.kind)
    return any(found >= _INSTALLING for found in kinds.values())


def find_swallowed(tree: Any) -> Iterator[Simple]:
    """The simple commands of a tree whose output goes to a file, or to a program that does not print it."""
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Simple) and _goes_to_file(node):
            yield node
        elif isinstance(node, Pipeline) and len(node.commands) > 1 and _swallows(node.commands[-1]):
            yield from (command for command in node.commands[:-1] if isinstance(command, Simple))
        stack += [child for child in node if isinstance(child, tuple)]


def _goes_to_file(node: Simple) -> bool:
    return any(map(_takes_output, node.redirects))


def _takes_output(redirect: Redirect) -> bool:
    target = redirect.target.literal
    if redirect.fd not in ("", "1") or redirect.operator not in (">", ">>", ">|", "&>", "&>>"):
        return False
    return target is None or target not in _SHOWN


def _swallows(node: object) -> bool:
    if not isinstance(node, Simple) or not node.words:
        return False
    names = ((word.literal or "").rpartition("/")[2] for word in node.words)
    return next((name for name in names if name not in _RUNNING), "") in _UNPACKING or _goes_to_file(node)
