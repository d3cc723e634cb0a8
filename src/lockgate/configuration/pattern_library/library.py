"""Checks calls and results with this machine's pattern library, which is loaded at the first question."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from lockgate.core.events import Context
from lockgate.core.model import ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.model import GuardrailResult, Side
from lockgate.system import caller
from lockgate.system.folders import Folders

if TYPE_CHECKING:
    from lockgate.configuration.pattern_library.opening import OpenedLibrary
    from lockgate.patterns.engine.scanner import Scanner
    from lockgate.patterns.fields import Field
    from lockgate.store.protocol import Store
    from lockgate.system.ttl_cache import TtlCache


_PREPARING = 0.3
"""Seconds that the start of a session may wait: enough where nothing is to be compiled."""
_KEPT = 64
"""Workspaces and environments whose library is kept open."""


class PatternGuard:
    """Scanners by workspace. A hook, which lives for one event, opens one at most."""

    def __init__(
        self, store: Store, where: Folders, seconds: float, *, own_files: bool = True, cache: TtlCache | None = None
    ) -> None:
        """Open nothing yet.

        Args:
            store: The state.
            where: The folders.
            seconds: How long loading may take, where the library must be compiled first.
            own_files: Whether the files that calls name are this machine's, where a known secret may have its place.
            cache: For how long a library that is open holds, before it is looked at again: whether its files, or the
                secrets of this machine, have changed. By default as long as this lives.
        """
        self._store = store
        self._where = where
        self._seconds = seconds
        self._own_files = own_files
        self._cache = cache
        self._open: dict[tuple[str, int], tuple[float, OpenedLibrary]] = {}

    def check_input(self, context: Context, call: ToolCall) -> GuardrailResult:
        """Check all texts in a tool's input.

        Raises:
            PatternError: The library cannot be loaded.
            StoreError: The state cannot be read.
        """
        # By its whole name: docs/architecture.md, "The hot path".
        import lockgate.patterns.fields as fields

        result = self._check(context, call, Side.INPUT, list(fields.fields_of(call.tool_input)))
        if not result.pattern_matches or not self._own_files:
            return result
        if not any(match.detail for match in result.pattern_matches):
            return result

        from lockgate.configuration.known_secrets.collect import SearchScope
        from lockgate.configuration.known_secrets.own_file import excuse_own_values

        return excuse_own_values(result, call, SearchScope(self._where.home, context.workspace, caller.environ()))

    def check_output(
        self, context: Context, call: ToolCall, texts: Sequence[tuple[str, str]]
    ) -> tuple[GuardrailResult, Mapping[str, str]]:
        """Check texts of a result; also gives, by path, each text that changes when what must go is taken out.

        Raises:
            PatternError: The library cannot be loaded.
            StoreError: The state cannot be read.
        """
        import lockgate.patterns.fields as fields

        found = [fields.Field(path, _name(path), text) for path, text in texts]
        result = self._check(context, call, Side.OUTPUT, found)
        if not any(match.redact for match in result.pattern_matches):
            return result, {}
        from lockgate.patterns.redaction.spans import redact_all

        return result, redact_all(texts, result.pattern_matches)

    def prepare(self, context: Context) -> Sequence[Exception]:
        """Have another process compile the library of a workspace, unless that was done already.

        Returns:
            What is wrong with pattern files, where it is compiled already.
        """
        from lockgate.configuration.pattern_library.cache import problems_of
        from lockgate.configuration.pattern_library.compiled import load
        from lockgate.core.errors import LockgateError

        where = (self._store, self._where, context.workspace)
        try:
            found = problems_of(*where)
            return load(*where, seconds=_PREPARING).problems if found is None else found
        except (ImportError, LockgateError):
            return ()  # most often it is being compiled; the first call will say what is wrong, and be refused

    def _check(self, context: Context, call: ToolCall, side: Side, fields: Sequence[Field]) -> GuardrailResult:
        if not fields:
            return GuardrailResult()
        import lockgate.patterns.engine.request as request

        wanted = request.CheckRequest(side, call.tool, context.agent_type, spawns=call.spawns)
        return self._scanner(context).check(fields, wanted)

    def _scanner(self, context: Context) -> Scanner:
        # An environment can hold secrets of its own.
        name = (context.workspace, caller.mark())
        now = time.monotonic()
        at, opened = self._open.get(name, (0.0, None))
        if opened is None or not (self._cache is None or self._cache.holds(at, now)):
            opened = self._open_library(context, opened)
            if len(self._open) >= _KEPT:
                self._open.clear()
            self._open[name] = (now, opened)
        return opened.scanner

    def _open_library(self, context: Context, before: OpenedLibrary | None) -> OpenedLibrary:
        from lockgate.configuration.pattern_library.opening import open_library, refresh

        where = (self._store, self._where, context.workspace, self._seconds)
        opened = open_library(*where) if before is None else refresh(before, *where)
        if opened.news:
            from lockgate.store.audit import record

            with self._store.transaction() as tx:
                tx.append_audit(
                    self._store.clock(), record.event_record(context, "patterns", {"notes": list(opened.news)})
                )
        return opened


def _name(path: str) -> str:
    """The name of the field that a text of a result stands in."""
    return path.rpartition(".")[2].partition("[")[0]
