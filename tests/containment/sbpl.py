"""A reader of sandbox profiles, and what they say to an access: the last rule that matches holds.

As far as our profiles go: operations by name or by ``prefix*``, and the filters that they use. An unknown filter is an
error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Form = list[Any]
_TOKEN = re.compile(r'\s*(?:(?P<paren>[()])|#"(?P<raw>[^"]*)"|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<word>[^\s()"]+))')


class Regex(str):
    """A ``#"..."`` text."""


def read(text: str) -> list[Form]:
    """All forms of a profile."""
    stack: list[Form] = [[]]
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert found, text[at : at + 40]
        at = found.end()
        if found["paren"] == "(":
            stack.append([])
        elif found["paren"] == ")":
            form = stack.pop()
            stack[-1].append(form)
        elif found["raw"] is not None:
            stack[-1].append(Regex(found["raw"]))
        elif found["text"] is not None:
            stack[-1].append(re.sub(r"\\(.)", r"\1", found["text"]))
        else:
            stack[-1].append(found["word"])
    assert len(stack) == 1
    return stack[0]


class Profile:
    """A profile that was read."""

    def __init__(self, text: str) -> None:
        version, *rules = read(text)
        assert version == ["version", "1"]
        assert rules[0] == ["deny", "default"]
        self._rules = [(rule[0], *_split(rule[1:])) for rule in rules[1:]]

    def allows(self, operation: str, what: str = "") -> bool:
        """Whether an operation on an object (a path, a name, ``same-sandbox``) is allowed."""
        verdict = "deny"
        for said, operations, filters in self._rules:
            if any(_names(name, operation) for name in operations) and (
                not filters or any(_matches(one, what) for one in filters)
            ):
                verdict = said
        return verdict == "allow"


def _split(words: Form) -> tuple[list[str], list[Form]]:
    return [word for word in words if isinstance(word, str)], [word for word in words if isinstance(word, list)]


def _names(name: str, operation: str) -> bool:
    return operation.startswith(name[:-1]) if name.endswith("*") else operation == name


def _matches(one: Form, what: str) -> bool:
    kind, *rest = one
    if kind == "require-all":
        return all(_matches(each, what) for each in rest)
    if kind == "extension":
        return False  # nothing was handed out
    assert kind in ("literal", "subpath", "regex", "global-name", "ipc-posix-name-regex", "target"), kind
    (value,) = rest
    if kind == "subpath":
        return f"{what}/".startswith(f"{value.rstrip('/')}/")
    if kind in ("regex", "ipc-posix-name-regex"):
        assert isinstance(value, Regex)
        return re.search(value, what) is not None
    return bool(value == what)


def operations(text: str) -> Iterator[str]:
    """Every operation that a profile allows somewhere."""
    for rule in read(text):
        if rule[0] == "allow":
            yield from _split(rule[1:])[0]
