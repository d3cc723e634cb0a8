"""Which words begin a compound command stands beside the reserved words, so that the reader of others need not load."""

from __future__ import annotations

from lockgate.shell.grammar.compound import _READERS
from lockgate.shell.grammar.keywords import COMPOUND


def test_each_word_that_begins_a_compound_command_has_a_reader() -> None:
    assert _READERS.keys() == COMPOUND
