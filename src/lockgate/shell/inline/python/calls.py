"""Records what calls of a Python program do: touch files, show the environment, run a command."""

from __future__ import annotations

import re

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.effects import files, removal
from lockgate.shell.effects.copies import CopiedFiles, CopyMode, copy_effects
from lockgate.shell.effects.variables import is_secret_name
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, is_known
from lockgate.shell.state.findings import effects_for_keyword
from lockgate.shell.state.run import RunText, RunWords
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Mapping
    from typing import Any

    from lockgate.shell.inline.python.names import PythonNames
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.run import Running

ENVIRONMENT = "os.environ"
"""What holds the variables of the environment."""


class PythonCalls:
    """The calls of one program that are known by name."""

    def __init__(self, call: ProgramCall, names: PythonNames, known_of: Mapping[str, Any]) -> None:
        self.call, self.names, self.ast = call, names, names.ast
        self.table: dict[str, str] = known_of["calls"]
        self.members: dict[str, str] = known_of["members"]
        self.sinks: dict[str, str] = known_of["sinks"]
        self.connecting = frozenset(known_of["connecting"].split())
        self.handled: set[int] = set()
        """Nodes that were judged here."""
        self.nearby: set[int] = set()
        """Functions that are called for an address of this machine."""
        self.problem = ""
        self.listed: dict[str, bool] = {}
        """Folders and patterns whose files the program lists, and whether all below is meant."""
        self.reads_unknown = False
        operands = call.matched.operands
        inline = any(option.role.startswith("code") for option in call.matched.options)
        # The first is ``-`` or the file that is run.
        self.operands = operands if inline else operands[1:]
        self.argv = ("", *(word.text for word in self.operands)) if names.plain_argv else ()

    def visit(self, node: ast.AST) -> Running[None]:
        """Record what a call, or a look into the environment, does."""
        ast = self.ast
        if isinstance(node, ast.Subscript) and self.names.qualify(node.value) == ENVIRONMENT:
            if isinstance(node.ctx, ast.Load):
                self.handled.update((id(node.value), id(getattr(node.value, "value", None))))
                self._record_environment(self.texts(node.slice))
        elif isinstance(node, ast.Call):
            yield from self._record_call(node, node.func)

    def _record_call(self, node: ast.Call, function: ast.expr) -> Running[None]:
        ast, full = self.ast, self.names.qualify(function)
        own = {*self.names.bound, *self.names.modules}
        if isinstance(function, ast.Name) and function.id == "open" and "open" not in own:
            full = "open"
        if full in self.table:
            self.handled.add(id(function))
            if isinstance(function, ast.Attribute):
                self.handled.add(id(function.value))
            yield from self._apply_roles(self.table[full], node, None)
        elif full is not None and full.rpartition(".")[0] in self.sinks:
            self._note_near(node, node.args[:1])
        elif isinstance(function, ast.Attribute):
            if function.attr in self.connecting:
                self._note_near(node, node.args)
            yield from self._record_member(node, function, full)

    def _note_near(self, node: ast.Call, places: list[ast.expr]) -> None:
        """Note that a function is called for an address of this machine: an address, a name, or a name and a port."""
        pairs = [place for place in places if isinstance(place, self.ast.Tuple) and place.elts]
        place = pairs[0].elts[0] if pairs else places[0] if places else None
        if all(map(is_here, self.texts(place))):
            ports = pairs[0].elts[1:] if pairs else places[1:]
            if not self._is_own(place, ports):
                self.nearby.add(id(node.func))

    def _is_own(self, place: ast.expr | None, ports: list[ast.expr]) -> bool:
        """Whether the gate itself may listen at an address of this machine."""
        from lockgate.resources.own_ports import effect_at_port, effect_at_url, is_contained

        around = self.call.machine.around
        if any("://" in text for text in self.texts(place)):
            found = [effect_at_url(text, around) for text in self.texts(place)]
            return not all(map(is_contained, filter(None, found)))
        port = ports[0] if ports else None
        written = str(port.value) if isinstance(port, self.ast.Constant) else "?"
        found = [effect_at_port(text, written, around) for text in self.texts(place)]
        return not all(map(is_contained, filter(None, found)))

    def _record_member(self, node: ast.Call, function: ast.Attribute, full: str | None) -> Running[None]:
        plain = not node.keywords and not any(isinstance(argument, self.ast.Starred) for argument in node.args)
        if function.attr == "format":
            if all(is_known(text) and _is_template(text) for text in self.texts(function.value)):
                self.handled.add(id(function))
        elif function.attr in self.members and (full is None or full.count(".") > 1):
            self.handled.add(id(function))
            # With two arguments it is a text's, and with none a list's: a path's has one, and the class itself is not
            # handed around.
            others = {"replace": len(node.args) > 1, "copy": not node.args}.get(function.attr, False)
            if not (others and plain):
                yield from self._apply_roles(self.members[function.attr], node, function.value)

    def finish(self) -> None:
        """Where it reads files whose names it makes: what it lists is read, and what it is given."""
        call = self.call
        if not self.reads_unknown:
            return
        for word in self.operands:
            call.own += files.read(word, call.machine, call.scope)
        for text, below in self.listed.items():
            call.own += files.read(Arg(text, glob=not below), call.machine, call.scope, below=below)

    def texts(self, node: ast.expr | None) -> list[str]:
        """The texts that a value can be."""
        return self.names.texts(node, self.call.machine.around.home, self.argv)

    # ------------------------------------------------------------ parameters

    def _apply_roles(self, spec: str, node: ast.Call, base: ast.expr | None) -> Running[None]:
        """Give each argument its role."""
        params = [(word.partition("=")[0], word.partition("=")[2]) for word in spec.split()]
        given: dict[str, ast.expr] = {}
        if base is not None:
            given["self"], params = base, params[1:]
        rest = bool(params) and params[-1][0] == "..."
        names = [name for name, _ in params if name != "..."]
        words = [(names[index] if index < len(names) else "", value) for index, value in enumerate(node.args)]
        words += [(word.arg if word.arg in names else "", word.value) for word in node.keywords]
        for name, value in words:
            if (not name and not rest) or isinstance(value, self.ast.Starred):
                self.problem = (
                    self.problem or "a function that touches files or runs something is called in an unusual way"
                )
            given[name] = value
        roles = dict(params) | ({"self": spec.split()[0].partition("=")[2]} if base is not None else {})
        by_role = {role: given[name] for name, role in roles.items() if name in given}
        for role in dict.fromkeys(roles.values()):
            if role in _ROLES:
                running = _ROLES[role](self, self.texts(by_role.get(role)) if role in by_role else None, by_role)
                if running is not None:
                    yield from running

    def _record_opaque(self, because: str) -> None:
        self.problem = self.problem or because

    def _record_open(self, texts: list[str] | None, given: dict[str, ast.expr]) -> None:
        """``open``: what it does says the mode."""
        modes = self.texts(given["mode"]) if "mode" in given else ["r"]
        if texts is None or not all(map(is_known, modes)):
            self._record_opaque("this opens a file in a way that is only known when it runs")
        elif any(set(mode) & set("wax+") for mode in modes):
            self._write(texts, given)
        else:
            self._read(texts, given)

    def _read(self, texts: list[str] | None, _: dict[str, ast.expr]) -> None:
        call = self.call
        for text in texts or ():
            call.own += files.read(Arg(text), call.machine, call.scope)
            self.reads_unknown |= not is_known(text)

    def _record_listing(self, texts: list[str] | None, _: dict[str, ast.expr]) -> None:
        self.listed |= dict.fromkeys(texts or ["."], True)

    def _record_glob(self, texts: list[str] | None, _: dict[str, ast.expr]) -> None:
        self.listed |= dict.fromkeys(texts or [], False)

    def _record_below(self, texts: list[str] | None, _: dict[str, ast.expr]) -> None:
        for text in texts or ():
            self.call.own += files.read(Arg(text), self.call.machine, self.call.scope, below=True)

    def _write(self, texts: list[str] | None, _: dict[str, ast.expr]) -> None:
        for text in texts or ():
            self.call.own += files.write(_change(text), self.call.machine, self.call.scope)

    def _record_whole(self, texts: list[str] | None, _: dict[str, ast.expr]) -> None:
        for text in texts or ():
            self.call.own += files.write(_change(text), self.call.machine, self.call.scope, below=True)

    def _record_edit(self, texts: list[str] | None, given: dict[str, ast.expr]) -> None:
        self._read(texts, given)
        self._write(texts, given)

    def _move(self, texts: list[str] | None, given: dict[str, ast.expr]) -> None:
        self._record_below(texts, given)
        self._record_whole(texts, given)

    def _record_copy(self, texts: list[str] | None, given: dict[str, ast.expr]) -> None:
        sources = self.texts(given.get("source") or given.get("moved"))
        for text in texts or ():
            words = [Arg(source) for source in sources]
            self.call.own += files.write_into(_change(text), words, self.call.machine, self.call.scope)

    def _record_tree_copy(self, texts: list[str] | None, given: dict[str, ast.expr]) -> None:
        self._record_whole(texts, given)
        for text in texts or ():
            for source in self.texts(given.get("below")):
                before = CopiedFiles(self.call.machine.around, self.call.machine.disk.moved)
                self.call.own += copy_effects(Arg(f"{source}/."), _change(text), CopyMode(), before, self.call.scope)

    def _record_deletion(self, texts: list[str] | None, _: dict[str, ast.expr]) -> None:
        for text in texts or ():
            self.call.own += removal.delete(_change(text), self.call.machine, self.call.scope, below=False)

    def _record_tree_deletion(self, texts: list[str] | None, _: dict[str, ast.expr]) -> None:
        for text in texts or ():
            self.call.own += removal.delete(_change(text), self.call.machine, self.call.scope, below=True)

    def _add_unknown_files(self, _: list[str] | None, __: dict[str, ast.expr]) -> None:
        self._record_opaque("this touches files whose names are not known")

    # ------------------------------------------------------------ environment and commands

    def _record_environment(self, texts: list[str] | None, _: object = None) -> None:
        for text in texts or [OPAQUE]:
            if not is_known(text) or is_secret_name(text):
                self.call.own += effects_for_keyword("read-secret", f"os.environ[{Arg(text).shown}]", self.call.rule)

    def _run_shell(self, texts: list[str] | None, _: dict[str, ast.expr]) -> Running[None]:
        call = self.call
        for text in texts or [OPAQUE]:
            yield RunText(text, call.scope.new_shell(), "sh", OPAQUE)

    def _run_command(self, texts: list[str] | None, given: dict[str, ast.expr]) -> Running[None]:
        """The words of a program, or a shell's text where ``shell`` is true."""
        ast, call = self.ast, self.call
        words, flag = given.get("command"), given.get("shell-flag")
        shell = flag.value if isinstance(flag, ast.Constant) else flag is not None
        if shell is True and texts != [OPAQUE] and not isinstance(words, (ast.List, ast.Tuple)):
            yield from self._run_shell(texts, given)
        elif not shell and isinstance(words, (ast.List, ast.Tuple)) and words.elts:
            args = [Arg(found[0] if len(found := self.texts(item)) == 1 else OPAQUE) for item in words.elts]
            call.ran = True
            yield RunWords(args, call.scope.copy(), OPAQUE)
        else:
            self._record_opaque("which program this runs is only known when it runs")


_ROLES: dict[str, Callable[[PythonCalls, list[str] | None, dict[str, ast.expr]], Running[None] | None]] = {
    "file": PythonCalls._record_open,
    "read": PythonCalls._read,
    "source": PythonCalls._read,
    "below": PythonCalls._record_below,
    "listed": PythonCalls._record_listing,
    "globbed": PythonCalls._record_glob,
    "write": PythonCalls._write,
    "edit": PythonCalls._record_edit,
    "move": PythonCalls._move,
    "moved": PythonCalls._move,
    "into": PythonCalls._record_copy,
    "tree-into": PythonCalls._record_tree_copy,
    "delete": PythonCalls._record_deletion,
    "tree": PythonCalls._record_tree_deletion,
    "unknown": PythonCalls._add_unknown_files,
    "env": PythonCalls._record_environment,
    "shell": PythonCalls._run_shell,
    "command": PythonCalls._run_command,
}


def _change(text: str) -> Arg:
    """A file that is changed: which of those it is that are there still matters."""
    return Arg(text.replace(PLAIN, OPAQUE))


def is_here(place: str) -> bool:
    """Whether an address, or the name of a machine, is this machine's."""
    from lockgate.resources.addresses import host_of
    from lockgate.resources.hosts import is_loopback

    host = host_of(place if "://" in place else f"http://{place}") if is_known(place) else None
    return host is not None and is_loopback(host)


def _is_template(text: str) -> bool:
    """Whether ``text.format()`` reads no member of what it is given."""
    fields = re.sub(r"\{\{|\}\}", "", text)
    return all("." not in field and "[" not in field for field in re.findall(r"\{([^{}:!]*)", fields))
