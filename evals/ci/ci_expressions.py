"""Evaluates the expressions of a workflow (``${{ ... }}``). Whatever is not known here is an error, and never empty.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/expressions
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<text>'(?:[^']|'')*')|(?P<sign>&&|\|\||==|!=|[!()\[\],.])|(?P<name>[A-Za-z_][\w-]*))"
)
_INSERTED = re.compile(r"\$\{\{(.*?)\}\}", re.S)
_CONSTANTS: Mapping[str, Any] = {"true": True, "false": False, "null": None}
OPEN = frozenset({"env", "outputs", "vars"})
"""Objects of which a missing field is nothing: what no step has set."""
ABSENT = frozenset({
    "pull_request", "issue", "comment", "review", "discussion", "label", "inputs", "assignee", "release", "workflow_run"
})  # fmt: skip
"""Objects of an event that the documentation names, and that are missing from other events."""


class UnimplementedError(Exception):
    """A key, a word of an expression, or a field that this runner does not know."""


class Expression:
    """One expression, read from left to right."""

    def __init__(self, text: str, contexts: Mapping[str, Any], failed: bool = False) -> None:
        """Split the text into tokens.

        Args:
            text: What stands between the braces.
            contexts: ``github``, ``inputs`` and the others, by their names.
            failed: Whether a step before has failed.
        """
        self._tokens: list[tuple[str, str]] = []
        at, text = 0, text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise UnimplementedError(f"expression: {text[at:]!r}")
            self._tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        self._at, self._contexts, self._failed = 0, contexts, failed
        self.asks_status = False
        """Whether it names a function of the job's status."""

    def value(self) -> Any:
        """Its value."""
        found = self._either()
        if self._at != len(self._tokens):
            raise UnimplementedError(f"expression: {self._tokens[self._at :]}")
        return found

    def _take(self, *signs: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at][1] in signs and self._tokens[self._at][0] == "sign":
            self._at += 1
            return self._tokens[self._at - 1][1]
        return ""

    def _either(self) -> Any:
        found = self._both()
        while self._take("||"):
            other = self._both()
            found = found if is_true(found) else other
        return found

    def _both(self) -> Any:
        found = self._compared()
        while self._take("&&"):
            other = self._compared()
            found = other if is_true(found) else found
        return found

    def _compared(self) -> Any:
        found = self._negated()
        while sign := self._take("==", "!="):
            other = self._negated()
            found = _is_equal(found, other) is (sign == "==")
        return found

    def _negated(self) -> Any:
        return not is_true(self._negated()) if self._take("!") else self._reached()

    def _reached(self) -> Any:
        path, found = self._atom()
        while sign := self._take(".", "["):
            if sign == ".":
                kind, name = self._tokens[self._at]
                self._at += 1
                if kind != "name":
                    raise UnimplementedError(f"expression: a field {name!r}")
            else:
                name = self._either()
                if not self._take("]") or not isinstance(name, str):
                    raise UnimplementedError("expression: an index")
            found, path = _field(found, path, name), f"{path}.{name}"
        return found

    def _atom(self) -> tuple[str, Any]:
        if self._take("("):
            found = self._either()
            if not self._take(")"):
                raise UnimplementedError("expression: a bracket that stays open")
            return "", found
        if self._at >= len(self._tokens):
            raise UnimplementedError("expression: it ends too early")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return "", float(text) if "." in text else int(text)
        if kind == "text":
            return "", text[1:-1].replace("''", "'")
        if kind == "name" and text in _CONSTANTS:
            return "", _CONSTANTS[text]
        if kind == "name" and self._take("("):
            return "", self._called(text)
        if kind == "name" and text in self._contexts:
            return text, self._contexts[text]
        raise UnimplementedError(f"expression: {text!r}")

    def _called(self, name: str) -> Any:
        arguments: list[Any] = []
        while not self._take(")"):
            arguments.append(self._either())
            self._take(",")
        status = {"always": True, "success": not self._failed, "failure": self._failed}
        if name in status and not arguments:
            self.asks_status = True
            return status[name]
        function = _FUNCTIONS.get(name.casefold())
        if function is None:
            raise UnimplementedError(f"expression: the function {name}")
        return function(*arguments)


def is_true(value: Any) -> bool:
    """Whether a value counts as true."""
    return value not in (None, False, 0, "")


def as_text(value: Any) -> str:
    """A value as it stands in a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def evaluate(text: str, contexts: Mapping[str, Any]) -> Any:
    """A value of a workflow: that of its one expression, or a text with expressions inserted."""
    whole = _INSERTED.fullmatch(text.strip())
    if whole and text.strip().count("${{") == 1:
        return Expression(whole[1], contexts).value()
    return _INSERTED.sub(lambda match: as_text(Expression(match[1], contexts).value()), text)


def is_met(condition: Any, contexts: Mapping[str, Any], failed: bool) -> bool:
    """Whether a step runs. Without a function of the status, it does only where none before has failed."""
    text = as_text(condition) if condition is not None else "success()"
    whole = _INSERTED.fullmatch(text.strip())
    expression = Expression(whole[1] if whole else text, contexts, failed)
    value = is_true(expression.value())
    return value and (expression.asks_status or not failed)


def _field(value: Any, path: str, name: str) -> Any:
    last = path.rpartition(".")[2]
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise UnimplementedError(f"expression: {path}.{name} of no object")
    if name in value:
        return value[name]
    is_unset_step = path == "steps"
    if last in OPEN or is_unset_step or (path == "github.event" and name in ABSENT):
        return None
    raise UnimplementedError(f"the field {path}.{name}")


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left.casefold() == right.casefold()
    return bool(left == right)


def _contains(where: Any, what: Any) -> bool:
    if isinstance(where, list):
        return any(_is_equal(each, what) for each in where)
    return as_text(what).casefold() in as_text(where).casefold()


def _format(text: str, *values: Any) -> str:
    return re.sub(r"\{(\d+)\}", lambda match: as_text(values[int(match[1])]), text)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "contains": _contains,
    "startswith": lambda text, start: as_text(text).casefold().startswith(as_text(start).casefold()),
    "endswith": lambda text, end: as_text(text).casefold().endswith(as_text(end).casefold()),
    "format": _format,
    "tojson": lambda value: json.dumps(value, indent=2),
    "fromjson": lambda text: json.loads(as_text(text)),
}
