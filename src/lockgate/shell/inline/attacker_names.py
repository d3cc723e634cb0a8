"""Names that somebody could choose, in the text of a small program: whether one can be more there than a text.

``sed "s|a|$f|" y`` in a loop over files runs ``whoami`` for a file of the name ``b|e;1ewhoami``.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.state.abstract_text import ENVIRONMENT, PLAIN

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_BEGINS = lazy_re(rf"{ENVIRONMENT}|(?:^|[;{{}}\n])\s*{PLAIN}")
"""Where a name can be a command, and not only a text in one."""
_MARKS = lazy_re(rf"[^\w\s\\;{PLAIN}]")
"""What can end a text of sed: any sign does, where it begins it."""


def can_escape_literal(call: ProgramCall, language: str, text: str) -> bool:
    """Whether a chosen name can add commands to a program that is known but for it."""
    if not call.machine.names.chosen or (PLAIN not in text and ENVIRONMENT not in text):
        return False
    # All that ends a text of these can stand in a name.
    return language != "sed" or _BEGINS.search(text) is not None or _sed_breaks_out(call, text)


def _sed_breaks_out(call: ProgramCall, text: str) -> bool:
    from lockgate.shell.inline.sed import RUNS, read_sed

    ends = {*_MARKS.findall(text), "\n"}
    if not call.machine.names.chosen_paths:
        ends.discard("/")
    # The first of two commands is for a pattern, the second for a text: `s|a|name|` needs one end, `s|name|b|` two.
    tries = [text.replace(PLAIN, f"x{more}p;1e;") for end in ends for more in (end, end + end)]
    return any(read_sed(each)[1] == RUNS for each in tries)
