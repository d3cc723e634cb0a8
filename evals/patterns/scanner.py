"""The shipped library, ready to scan, without the state of this machine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import re2

from lockgate.configuration.pattern_library.cache import beside_path, read_artefact
from lockgate.configuration.pattern_library.compile import artefact_name, compile_artefact
from lockgate.configuration.pattern_library.layers import gather
from lockgate.configuration.pattern_library.opening import ProcessorTime
from lockgate.patterns.engine.matcher import Matcher
from lockgate.patterns.engine.scanner import Scanner

KEY = bytes(32)


def open_scanner() -> Scanner:
    """The scanner of the shipped library; compiles it where ``make library`` has not."""
    library = gather(None, ()).linked.library
    data = read_artefact(beside_path(artefact_name(library))) or compile_artefact(library)
    hyperscan: Any = import_module("hyperscan._hs_ext")
    return Scanner(Matcher(data, hyperscan, lambda: re2), ProcessorTime(), KEY)
