"""Random syntax trees, and how they are written down."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from lockgate.shell.grammar.tree import (
    AndOr,
    Arith,
    ArithCommand,
    ArithFor,
    Assignment,
    Braces,
    Case,
    CommandSub,
    Condition,
    Coproc,
    For,
    Function,
    Glob,
    Group,
    If,
    Literal,
    Param,
    Pipeline,
    ProcessSub,
    Redirect,
    Script,
    Simple,
    Tilde,
    While,
    Word,
)


def written(node: Any) -> str:
    """The text of a tree: every command on a line of its own, every quoted text in single quotes."""
    return _WRITERS[type(node)](node)


def normal(node: Any) -> Any:
    """The tree without positions, with neighbouring quoted texts joined: they can be written in many ways."""
    if not isinstance(node, tuple):
        return node
    if isinstance(node, Word):
        return Word(tuple(_merged(normal(node.parts))))
    children = [normal(child) for child in node]
    if type(node) is tuple:
        return tuple(children)
    whole = type(node)(*children)
    return whole._replace(position=0) if isinstance(whole, Simple) else whole


def _merged(parts: tuple[Any, ...]) -> list[Any]:
    result: list[Any] = []
    for part in parts:
        if (
            result
            and isinstance(part, Literal)
            and isinstance(result[-1], Literal)
            and part.quoted
            and result[-1].quoted
        ):
            result[-1] = Literal(result[-1].text + part.text, True)
        else:
            result.append(part)
    return result


def _joined(nodes: tuple[Any, ...], separator: str = "") -> str:
    return separator.join(written(node) for node in nodes)


def _redirects(node: Any) -> str:
    return "".join(" " + written(redirect) for redirect in node.redirects)


def _param(node: Param) -> str:
    operator = {"#length": "", "!indirect": "", "!names": "@", "!keys": ""}.get(node.operator, node.operator)
    prefix = {"#length": "#", "!indirect": "!", "!names": "!", "!keys": "!"}.get(node.operator, "")
    index = f"[{written(node.subscript)}]" if node.subscript else ""
    separator = "/" if node.operator[:1] == "/" else ":"
    text = f"${{{prefix}{node.name}{index}{operator}{_joined(node.arguments, separator)}}}"
    return f'"{text}"' if node.quoted else text


def _quoted(node: CommandSub | Arith, text: str) -> str:
    return f'"{text}"' if node.quoted else text


def _assignment(node: Assignment) -> str:
    index = f"[{written(node.subscript)}]" if node.subscript else ""
    value = written(node.value) if node.elements is None else f"({_joined(node.elements, ' ')})"
    return f"{node.name}{index}{'+=' if node.append else '='}{value}"


def _literal(node: Literal) -> str:
    return "'" + node.text.replace("'", "'\\''") + "'" if node.quoted else node.text


def _pipeline(node: Pipeline) -> str:
    return ("! " if node.negated else "") + ("time " if node.timed else "") + _joined(node.commands, " | ")


def _and_or(node: AndOr) -> str:
    text = written(node.commands[0])
    for operator, command in zip(node.operators, node.commands[1:], strict=True):
        text += f" {operator} {written(command)}"
    return text


def _script(node: Script) -> str:
    return "".join(
        written(command) + (" &\n" if behind else "\n")
        for command, behind in zip(node.commands, node.background, strict=True)
    )


def _if(node: If) -> str:
    text = " el".join(f"if {written(test)}then {written(body)}" for test, body in node.branches)
    return text + (f"else {written(node.otherwise)}" if node.otherwise else "") + "fi" + _redirects(node)


def _for(node: For) -> str:
    words = "" if node.words is None else " in " + _joined(node.words, " ")
    return f"{'select' if node.select else 'for'} {node.name}{words}\ndo {written(node.body)}done{_redirects(node)}"


def _case(node: Case) -> str:
    clauses = "".join(f"({_joined(patterns, ' | ')}) {written(body)};;\n" for patterns, body in node.clauses)
    return f"case {written(node.subject)} in {clauses}esac{_redirects(node)}"


def _simple(node: Simple) -> str:
    parts = [*map(written, node.assignments), *map(written, node.words), *map(written, node.redirects)]
    return " ".join(parts)


_WRITERS: dict[type, Callable[[Any], str]] = {
    Literal: _literal,
    Tilde: lambda node: f"~{node.user}",
    Glob: lambda node: node.text,
    Braces: lambda node: "{" + _joined(node.alternatives, ",") + "}",
    Param: _param,
    CommandSub: lambda node: _quoted(node, f"$( {written(node.script)})"),
    ProcessSub: lambda node: f"{node.direction}( {written(node.script)})",
    Arith: lambda node: _quoted(node, f"$(({_joined(node.parts)}))"),
    Word: lambda node: _joined(node.parts),
    Redirect: lambda node: f"{node.fd}{node.operator} {written(node.target)}",
    Assignment: _assignment,
    Simple: _simple,
    Pipeline: _pipeline,
    AndOr: _and_or,
    Group: lambda node: ("( {}){}" if node.subshell else "{{ {}}}{}").format(written(node.body), _redirects(node)),
    If: _if,
    While: lambda node: (
        f"{'until' if node.until else 'while'} {written(node.condition)}do {written(node.body)}done{_redirects(node)}"
    ),
    For: _for,
    ArithFor: lambda node: f"for (({_joined(node.header.parts)})); do {written(node.body)}done{_redirects(node)}",
    Case: _case,
    Function: lambda node: f"{node.name}() {written(node.body)}",
    Condition: lambda node: f"[[ {_joined(node.words, ' ')} ]]{_redirects(node)}",
    ArithCommand: lambda node: f"(({_joined(node.expression.parts)})){_redirects(node)}",
    Coproc: lambda node: f"coproc {node.name} {written(node.body)}".replace("  ", " "),
    Script: _script,
}


# ---------------------------------------------------------------- generating


def _built(kind: Callable[..., Any], *fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Nodes with these fields and no others: ``st.builds`` would make up the rest."""
    return st.tuples(*fields).map(lambda values: kind(*values))


_NAMES = st.sampled_from(["x", "y1", "LONG_NAME"])
_BARE = st.sampled_from(["c1", "a", "-x", "--y=z", "b/c.d", "1", "e:f", "g,h"]).map(Literal)
_QUOTED = st.text(st.sampled_from(list("ab $`\"'\\\n{}()#~*;&|<>!é")), max_size=6).map(lambda text: Literal(text, True))
_PLAIN_WORDS = st.one_of(_BARE, _QUOTED).map(lambda part: Word((part,)))
_SIMPLE = _built(Simple, st.lists(_PLAIN_WORDS, max_size=3).map(lambda words: (Word((Literal("c1"),)), *words)))


def _alone(command: Any) -> Script:
    return Script((command,), (False,))


def _parts(inner: st.SearchStrategy[Script]) -> st.SearchStrategy[Any]:
    arguments = _PLAIN_WORDS.filter(
        lambda word: isinstance(word.parts[0], Literal) and not set(word.parts[0].text) & set("{}")
    )
    params = st.one_of(
        _built(lambda name, quoted: Param(name, quoted=quoted), _NAMES, st.booleans()),
        _built(
            Param,
            _NAMES,
            st.sampled_from([":-", "-", ":=", ":+", "#", "##", "%", "%%", "^^", ","]),
            arguments.map(lambda word: (word,)),
        ),
        _built(Param, _NAMES, st.sampled_from(["#length", "!indirect", "!names", "@Q"])),
    )
    return st.one_of(
        _BARE,
        _QUOTED,
        params,
        st.sampled_from([Glob("*"), Glob("?"), Glob("[ab]")]),
        _built(CommandSub, inner, st.booleans()),
        _built(ProcessSub, inner, st.sampled_from("<>")),
        st.sampled_from([Arith((Literal("1 + x"),)), Arith((Literal("x"),), True)]),
        st.lists(_PLAIN_WORDS.filter(_fits_braces), min_size=2, max_size=3).map(lambda words: Braces(tuple(words))),
    )


def _fits_braces(word: Word) -> bool:
    """Whether braces may hold the word: a bare comma would part it, and ``$'`` is refused, quote or not."""
    (part,) = word.parts
    return isinstance(part, Literal) and "$" not in part.text and (part.quoted or "," not in part.text)


def _words(inner: st.SearchStrategy[Script]) -> st.SearchStrategy[Word]:
    return st.lists(_parts(inner), min_size=1, max_size=3).filter(_stays_apart).map(lambda parts: Word(tuple(parts)))


def _stays_apart(parts: list[Any]) -> bool:
    """Whether the parts are still the same parts when they are written side by side."""
    if any(isinstance(part, Braces) for part in parts):
        return len(parts) == 1
    for one, other in pairwise(parts):
        if isinstance(one, Literal) and not one.quoted and isinstance(other, Literal | ProcessSub):
            return isinstance(other, Literal) and other.quoted
    return True


def _compound(inner: st.SearchStrategy[Script]) -> st.SearchStrategy[Any]:
    words = _words(inner)
    redirects = st.lists(
        _built(Redirect, st.sampled_from([">", "<", ">>", "<<<", ">|"]), _PLAIN_WORDS, st.sampled_from(["", "2"])),
        max_size=2,
    ).map(tuple)
    simple = _built(
        Simple,
        st.lists(words, min_size=1, max_size=3).map(lambda found: (Word((Literal("c2"),)), *found)),
        st.lists(_built(Assignment, _NAMES, _PLAIN_WORDS, st.booleans()), max_size=2).map(tuple),
        redirects,
    )
    arithmetic = st.just(Arith((Literal("x + 1"),)))
    grouped = _built(Group, inner, st.booleans(), redirects)
    tests = _built(lambda word: Condition((Word((Literal("-n"),)), word)), _PLAIN_WORDS)
    pattern = st.sampled_from([Word((Literal("a"),)), Word((Glob("*"),)), Word((Literal("b c", True),))])
    clauses = st.lists(st.tuples(st.lists(pattern, min_size=1, max_size=2).map(tuple), inner), max_size=2).map(tuple)
    branches = st.lists(st.tuples(inner, inner), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        simple,
        grouped,
        tests,
        _built(If, branches, st.none() | inner, redirects),
        _built(While, inner, inner, st.booleans(), redirects),
        _built(For, _NAMES, st.none() | st.lists(words, max_size=2).map(tuple), inner, st.booleans(), redirects),
        _built(ArithFor, st.just(Arith((Literal("x=0;x<1;x++"),))), inner, redirects),
        _built(ArithCommand, arithmetic, redirects),
        _built(Case, _PLAIN_WORDS, clauses, redirects),
        _built(Function, st.sampled_from(["f", "g_1"]), grouped),
    )


def _lists(inner: st.SearchStrategy[Script]) -> st.SearchStrategy[Script]:
    command = _compound(inner)
    pair = st.lists(command, min_size=2, max_size=2).map(tuple)
    joined = st.one_of(
        command,
        _built(Pipeline, pair, st.booleans(), st.booleans()),
        _built(AndOr, pair, st.sampled_from(["&&", "||"]).map(lambda operator: (operator,))),
    )
    return st.lists(st.tuples(joined, st.booleans()), min_size=1, max_size=2).map(
        lambda found: Script(tuple(one for one, _ in found), tuple(behind for _, behind in found)),
    )


def scripts() -> st.SearchStrategy[Script]:
    """Trees of every kind of node."""
    return st.deferred(lambda: st.recursive(_SIMPLE.map(_alone), _lists, max_leaves=6))
