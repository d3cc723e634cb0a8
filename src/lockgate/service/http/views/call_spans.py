"""Cuts a call into pieces with their effects, so that a page can mark them without counting.

It is for a person's eye, and decides nothing. What cannot be placed is marked nowhere, and is in the list of effects.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from lockgate.configuration.load import find_workspace, load_for_cli
from lockgate.core.record import TYPE_CHECKING
from lockgate.service.http.schemas.calls import Call, CallField, EffectShown, Piece
from lockgate.shell.grammar.tree import Simple
from lockgate.system.folders import Folders

if TYPE_CHECKING:
    from lockgate.shell.report.outline import CommandStep

_COMMAND = "command"
_LEAST = 3
"""Characters of an argument that is looked for in an effect: a shorter one stands everywhere."""
_LONGEST = 200_000
"""Characters of an argument up to which it is marked."""
_ENDS = frozenset(" \t\n;&|()<>")
"""Characters that end a word of a command where they are not quoted."""


class EffectSpan(NamedTuple):
    """A part of a text that has an effect."""

    start: int
    end: int
    effect: int


def mark_effects(
    where: Folders, tool: str, given: Mapping[str, Any], cwd: str, effects: Sequence[EffectShown], *, whole: bool
) -> Call:
    """A call, with the parts that have effects marked.

    Args:
        where: The folders.
        tool: The tool's name.
        given: Its arguments.
        cwd: The folder that the call is made in.
        effects: What it can do; the pieces name these by their index.
        whole: Whether nothing is left out of the arguments.
    """
    fields = []
    for name, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)
        spans: Iterable[EffectSpan] = ()
        if len(text) <= _LONGEST and tool != "Bash":
            spans = _spans_in_argument(text, effects)
        elif len(text) <= _LONGEST and name == _COMMAND:  # what an agent says about its command has no effect
            spans = _spans_in_command(where, text, cwd, effects)
        fields.append(CallField(name=name, pieces=_pieces(text, list(spans))))
    return Call(tool=tool, fields=fields, whole=whole)


def _pieces(text: str, spans: Sequence[EffectSpan]) -> list[Piece]:
    """A text cut wherever a span begins or ends."""
    bounds = sorted({0, len(text), *(span.start for span in spans), *(span.end for span in spans)})
    cuts = [at for at in bounds if 0 <= at <= len(text)]
    return [
        Piece(
            text=text[start:end],
            effects=sorted({span.effect for span in spans if span.start <= start and end <= span.end}),
        )
        for start, end in pairwise(cuts)
    ]


def _spans_in_argument(text: str, effects: Sequence[EffectShown]) -> Iterator[EffectSpan]:
    """Where what an effect is about stands in an argument; all of it where it is a part of what the effect is about."""
    for index, effect in enumerate(effects):
        start = text.find(effect.what) if effect.what else -1
        if start >= 0:
            yield EffectSpan(start, start + len(effect.what), index)
        elif len(text) >= _LEAST and text in effect.what:
            yield EffectSpan(0, len(text), index)


# -- commands


def _spans_in_command(where: Folders, text: str, cwd: str, effects: Sequence[EffectShown]) -> Iterator[EffectSpan]:
    """The simple commands that have effects, by the same analysis that decides."""
    if not effects:
        return
    steps = list(_outermost(_outline(where, text, cwd)))
    if not steps:  # it cannot be read, so that all of it may be meant
        yield from (EffectSpan(0, len(text), index) for index in range(len(effects)))
    for step in steps:
        node = step.node
        if not isinstance(node, Simple) or not _begins(text, node):
            continue
        span = (node.position, _end(text, node))
        found = {*step.effects, *(effect for below in step.below() for effect in below.effects)}
        for index, effect in enumerate(effects):
            if any((one.row, one.rule) == (effect.row, effect.rule) for one in found):
                yield EffectSpan(*span, index)


def _outline(where: Folders, text: str, cwd: str) -> CommandStep | None:
    from lockgate.gate.host.host_view import host_view_of
    from lockgate.shell.report.outline import outline

    folder = cwd if os.path.isdir(cwd) else where.home
    policy = load_for_cli(folder).policies[0]
    around = host_view_of(where, find_workspace(folder, where.home), "", policy.rules)
    return outline(text, cwd, around)


def _outermost(step: CommandStep | None) -> Iterator[CommandStep]:
    """The simple commands that are not part of another: what stands in those was perhaps read from another text."""
    for child in step.children.values() if step is not None else ():
        if isinstance(child.node, Simple):
            yield child
        else:
            yield from _outermost(child)


def _begins(text: str, node: Simple) -> bool:
    """Whether a command stands in this text where it says, and not in another that was run."""
    here = text[node.position :]
    if node.assignments:
        return here.startswith(node.assignments[0].name)
    if not node.words:
        return False
    literal = node.words[0].literal
    if literal is None:
        return node.words[0].position < len(text) and here[:1] in "$\"'`~\\*{["
    return here.startswith(literal) or here[:1] in "\"'\\$"


def _end(text: str, node: Simple) -> int:
    """Where a command's last word ends."""
    words = [*node.words, *(redirect.target for redirect in node.redirects)]
    words += [each.value for each in node.assignments if each.value is not None]
    last = max([node.position, *(word.position for word in words)])
    return _word_end(text, last)


def _word_end(text: str, at: int) -> int:
    """Where the word ends that begins here, by the shell's quotes and brackets."""
    depth, quote = 0, ""
    while at < len(text):
        character = text[at]
        if character == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"`":
            quote = character
        elif character == "(" and (depth or text[at - 1 : at] in "$<>"):
            depth += 1
        elif character == ")" and depth:
            depth -= 1
        elif character in _ENDS and not depth:
            break
        at += 1
    return min(at, len(text))
