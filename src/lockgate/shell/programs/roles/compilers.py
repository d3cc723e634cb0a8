"""Applies roles of words for compilers, assemblers and linkers."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.effects import files
from lockgate.shell.programs.roles.files import read
from lockgate.shell.state.abstract_text import OPAQUE, is_known
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role

_LINKING = """
    rpath rpath-link soname install_name z as-needed no-as-needed no-undefined gc-sections start-group end-group s S
    x E O1 O2
    whole-archive no-whole-archive strip-all strip-debug export-dynamic build-id Bstatic Bdynamic Bsymbolic dead_strip
    allow-shlib-undefined undefined fatal-warnings warn-common undefined-symbol enable-new-dtags relax noexecstack
    hash-style stack push-state pop-state lazy now relro defs
"""
_PASSED = frozenset(_LINKING.split())


def apply_passed(call: ProgramCall, words: list[Arg], option: str) -> None:
    """What a compiler hands on to a linker or an assembler: some options there load code or write files."""
    for word in words:
        for part in word.text.split(","):
            name = part.lstrip("-").partition("=")[0]
            if part.startswith("@") or (part.startswith("-") and name not in _PASSED) or not is_known(part):
                call.add_opaque(f"`{option}{word.shown}` can load code or write a file")
                return


_EMPTY = frozenset({"-", "/dev/null"})
_LINKED = (".o", ".a", ".so", ".lo", ".la", ".obj", ".lib", ".dylib", ".tbd")
"""Endings of what is only linked."""


def apply_compiled(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files that are compiled; ``@file`` holds more options, and a source names the files that it takes in."""
    read(call, words, option)
    if not all(word.text.endswith(_LINKED) or (word.text in _EMPTY and not call.stdin) for word in words):
        call.own += files.read(Arg(OPAQUE), call.machine, call.scope)
    for word in words:
        if word.text.startswith("@"):
            call.add_opaque(f"`{word.shown}` holds more options, and some run a program")


FUNCTIONS: dict[str, Role] = {
    "passed": apply_passed,
    "compiled": apply_compiled,
}
"""The function that applies each role."""
