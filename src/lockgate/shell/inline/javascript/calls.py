"""Records what calls of a JavaScript program do: touch files, show the environment, run a command."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.effects import files, removal
from lockgate.shell.effects.variables import is_secret_name
from lockgate.shell.inline.javascript.names import FUNCTIONS, JavascriptNames, literal, text_of
from lockgate.shell.inline.python.calls import is_here
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, is_known
from lockgate.shell.state.findings import effects_for_keyword
from lockgate.shell.state.run import RunText, RunWords
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.run import Running

_DYNAMIC = "which program this runs is only known when it runs"


class JavascriptCalls:
    """The calls of one program that are known by name."""

    def __init__(self, call: ProgramCall, names: JavascriptNames, table: Mapping[str, str]) -> None:
        self.call, self.names, self.table = call, names, table
        self.handled: set[int] = set()
        """Nodes that were judged here."""
        self.problem = ""
        self._listed: list[str] = []
        self._reads_unknown = False

    def finish(self) -> None:
        """Where it reads files whose names it makes: what it lists is read, and what it is given."""
        call = self.call
        for text in self._listed if self._reads_unknown else ():
            call.own += files.read(Arg(text), call.machine, call.scope, below=True)
        for word in call.matched.operands if self._reads_unknown else ():
            call.own += files.read(word, call.machine, call.scope)

    def visit(self, node: Any) -> Running[None]:
        """Record what a call does."""
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if arguments is None or arguments.type != "arguments":
            return
        full = self.names.qualify(function) or ""
        if text_of(function) == "require" and "require" not in self.names.bound:
            self._record_require(node, function, arguments)
        elif full in self.table:
            self.handled.update((function.id, *(child.id for child in function.named_children)))
            yield from self._apply_roles(self.table[full], arguments.named_children)

    def is_nearby(self, node: Any) -> bool:
        """Whether a function is called for an address of this machine."""
        parent = node.parent
        arguments = parent.child_by_field_name("arguments") if parent.type == "call_expression" else None
        places = arguments.named_children if arguments is not None else []
        if places and places[0].type == "number":
            # A port comes before the machine's name; without one it is this machine.
            places = places[1:]
            if not places or places[0].type in FUNCTIONS:
                return True
        return bool(places) and all(map(is_here, self.names.texts(places[0])))

    def _record_require(self, node: Any, function: Any, arguments: Any) -> None:
        """A module of Node's own, or a JSON file, which is read."""
        name = literal(arguments.named_child(0)) if arguments.named_child_count == 1 else None
        if name is not None and name.startswith(("./", "../", "/")) and name.endswith(".json"):
            self.handled.add(function.id)
            self.call.own += files.read(Arg(name), self.call.machine, self.call.scope)
        elif name is not None and self.names.find_required(node) is not None:
            self.handled.add(function.id)
        else:
            self._record_opaque("this loads code that can lie in this project")

    def _record_opaque(self, because: str) -> None:
        self.problem = self.problem or because

    def _apply_roles(self, spec: str, arguments: list[Any]) -> Running[None]:
        """Give each argument its role."""
        roles = [word.partition("=")[2] for word in spec.split()]
        if len(arguments) > len(roles) or any(argument.type == "spread_element" for argument in arguments):
            self._record_opaque("a function that touches files or runs something is called in an unusual way")
            return
        given = dict(zip(roles, arguments, strict=False))
        if given.get("options") is not None:
            self._record_opaque("how this runs a program is only known when it runs")
        for role in given:
            if role in ("read", "write", "delete", "tree", "source", "move", "into"):
                self._touch(role, given)
            elif role == "listed":
                self._listed += self.names.texts(given[role])
        if "shell" in given:
            for text in self.names.texts(given["shell"]):
                yield RunText(text, self.call.scope.new_shell(), "sh", OPAQUE)
        if "program" in given:
            yield from self._run_program(given["program"], given.get("args"))

    def _touch(self, role: str, given: Mapping[str, Any]) -> None:
        call = self.call
        for text in self.names.texts(given[role]):
            arg = Arg(text)
            if role in ("read", "source", "move"):
                call.own += files.read(arg, call.machine, call.scope, below=role == "move")
                self._reads_unknown |= not is_known(text)
            # Which of the files that are there is changed still matters.
            arg = Arg(text.replace(PLAIN, OPAQUE))
            if role in ("write", "move"):
                call.own += files.write(arg, call.machine, call.scope, below=role == "move")
            if role in ("delete", "tree"):
                call.own += removal.delete(arg, call.machine, call.scope, below=role == "tree")
            if role == "into":
                sources = [Arg(source) for source in self.names.texts(given.get("source") or given["move"])]
                call.own += files.write_into(arg, sources, call.machine, call.scope)

    def _run_program(self, program: Any, args: Any) -> Running[None]:
        if args is not None and args.type != "array":
            self._record_opaque(_DYNAMIC)
            return
        words = [self.names.texts(node) for node in (program, *(args.named_children if args is not None else ()))]
        self.call.ran = True
        found = [Arg(texts[0] if len(texts) == 1 else OPAQUE) for texts in words]
        yield RunWords(found, self.call.scope.copy(), OPAQUE)


def environment_effects(call: ProgramCall, name: str) -> None:
    """Record what reading a variable of the environment shows."""
    if is_secret_name(name):
        call.own += effects_for_keyword("read-secret", f"process.env.{name}", call.rule)
