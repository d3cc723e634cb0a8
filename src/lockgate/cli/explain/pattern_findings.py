"""Checks an explained call with the pattern library, and masks the matches in what is printed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from lockgate.configuration.load import find_workspace
from lockgate.configuration.pattern_library.library import PatternGuard
from lockgate.core.errors import PatternError
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.core.questions import Objection
from lockgate.gate import Guard, Monitor
from lockgate.gate.monitor.masking import Mask
from lockgate.patterns.model import GuardrailDecision, GuardrailResult
from lockgate.patterns.redaction.credentials import redact
from lockgate.store.opening import open_existing, open_store
from lockgate.system.folders import folders

if TYPE_CHECKING:
    from lockgate.shell.report.outline import CommandStep

_COMPILING = 60.0
"""Seconds that the library may take where it is not compiled yet: a person waits for longer than a call."""


class PatternFindings(NamedTuple):
    """The matches in an explained call."""

    result: GuardrailResult = GuardrailResult()
    masks: Sequence[Mask] = ()

    @property
    def holds_secret(self) -> bool:
        """Whether the gate would label the session `secret` for this call, before it decides on it."""
        return self.result.found_secret

    def objections(self) -> list[Objection]:
        """What the library has against the call, in every state."""
        return [one._replace(reason=self.clean(one.reason)) for one in Monitor.objections(self.result)]

    def clean(self, text: str) -> str:
        """A text as the gate's records have it: without what was found, and without other credentials."""
        marks = [mark for mask in self.masks for _, mark in mask.values]
        if not marks:
            return redact(text)
        for mask in self.masks:
            text = mask.text(text)
        parts = re.split(f"({'|'.join(map(re.escape, marks))})", text)
        return "".join(part if part in marks else redact(part) for part in parts)


Check = Callable[[ToolCall, Callable[[], "CommandStep | None"]], PatternFindings]
"""Asks the library about a call. The command's tree holds words as the shell makes them: it is asked for where
something was found."""


@contextmanager
def open_check() -> Iterator[Check]:
    """The gate's own check of a call. Where nothing was recorded yet, it uses a state that is gone afterwards.

    Raises:
        StoreError: The state cannot be read.
    """
    where = folders()
    with ExitStack() as stack:
        store = open_existing(where.state)
        if store is None:
            from tempfile import TemporaryDirectory

            draft = stack.enter_context(TemporaryDirectory(prefix="lockgate-explain-"))
            where = where._replace(state=os.path.realpath(draft))
            store = open_store(where.state)
        stack.callback(store.close)
        guard = Guard(PatternGuard(store, where, _COMPILING).check_input)

        def check(call: ToolCall, outline: Callable[[], CommandStep | None]) -> PatternFindings:
            workspace = find_workspace(call.cwd, where.home) if os.path.isdir(call.cwd) else call.cwd
            return _find(guard, Context("lockgate", Subject("explain"), call.cwd, workspace), call, outline)

        yield check


def _find(guard: Guard, context: Context, call: ToolCall, outline: Callable[[], CommandStep | None]) -> PatternFindings:
    try:
        result, mask = Monitor.find_in_call(guard, context, call, json.dumps(dict(call.tool_input), default=str))
        if not result.pattern_matches:
            return PatternFindings(result)
        words = call._replace(tool_input={"command": list(dict.fromkeys(_words(outline())))})
        _, of_words = Monitor.find_in_call(guard, context, words, "")
    except PatternError as error:  # the gate refuses the call, too
        return PatternFindings(
            GuardrailResult(GuardrailDecision.BLOCK, f"the pattern library cannot be asked: {error}")
        )
    return PatternFindings(result, (mask, of_words))


def _words(outline: CommandStep | None) -> Iterator[str]:
    """What a command's tree shows of it: words whose quotes are taken off, or that are put together."""
    for step in outline.below() if outline is not None else ():
        yield step.text
        for run in step.runs.values():
            yield from run.words
            yield from (use.text for use in run.uses)
