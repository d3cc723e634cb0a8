"""What runs something asks for it: requests reach the interpreter, in order, and none is forgotten."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lockgate.shell
from lockgate.resources.host_view import HostView
from lockgate.shell.effects.variables import variable_effects
from lockgate.shell.interpreter.builtins import builtin
from lockgate.shell.state.machine import Machine
from lockgate.shell.state.run import Interpreter, RunFile, RunText, RunWords, drive
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.state.run import Request, Running

SHELL = Path(lockgate.shell.__file__).parent
ANSWER = "printed"


def asked_by(running: Running[object]) -> tuple[list[Request], object]:
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        return ANSWER

    return requests, drive(running, answer)


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        pytest.param(["eval", "ls", "-a"], [(RunText, "ls -a")], id="eval"),
        pytest.param(["eval", "--", "ls"], [(RunText, "ls")], id="eval with a mark"),
        pytest.param(["alias", "a=ls", "b=pwd"], [(RunText, "ls"), (RunText, "pwd")], id="each alias"),
        pytest.param(["trap", "ls", "EXIT"], [(RunText, "ls")], id="trap at the end"),
        pytest.param(["trap", "ls", "INT"], [(RunText, "ls"), (RunText, "ls")], id="trap at any time"),
        pytest.param(["trap", "-", "INT"], [], id="trap taken away"),
        pytest.param(["jobs", "-x", "ls", "a"], [(RunWords, [Arg("ls"), Arg("a")])], id="jobs"),
        pytest.param(["jobs"], [], id="jobs alone"),
        pytest.param(["source", "a.sh", "b"], [(RunFile, [Arg("a.sh"), Arg("b")])], id="source"),
        pytest.param([".", "--", "a.sh"], [(RunFile, [Arg("a.sh")])], id="dot"),
        pytest.param(["mapfile", "-C", "ls", "a"], [(RunText, "ls")], id="callback of mapfile"),
        pytest.param(["export", "PROMPT_COMMAND=ls"], [(RunText, "ls")], id="variable that runs"),
        pytest.param(["declare", "-r", "A=ls"], [], id="variable that does not"),
    ],
)
def test_builtins_ask_for_what_they_run(words: list[str], asked: list[tuple[type, object]]) -> None:
    play = builtin(words[0])
    assert play is not None
    running = play(Machine(HostView()), Scope("/work", {}), [Arg(word) for word in words[1:]], None)
    assert not isinstance(running, str)
    requests, _ = asked_by(running)
    assert [(type(request), request[0]) for request in requests] == asked


def test_the_shape_of_what_was_asked_for_comes_back() -> None:
    play = builtin("eval")
    assert play is not None
    running = play(Machine(HostView()), Scope("/work", {}), [Arg("ls")], None)
    assert not isinstance(running, str)
    assert asked_by(running)[1] == ANSWER


def test_a_fault_comes_up_where_the_request_was_made() -> None:
    def body() -> Running[str]:
        try:
            yield RunText("ls", Scope("/work", {}))
        except LookupError:
            return (yield RunText("pwd", Scope("/work", {})))
        return "not reached"

    def answer(request: Request) -> str:
        if request[0] == "ls":
            raise LookupError
        return ANSWER

    assert drive(body(), answer) == ANSWER


def test_a_fault_that_nobody_takes_goes_on() -> None:
    def answer(_: Request) -> str:
        raise LookupError

    running = variable_effects("PROMPT_COMMAND", "ls", Machine(HostView()), Scope("/work", {}))
    with pytest.raises(LookupError):
        drive(running, answer)


# ---------------------------------------------------------------- none is forgotten


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SHELL.rglob("*.py")):
        name = ".".join(("lockgate.shell", *path.relative_to(SHELL).with_suffix("").parts))
        yield name.removesuffix(".__init__"), ast.parse(path.read_text(encoding="utf-8"))


def _generators() -> set[tuple[str, str]]:
    """The functions that give a generator of requests: their modules and names, those of methods with a dot."""
    return {
        (module, f".{node.name}" if node.args.args[:1] and node.args.args[0].arg == "self" else node.name)
        for module, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.returns is not None and "Running" in ast.unparse(node.returns)
    }


def _forgotten(tree: ast.Module, module: str, generators: set[tuple[str, str]]) -> Iterator[str]:
    """Calls of such functions of which nobody takes the requests."""
    names = {name for where, name in generators if where == module}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name for each in node.names if (node.module, each.name) in generators}
            names |= {name for where, name in generators if where == node.module and name.startswith(".")}
    taken = {id(node) for node in _taken(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            # A name counts where somebody takes its requests before the same function ends.
            names_taken = {each.id for each in _taken(node) if isinstance(each, ast.Name)}
            taken |= {
                id(each.value)
                for each in ast.walk(node)
                if isinstance(each, ast.Assign) and {ast.unparse(target) for target in each.targets} <= names_taken
            }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in taken:
            function = node.func
            called = function.id if isinstance(function, ast.Name) else f".{getattr(function, 'attr', '')}"
            if called in names:
                yield f"{module}:{node.lineno}: {ast.unparse(function)}"


def _taken(tree: ast.AST) -> Iterator[ast.expr]:
    """The generators whose requests are answered, or passed on to the caller of what says that it gives them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.YieldFrom):
            yield node.value
        elif isinstance(node, ast.Lambda):
            yield node.body
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "drive":
            yield from node.args
        elif isinstance(node, ast.FunctionDef) and node.returns is not None and "Running" in ast.unparse(node.returns):
            returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
            yield from returned
            yield from (way for each in returned if isinstance(each, ast.IfExp) for way in (each.body, each.orelse))


def test_no_generator_of_requests_is_forgotten() -> None:
    generators = _generators()
    assert len(generators) > 40
    assert [each for module, tree in _modules() for each in _forgotten(tree, module, generators)] == []


def test_a_forgotten_generator_is_found() -> None:
    text = """
def other(self):
    ask()  # 3
    yield from ask()
    self.ask()  # 5
    yield from self.ask()
    b.other()
    kept = ask()  # 8
    given = ask()
    yield from given
    driven = ask()
    self.drive(driven)

def loses() -> str:
    return ask()  # 15

def gives() -> Running[str]:
    asked = ask()
    return asked if b else ask()  # 19
"""
    found = list(_forgotten(ast.parse(text), "m", {("m", "ask"), ("m", ".ask")}))
    assert found == [f"m:{line}: {name}" for line, name in ((3, "ask"), (5, "self.ask"), (8, "ask"), (15, "ask"))]


@pytest.mark.parametrize("folder", ["effects", "inline", "programs", "scripts", "interpreter/builtins"])
def test_what_asks_has_no_interpreter(folder: str) -> None:
    """None of them runs something by itself, nor through what it is given."""
    runs = {name for name in vars(Interpreter) if not name.startswith("_")} - vars(Machine).keys()
    assert {"run_text", "invoke", "drive"} <= runs
    for path in (SHELL / folder).rglob("*.py"):
        calls = (node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
        found = [ast.unparse(call) for call in calls if isinstance(call, ast.Attribute) and call.attr in runs]
        assert [each for each in found if each.split(".")[-2] in ("machine", "interpreter")] == [], path
