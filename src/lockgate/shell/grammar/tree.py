"""Defines the syntax tree that the shell reader makes: what bash would run, with quoting resolved.

A tree holds every command that could run, also inside words; what the reader cannot read exactly is not in a tree but
is an :class:`Unparsed`.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self, dataclass_transform

    @dataclass_transform(frozen_default=True)
    class _NodeType(type):
        """Nodes are named tuples when they run, and plain classes when they are checked.

        A checker compares tuples by their items; with trees of tuples that takes it exponential time.
        """

    class Node(metaclass=_NodeType):
        """Base of all nodes."""

        def _replace(self, **changes: object) -> Self: ...

else:
    Node = Record


class Unparsed(Node):
    """Text that is not in the subset that is read exactly."""

    reason: str
    """Lower case, no final period: ``line continuation inside a word``."""
    position: int
    """0-based index of the character where it was found."""
    hint: str = ""
    """How to write it readably, where that is known."""


# ---------------------------------------------------------------- words


class Literal(Node):
    """Characters that stand for themselves, quotes and escapes already resolved."""

    text: str
    quoted: bool = False
    """Whether they were quoted or escaped: then no tilde, glob or brace in them is special."""


class Tilde(Node):
    """An unquoted ``~`` or ``~user`` at the start of a word (or of a path in an assignment)."""

    user: str = ""


class Glob(Node):
    """Unquoted characters of a file name pattern: ``*``, ``?`` or a whole ``[...]``."""

    text: str


class Word(Node):
    """One word of a command, before expansion."""

    parts: tuple[Part, ...]
    position: int = 0

    @property
    def literal(self) -> str | None:
        """The word's text where it is wholly literal (no expansion, tilde, glob or brace), else ``None``."""
        text = ""
        for part in self.parts:
            if not isinstance(part, Literal):
                return None
            text += part.text
        return text


class Script(Node):
    """Commands in order. ``background`` tells, for each, whether ``&`` ended it."""

    commands: tuple[Command, ...] = ()
    background: tuple[bool, ...] = ()


class Braces(Node):
    """An unquoted brace expansion; each alternative is a whole word. A sequence (``{1..9}``) is expanded if small.

    A word that comes out empty, with nothing quoted in it, is dropped by the shell: ``{c1,}`` runs ``c1`` alone.
    """

    alternatives: tuple[Word, ...]
    elided: bool = False
    """Whether this is a long sequence (``{1..9999}``) of which only the first and the last element are kept."""


class Param(Node):
    """A parameter expansion.

    ``$x`` has an empty ``operator``. ``${x:-word}`` has operator ``:-`` and one argument. ``${#x}`` has operator
    ``#length``, ``${!x}`` has ``!indirect`` (with the arguments of a further operator, if any), ``${!x@}`` has
    ``!names``, ``${!x[@]}`` has ``!keys``, ``${x@P}`` has ``@P``; ``${x:1:2}`` has ``:`` and two arguments;
    ``${x/a/b}`` has ``/`` and two.
    """

    name: str
    operator: str = ""
    arguments: tuple[Word, ...] = ()
    subscript: Word | None = None
    quoted: bool = False


class CommandSub(Node):
    """``$(...)`` or backquotes."""

    script: Script
    quoted: bool = False


class ProcessSub(Node):
    """``<(...)`` or ``>(...)``; ``direction`` is ``<`` or ``>``."""

    script: Script
    direction: str


class Arith(Node):
    """``$((...))``: the expansions inside, in order, literal text between them."""

    parts: tuple[Part, ...]
    quoted: bool = False


Part = Literal | Tilde | Glob | Braces | Param | CommandSub | ProcessSub | Arith


# ---------------------------------------------------------------- commands


class Redirect(Node):
    """One redirection. ``operator`` is one of ``< > >> >| <> <& >& &> &>> << <<- <<<``.

    ``fd`` is the number or ``{name}`` before it, empty where none is written. For here-documents ``target`` is the body
    (literal where the delimiter was quoted); for ``<<<`` the word.
    """

    operator: str
    target: Word
    fd: str = ""


class Assignment(Node):
    """``name=value``, ``name+=value``, ``name[sub]=value`` or ``name=(...)`` (then ``elements`` is not ``None``)."""

    name: str
    value: Word
    append: bool = False
    subscript: Word | None = None
    elements: tuple[Word, ...] | None = None


class Simple(Node):
    """A simple command. ``words`` may be empty (only assignments or redirections)."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    position: int = 0


class Pipeline(Node):
    """``a | b``; with one command where it only carries ``!`` or ``time``."""

    commands: tuple[Command, ...]
    negated: bool = False
    timed: bool = False


class AndOr(Node):
    """``a && b || c``: ``operators`` stand between ``commands``."""

    commands: tuple[Command, ...]
    operators: tuple[str, ...]


class Group(Node):
    """``{ ...; }`` or ``( ... )`` (then ``subshell``)."""

    body: Script
    subshell: bool = False
    redirects: tuple[Redirect, ...] = ()


class If(Node):
    """``if``/``elif``/``else``: ``branches`` are (condition, body) pairs."""

    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script | None = None
    redirects: tuple[Redirect, ...] = ()


class While(Node):
    """``while`` or ``until``."""

    condition: Script
    body: Script
    until: bool = False
    redirects: tuple[Redirect, ...] = ()


class For(Node):
    """``for name in words`` or ``select``; ``words`` is ``None`` where ``in`` is missing."""

    name: str
    words: tuple[Word, ...] | None
    body: Script
    select: bool = False
    redirects: tuple[Redirect, ...] = ()


class ArithFor(Node):
    """``for ((a; b; c))``."""

    header: Arith
    body: Script
    redirects: tuple[Redirect, ...] = ()


class Case(Node):
    """``case``: ``clauses`` are (patterns, body) pairs."""

    subject: Word
    clauses: tuple[tuple[tuple[Word, ...], Script], ...]
    redirects: tuple[Redirect, ...] = ()


class Function(Node):
    """A function definition; the body runs when ``name`` is called."""

    name: str
    body: Command
    redirects: tuple[Redirect, ...] = ()


class Condition(Node):
    """``[[ ... ]]``: its words and operators in order, operators as literal words."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


class ArithCommand(Node):
    """``((...))``."""

    expression: Arith
    redirects: tuple[Redirect, ...] = ()


class Coproc(Node):
    """``coproc [name] command``."""

    body: Command
    name: str = ""


Command = (
    Simple
    | Pipeline
    | AndOr
    | Group
    | If
    | While
    | For
    | ArithFor
    | Case
    | Function
    | Condition
    | ArithCommand
    | Coproc
)


# ---------------------------------------------------------------- finding commands
class FoundCommand(Node):
    """A simple command, and what it stands in."""

    command: Simple
    inside: tuple[str, ...]
    """Names of the syntax tree's types around it, outermost first: ``("Script", "Pipeline")``."""


def walk(tree: tuple[object, ...]) -> Iterator[Simple]:
    """Yield every simple command of a tree (or of any part of one) in the order of the text.

    Also those inside words, here-documents, arithmetic, conditions and function bodies. A command comes before those
    in its own words.
    """
    stack: list[tuple[object, ...]] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Simple):
            yield node
        stack += [child for child in reversed(node) if isinstance(child, tuple)]


def commands(tree: tuple[object, ...]) -> Iterator[FoundCommand]:
    """Yield every simple command of a tree with the kinds of nodes around it."""
    stack: list[tuple[tuple[object, ...], tuple[str, ...]]] = [(tree, ())]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, Simple):
            yield FoundCommand(node, inside)
        around = inside if type(node) is tuple else (*inside, type(node).__name__)
        stack += [(child, around) for child in reversed(node) if isinstance(child, tuple)]
