"""The pattern library for programs: a library, and two functions that hold a call, or what came of it, against it.

::

    from lockgate.clients.sdk.patterns import PatternLibrary, validate_tool_input, validate_tool_output

    patterns = PatternLibrary.of_files("patterns.yaml")  # what is shipped, and this file over it
    result = validate_tool_input("Bash", {"command": command}, patterns)
    if result.decision == "block":
        raise PermissionError(result.reason)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lockgate.configuration.layers.files import read_file
from lockgate.configuration.pattern_library.layers import shipped_layer
from lockgate.configuration.pattern_library.opening import ProcessorTime
from lockgate.core.errors import ConfigError
from lockgate.patterns.engine.compiling import compile_library
from lockgate.patterns.engine.matcher import Matcher
from lockgate.patterns.engine.request import Request
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import Field, fields_of
from lockgate.patterns.model import GuardrailResult, Side
from lockgate.patterns.redaction.spans import redact
from lockgate.system.libraries import library

__all__ = ["PatternLibrary", "validate_tool_input", "validate_tool_output"]

_KEY = b"lockgate.guardrails.api"


class PatternLibrary:
    """Patterns, compiled. To make one takes about two seconds; one serves a process and all its threads."""

    def __init__(self, scanner: Scanner) -> None:
        """Use :meth:`of_files`."""
        self.scanner = scanner

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
        from lockgate.patterns.library.loading import load, real_checks
        from lockgate.patterns.library.merging import Layer, merge

        layers = [shipped_layer()]
        for file in files:
            data = read_file(file)
            if data is None:
                raise ConfigError(file, 0, "", "there is no such file")
            loaded = load(data, file, real_checks())
            if loaded.document is None:
                raise loaded.problems[0]
            layers.append(Layer(file, file, loaded.document))
        state = merge(layers)
        if state.problems:
            raise state.problems[0]
        hyperscan, re2 = library("hyperscan"), library("re2")
        artefact = compile_library(link(state).library, hyperscan)
        return cls(Scanner(Matcher(artefact, hyperscan, lambda: re2), ProcessorTime(), key))


def validate_tool_input(
    tool_name: str,
    tool_input: Mapping[str, Any],
    patterns: PatternLibrary,
    timeout_ms: float | None = None,
    agent: str = "",
) -> GuardrailResult:
    """Hold a tool's input against the library.

    Args:
        tool_name: The tool's name, for ``tool_rules`` and ``applies_to``.
        tool_input: Any JSON; every string in it is looked at, and what is encoded in it.
        patterns: The library.
        timeout_ms: Milliseconds of processor time for each group, instead of its own.
        agent: The agent's type, for ``applies_to``.
    """
    request = Request(Side.INPUT, tool_name, agent, timeout_ms)
    return patterns.scanner.check(fields_of(tool_input), request)


def validate_tool_output(
    tool_name: str,
    text: str,
    patterns: PatternLibrary,
    timeout_ms: float | None = None,
    agent: str = "",
) -> tuple[GuardrailResult, str]:
    """Hold what a tool gave back against the library; also gives the text without what must be taken out of it.

    Where the result's decision is ``block``, the text must be withheld whole.
    """
    request = Request(Side.OUTPUT, tool_name, agent, timeout_ms)
    result = patterns.scanner.check([Field("", "", text)], request)
    return result, redact(text, result.pattern_matches)
