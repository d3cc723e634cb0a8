"""Finds secrets that are handed to a provider that the person is logged in to, which is asked about only once.

A deployment is bound to all that says who gets what: the command, each of its words, the folder, the variables that are
set for it, and where the secrets come from. Which commands deploy is listed, with the options that name who gets the
secrets (``deploying`` in ``tables.yaml``): without one a file says so, which another call can change unasked.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.state.abstract_text import is_known, marks_of, without_marks
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.shell.knowledge.call import ProgramCall


def deployment(call: ProgramCall) -> str:
    """What identifies a deployment. It is empty where a command is none, or where it is not known who gets what."""
    scope = call.scope
    program = call.args[0].text
    naming = table("deploying").get(call.what, ())
    given = [arg.text for arg in call.args]
    if "/" in program or call.contact.rerouted or call.matched.unknown or not _is_receiver_named(given, naming):
        return ""
    variables = [f"{name}={scope.value(name)}" for name in sorted(scope.exported)]
    words = [*given, *variables]
    if len(scope.cwds) != 1 or not scope.cwds[0] or any(not is_known(word) and not marks_of(word) for word in words):
        return ""
    return "\0".join((call.what, scope.cwds[0], *map(without_marks, words)))


def _is_receiver_named(words: Sequence[str], naming: Sequence[str]) -> bool:
    """Whether words say who gets the secrets. An empty value is none; behind an option a word may be its value."""
    values = []
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        name, equals, value = word.partition("=")
        if name in naming:
            values.append("" if before.startswith("-") else value if equals else after)
    return bool(values) and all(value and not value.startswith("-") and is_known(value) for value in values)


def deployment_digest(text: str, sources: Sequence[str]) -> str:
    """The digest of a deployment of secrets, 32 hexadecimal digits."""
    return sha256("\0".join((text, *sources)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
