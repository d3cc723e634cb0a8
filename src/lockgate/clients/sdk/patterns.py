"""The pattern library for programs: loads one, and checks a call or a result with it.

::

    from lockgate.clients.sdk.patterns import PatternLibrary, validate_tool_input, validate_tool_output

    patterns = PatternLibrary.of_files("patterns.yaml")  # what is shipped, and this file over it
    result = validate_tool_input("Bash", {"command": command}, patterns)
    if result.decision == "block":
        raise PermissionError(result.reason)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from lockgate.configuration.layers.files import read_file
from lockgate.configuration.pattern_library.layers import read_shipped_layer
from lockgate.configuration.pattern_library.opening import ProcessorTime
from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError
from lockgate.core.model import ToolCall
from lockgate.patterns.engine.compiling import compile_library
from lockgate.patterns.engine.matcher import Matcher
from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import Field, fields_of
from lockgate.patterns.library.merging import MODES, PatternLayer, merge
from lockgate.patterns.model import GuardrailResult, Mode, Side
from lockgate.patterns.redaction.spans import redact
from lockgate.system.libraries import library

__all__ = ["PatternLibrary", "validate_tool_input", "validate_tool_output"]

_KEY = b"lockgate.guardrails.api"


class PatternLibrary:
    """Patterns, compiled. To make one takes about two seconds; one serves a process and all its threads."""

    def __init__(self, matcher: Matcher, key: bytes, undecided: Collection[str]) -> None:
        """Use :meth:`of_files`."""
        self._matcher = matcher
        self._key = key
        self._undecided = undecided
        """The groups for which no file says a mode."""
        self._scanners: dict[str, Scanner] = {}

    @classmethod
    def of_files(cls, *files: str, key: bytes = _KEY) -> PatternLibrary:
        """What Lockgate ships, and over it each file, the last one strongest.

        Args:
            files: Pattern files, YAML or JSON. They are trusted: they may loosen what is shipped.
            key: Keys the fingerprints of what is found. With a secret of one's own nobody else can compare them.

        Raises:
            ConfigError: A file is missing or not valid; file, line and key are known.
        """
        from lockgate.patterns.library.linking import link

        state = merge([read_shipped_layer(), *map(_layer_of, files)])
        if state.problems:
            raise state.problems[0]
        undecided = frozenset(name for name, group in state.groups.items() if "mode" not in group.keys)
        hyperscan, re2 = library("hyperscan"), library("re2")
        artefact = compile_library(link(state).library, hyperscan)
        return cls(Matcher(artefact, hyperscan, lambda: re2), key, undecided)

    def scanner(self, mode: str) -> Scanner:
        """Give what looks at texts, with a mode for the groups that have none.

        Raises:
            ValueError: There is no such mode.
        """
        found = self._scanners.get(mode)
        if found is None:
            if mode not in MODES:
                raise ValueError(f"there is no mode `{visible(mode, 40)}`: say one of {', '.join(MODES)}")
            modes = dict.fromkeys(self._undecided, Mode[mode.upper()])
            found = self._scanners[mode] = Scanner(self._matcher, ProcessorTime(), self._key, modes=modes)
        return found


def _layer_of(file: str) -> PatternLayer:
    from lockgate.patterns.library.loading import load, real_checks

    data = read_file(file)
    if data is None:
        raise ConfigError(file, 0, "", "there is no such file")
    loaded = load(data, file, real_checks())
    if loaded.document is None:
        raise loaded.problems[0]
    return PatternLayer(file, file, loaded.document)


def validate_tool_input(
    tool_name: str,
    tool_input: Mapping[str, Any],
    patterns: PatternLibrary,
    timeout_ms: float | None = None,
    mode: str = "warn",
    *,
    agent: str = "",
) -> GuardrailResult:
    """Hold a tool's input against the library.

    Args:
        tool_name: The tool's name, for ``tool_rules`` and ``applies_to``.
        tool_input: Any JSON; every string in it is looked at, and what is encoded in it.
        patterns: The library.
        timeout_ms: Milliseconds of processor time for each group, instead of its own.
        mode: ``block``, ``ask``, ``warn`` or ``off``: the mode of the groups for which no file says one.
        agent: The agent's type, for ``applies_to``.

    Raises:
        ValueError: There is no such mode.
    """
    spawns = ToolCall(tool_name, tool_input).spawns
    request = CheckRequest(Side.INPUT, tool_name, agent, timeout_ms, spawns=spawns)
    return patterns.scanner(mode).check(fields_of(tool_input), request)


def validate_tool_output(
    tool_name: str,
    text: str,
    patterns: PatternLibrary,
    timeout_ms: float | None = None,
    mode: str = "warn",
    *,
    agent: str = "",
) -> tuple[GuardrailResult, str]:
    """Hold what a tool gave back against the library; also gives the text without what must be taken out of it.

    Where the result's decision is ``block``, the text must be withheld whole. The arguments are those of
    :func:`validate_tool_input`.
    """
    request = CheckRequest(Side.OUTPUT, tool_name, agent, timeout_ms)
    result = patterns.scanner(mode).check([Field("", "", text)], request)
    return result, redact(text, result.pattern_matches)
