"""Which one value a command takes from a file of many: ``grep API_TOKEN .env``, ``jq -r .api_token keys.json``."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_GREPS = frozenset({"grep", "egrep", "fgrep", "rg"})
_AWKS = frozenset({"awk", "gawk", "mawk"})
_FLAGS = lazy_re(r"-[hEFPowmshiN1]+|--only-matching|--no-filename|--max-count=1")
"""Options of ``grep`` with which it prints no other line."""
_LINE = lazy_re(
    r"(?:\(\?<=)?\^?(?:export )?(?P<name>[A-Za-z]\w{3,})(?:=\)?)?(?:\\K)?(?:\.[*+]|\[\^[^]]*\][*+]|\\S\+)?\$?"
)
"""A pattern of ``grep`` for the line of one setting, with its name."""
_RULE = lazy_re(r"\s*(?:/\^?(?P<name>[A-Za-z]\w{3,})=?/|\$1\s*==\s*\"(?P<first>\w{4,})\")\s*\{[^{}]*\}\s*")
"""A rule of ``awk`` for the lines of one setting."""
_FIELD = lazy_re(r"(?:\.[\w\"-]+|\[\"?[\w-]+\"?\])*\.?(?:\[\")?(?P<name>[A-Za-z][\w-]{3,})\"?\]?")
"""A path of ``jq`` to one field."""


def picked(call: ProgramCall) -> str:
    """The name of the only value that a command prints of what it reads, empty where there may be more."""
    program = call.args[0].text.rpartition("/")[2]
    words = [arg.static for arg in call.args[1:]]
    texts = [word for word in words if word is not None]
    options = [text for text in texts if text.startswith("-")]
    operands = [text for text in texts if not text.startswith("-")]
    if len(texts) < len(words) or not operands:
        return ""
    if program in _GREPS:
        match = _LINE.fullmatch(operands[0]) if all(_FLAGS.fullmatch(option) for option in options) else None
    elif program in _AWKS:
        rules = [text for text in operands if "{" in text]
        match = _RULE.fullmatch(rules[0]) if len(rules) == 1 and "-f" not in options else None
    elif program in ("jq", "yq"):
        match = _FIELD.fullmatch(operands[0]) if set(options) <= {"-r", "-e", "-j", "--raw-output"} else None
    else:
        return ""
    return next(filter(None, match.groups()), "") if match is not None else ""
