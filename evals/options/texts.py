"""Reads options out of help texts and rendered manual pages.

An option is documented on a line that begins with it: ``-a, --all   description``. What stands behind a name is a
value where it is written as one: ``=X``, ``<x>``, ``[x]``, ``{a,b}``, ``FILE``, the type words of Go, a single word
before the description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from documented import ATTACHED, NOTHING, TWO, VALUE, Documented

_NAME = re.compile(
    r"(?:--\[no-\][\w-]+|--?\[no\][\w-]+|-(?:<n>|<num>|<number>|NUM\b)|--?[A-Za-z0-9?@#%+:$][\w.:+-]*(?:\[no-\][\w-]+)?)"
)
_OPTIONAL = re.compile(r"(?:\[[=:/]?[^\]\s][^\]]*\])+(?:\.\.\.)?")
_SWITCH = re.compile(r"\[=(?:true|false)\]|=(?:true|false)(?=[:,\s]|$)")
"""How Go's programs write the default of a flag, which takes no word."""
_LITERAL = re.compile(r"=[a-z][a-z-]*(?=,|\s|$)")
_ATTACHED = re.compile(r"=(?:<[^>]*>|\[[^\]]*\]|\{[^}]*\}|\"[^\"]*\"|'[^']*'|\([^)]*\)|[^\s,\[|]*)(?:[^\s,|]*)")
_META = re.compile(
    r" (?:<[^>]+>(?:[.:,=]?<[^>]+>)*(?:\.\.\.)?|\{[^}]*\}"
    r"|[A-Z][A-Z0-9_./|:-]*(?:\[[^\]]*\])?(?:=[A-Z]+)?(?:\.\.\.)?(?=[\s,\]/|)]|$)"
    r"|(?:string|strings|stringArray|stringSlice|stringToString|int|int32|int64|uint|uint16|float|float64|duration|bytes|list|filter"
    r"|mapping|map|ip|ipSlice|port|mount|network|option|gpu-request|ulimit|float32|decimal|pem|bool)(?=\s|$))"
)
_WORD = re.compile(r" ([^\s/|-][^\s]*)(?=\s{2,}|\t|$|, -| -)")
_SEPARATOR = re.compile(r"\s*,\s*(?:or\s+)?(?=-)|\s*\|\s*(?=-)|\s*/\s*(?=-)|\s+or\s+(?=-)|\s+(?=-)|,?\s+(?=--)")
_END = re.compile(r"\s*$|\s{2,}|\t|\s*:\s|:$|\s+[-=]\s|\s*\(|\s*\[|\.\.\.|\s+#|;\s*$")
_SKIPPED = re.compile(
    r"^(EXAMPLES?|SEE ALSO|AUTHORS?|BUGS|HISTORY|ENVIRONMENT.*|FILES|NOTES|COPYRIGHT|REPORTING BUGS|STANDARDS)$", re.I
)
_FIXED = "fixed"
"""A value that is written out (``-p, --indicator-style=slash``): the other spellings have none."""
_NUMBERS = frozenset({"-<n>", "-<num>", "-<number>", "-NUM"})
_TYPED = re.compile(r"\[(?:string|number|array)\]|\[choices: ")
"""What yargs writes at the end of the description of an option that takes a value."""


def options(text: str, source: str, *, manual: bool = False) -> list[Documented]:
    """Every option that a text describes."""
    found: list[Documented] = []
    lines = text.splitlines()
    skipped = False
    for at, line in enumerate(lines):
        if manual and line[:1].strip():
            skipped = bool(_SKIPPED.match(line.strip()))
        stripped = line.strip().removeprefix("• ").removeprefix("* ")
        if skipped or not stripped.startswith("-"):
            continue
        heading = list(_heading(stripped))
        if heading and heading[-1][0] == "":
            about = heading.pop()[1] or _below(lines, at)
            if heading and heading[-1][1] == NOTHING and _TYPED.search(_block(lines, at)):
                heading[-1] = (heading[-1][0], VALUE)
            found += [Documented(name, takes, about, source) for name, takes in _spread(heading)]
    return found


def _heading(line: str) -> Iterator[tuple[str, str]]:
    """Names with what they take, and last an empty name with the description, which is missing where it is prose."""
    at = 0
    while (match := _NAME.match(line, at)) is not None:
        name, at = match.group(), match.end()
        takes, at = _value(line, at)
        yield name.rstrip(":.,"), takes
        if (separator := _SEPARATOR.match(line, at)) is not None and _NAME.match(line, separator.end()):
            at = separator.end()
            continue
        if (end := _END.match(line, at)) is not None:
            yield "", line[end.start() :].strip(" \t:-")
        return


def _value(line: str, at: int) -> tuple[str, int]:
    """What an option takes by what stands behind its name, and where that ends."""
    if match := _SWITCH.match(line, at):
        return NOTHING, match.end()
    if match := _OPTIONAL.match(line, at):
        return ATTACHED, match.end()
    if match := _LITERAL.match(line, at):
        return _FIXED, match.end()
    if match := _ATTACHED.match(line, at):
        return VALUE, match.end()
    if (match := re.compile(r"<[^>]+>").match(line, at)) is not None:
        return VALUE, match.end()
    count = 0
    while match := _META.match(line, at):
        count, at = count + 1, match.end()
    if count:
        return (TWO if count == 2 else VALUE), at
    if match := re.compile(r" \[[^\]\s-][^\]]*\](?=\s|$|,)").match(line, at):
        return ATTACHED, match.end()
    if (match := _WORD.match(line, at)) is not None:
        return VALUE, match.end()
    return NOTHING, at


def _below(lines: list[str], at: int) -> str:
    """The first line of what stands below a heading, further in."""
    depth = _depth(lines[at])
    for line in lines[at + 1 : at + 8]:
        if line.strip() and not line.strip().startswith("-"):
            return line.strip() if _depth(line) > depth else ""
    return ""


def _block(lines: list[str], at: int) -> str:
    """An option's line with those of its description, up to the next option."""
    ends = (n for n in range(at + 1, len(lines)) if not lines[n].strip() or lines[n].strip().startswith("-"))
    return " ".join(lines[at : next(ends, len(lines))])


def _depth(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


def _spread(heading: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each spelling; short names have the value that is written behind the long one (``-o, --output=FILE``)."""
    last = heading[-1][1] if heading and heading[-1][1] != _FIXED else NOTHING
    for name, takes in heading:
        takes = VALUE if takes == _FIXED else takes
        if takes == NOTHING and last not in (NOTHING, ATTACHED) and name != heading[-1][0]:
            takes = last
        elif takes == NOTHING and last == ATTACHED and not name.startswith("--"):
            takes = ATTACHED
        if name in _NUMBERS:
            yield "-NUM", NOTHING
        elif (at := name.find("[no")) >= 0:
            end = name.index("]", at)
            rest = name[end + 1 :]
            yield name[:at] + rest, takes
            yield name[:at] + name[at + 1 : end] + rest, NOTHING
        else:
            yield name, takes


_SPELLINGS = re.compile(r"(?<=\[)(-\w)\|(?=--)")
"""Two spellings of one option: ``[-w|--workspace NAME]``."""
_BRACKET = re.compile(r"\[\s*(-[^\[\]]+(?:\[[^\]]*\][^\[\]]*)*)\]")


def usage(text: str, *, clusters: bool) -> list[Documented]:
    """Options of a synopsis: ``[-abc] [-o FILE | --output=FILE]``; with `clusters` ``-abc`` is three of them."""
    found: list[Documented] = []
    for match in _BRACKET.finditer(_SPELLINGS.sub(r"\1, ", text)):
        for part in re.split(r"\s*\|\s*", match.group(1)):
            if not part.startswith("-"):
                continue
            for name, takes in _spread([pair for pair in _heading(part.strip()) if pair[0]]):
                if clusters and re.fullmatch(r"-[A-Za-z0-9]{2,}", name):
                    letters = [f"-{letter}" for letter in name[1:]]
                    found += [Documented(letter, NOTHING, "", "usage") for letter in letters[:-1]]
                    name = letters[-1]
                found.append(Documented(name, takes, "", "usage"))
    return found
