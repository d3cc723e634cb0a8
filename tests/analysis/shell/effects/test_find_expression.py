"""Which files an action of ``find`` is for."""

import pytest

from lockgate.shell.knowledge import lookup as knowledge
from lockgate.shell.programs import find_expression

EMPTY = find_expression.EMPTY


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("-name a -delete", ("a",)),
        (r"-name k\e\y -delete", ("key",)),
        ("-name *.a -type f -mtime +7 -print -delete", ("*.a",)),
        ("-type d -name a -prune -o -name b -delete", ("b",)),
        ("( -name a -o -iname b ) -delete", ("a", "b")),
        ("-name a -o -name b -delete", ("b",)),
        ("-name a -delete -o -name b -delete", ("a", "b")),
        ("! ( ! -name a ) -delete", ("a",)),
        ("-name a , -name b -delete", ("b",)),
        ("-name a -name b -delete", ("a",)),
        ("-false -delete", ()),
        ("-empty -type d -delete", (EMPTY,)),
        ("-name a ! -empty -delete", ("a",)),
        ("-exec echo -delete ; -name a -delete", ("a",)),
        ("-fprintf x %p -name a -delete", ("a",)),
        ("-delete", None),
        ("-delete -name a", None),
        ("-delete -empty", None),
        ("! -name a -delete", None),
        ("-not -empty -delete", None),
        ("-name a -o -delete", None),
        ("-name a -o -name b -o -delete", None),
        ("( -name a -o -type f ) -delete", None),
        ("-name a , -delete", None),
        ("-name * -delete", None),
        ("-name [a-z]*.* -delete", None),
        ("-name a -delete , -delete", None),
        ("( -name a -delete", None),
        ("-name a ) -o -delete", None),
        ("( " * 100 + "-name a " + ") " * 100 + "-delete", None),
    ],
)
def test_what_is_deleted(expression, names):
    options = knowledge.lookup("find").options
    words = ["-L", "src", *expression.split()]
    assert find_expression.names(words, options, find_expression.DELETE) == names


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("-name a", ("a",)),
        ("-name a -o -name b", ("a", "b")),
        ("-name a -o -name b -print", ("b",)),
        ("-name a -exec echo {} +", ()),
        ("-type f", None),
        ("", None),
        ("-name a -o -type f", None),
    ],
)
def test_what_is_printed(expression, names):
    options = knowledge.lookup("find").options
    assert find_expression.names([".", *expression.split()], options, find_expression.PRINT) == names
