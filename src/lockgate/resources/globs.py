"""Matches shell-like patterns over the names of a path, and tells whether two can mean the same path.

A *pattern* and a *path* are tuples of names. In a pattern, ``*``, ``?`` and ``[...]`` stay within one name and the
name ``**`` stands for any number of names, also none. A path may hold the same marks (a shell expands them later);
the question is then whether some path is matched by both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

Names = tuple[str, ...]
_ANY = ""
"""Token for a star.

All other tokens are sets of characters as text: one of them, or with a leading ``!`` none of them.
"""

LONGEST = 255
"""Names longer than this cannot exist (255 bytes); as a pattern, what lies behind is taken as a star."""

_TELLING = 6
"""Letters with which a wild name begins that says of which folder it speaks."""


def is_wild(name: str) -> bool:
    """Whether a name has a mark that a shell would expand."""
    return "*" in name or "?" in name or "[" in name


def _class_end(name: str, start: int) -> int:
    """Index of the ``]`` that closes the class opened before ``start``, -1 where it is not closed."""
    at = start + 1 if name[start : start + 1] in {"!", "^"} else start
    first = at
    while at < len(name):
        if name[at] == "]" and at > first:
            return at
        if name[at] == "[" and name[at + 1 : at + 2] in {":", ".", "="}:
            # A named class such as [:alpha:] within this one.
            inner = name.find(name[at + 1] + "]", at + 2)
            at = inner + 1 if inner > 0 else at
        at += 1
    return -1


def _expand(members: str) -> str:
    """The characters of a class, ranges written out; everything (``"!"``) where it is not a plain one."""
    if "[" in members or "\\" in members:
        return "!"
    negated = members[:1] in {"!", "^"}
    body = members[1:] if negated else members
    out: list[str] = []
    index = 0
    while index < len(body):
        if body[index + 1 : index + 2] == "-" and index + 2 < len(body):
            low, high = ord(body[index]), ord(body[index + 2])
            if high - low > 256:
                return "!"
            out += [chr(code).casefold() for code in range(low, high + 1)]
            index += 3
        else:
            out.append(body[index])
            index += 1
    return ("!" if negated else "=") + "".join(out)


@lru_cache(maxsize=1024)
def _tokens(name: str) -> tuple[str, ...]:
    tokens: list[str] = []
    index, text = 0, name[:LONGEST]
    while index < len(text):
        character = text[index]
        if character == "*":
            if not tokens or tokens[-1] != _ANY:
                tokens.append(_ANY)
        elif character == "?":
            tokens.append("!")
        elif character == "[" and (end := _class_end(text, index + 1)) > 0:
            tokens.append(_expand(text[index + 1 : end]))
            index = end
        else:
            tokens.append("=" + character)
        index += 1
    if len(name) > LONGEST:
        tokens.append(_ANY)
    return tuple(tokens)


def _have_common(left: str, right: str) -> bool:
    """Whether some character is in both sets."""
    if left[0] == "=" and right[0] == "=":
        return any(character in right[1:] for character in left[1:])
    if left[0] == "!" and right[0] == "!":
        return True
    inside, outside = (left, right) if left[0] == "=" else (right, left)
    return any(character not in outside[1:] for character in inside[1:])


def common_ending(pattern: str) -> str:
    """The letters that all names end in which a pattern matches, up to ``LONGEST``."""
    return _ends(pattern)[1] if is_wild(pattern) else pattern


def common_beginning(pattern: str) -> str:
    """The letters that all names begin with which a pattern matches."""
    return _ends(pattern)[0] if is_wild(pattern) else pattern


def longest_text(pattern: str) -> str:
    """The longest text that all names hold which a pattern matches; of ``*.tfstate.*`` it is ``.tfstate.``."""
    letters = (token[1] if len(token) == 2 and token[0] == "=" else "\0" for token in _tokens(pattern))
    return max("".join(letters).split("\0"), key=len)


@lru_cache(maxsize=2048)
def _ends(name: str) -> tuple[str, str]:
    """What stands before the first mark of a wild name and behind its last one."""
    first = min(at for mark in "*?[" if (at := name.find(mark)) >= 0)
    return name[:first], name[max(map(name.rfind, "*?[]")) + 1 :]


@lru_cache(maxsize=8192)
def names_meet(left: str, right: str) -> bool:
    """Whether some one name is matched by both patterns.

    A leading wildcard of ``right`` does not match a dot, as in a shell.
    """
    if left == right:
        return True
    if right[:1] in {"*", "?", "["} and left[:1] == ".":
        return False
    left_wild, right_wild = is_wild(left), is_wild(right)
    if max(len(left), len(right)) > LONGEST:
        return _can_meet(_tokens(left), _tokens(right), lambda token: token == _ANY, _have_common)
    if not (left_wild or right_wild):
        return False
    before, after = _ends(left) if left_wild else (left, left)
    other_before, other_after = _ends(right) if right_wild else (right, right)
    if not (before.startswith(other_before) or other_before.startswith(before)):
        return False
    if not (after.endswith(other_after) or other_after.endswith(after)):
        return False
    if left_wild and right_wild:
        return _can_meet(_tokens(left), _tokens(right), lambda token: token == _ANY, _have_common)
    return name_matches(left, right) if left_wild else name_matches(right, left)


def may_be(written: str, name: str) -> bool:
    """Whether a name as it is written can become another one."""
    return written == name or (is_wild(written) and names_meet(name, written))


def aims_at(name: str, wanted: str) -> bool:
    """Whether a wild name aims at what a pattern matches, rather than at everything (``*.json``).

    It must spell something of the stem, or where the pattern has no stem itself (``*.pem``), of the rest.
    """
    if not is_wild(name) or wanted == "**":
        return True
    stem, _, extension = name.rpartition(".") if name.rfind(".") > 0 else (name, "", "")
    spelt = extension if wanted.startswith("*.") else stem
    if wanted.startswith("*") and spelt is stem:
        # What stands before the first mark says nothing about a pattern that begins with one (`cred*` and `*_rsa`).
        spelt = stem[min(stem.find(mark) % (len(stem) + 1) for mark in "*?[") :]
    return any(character not in "*?[]" for character in spelt)


@lru_cache(maxsize=2048)
def spells_some_of(name: str, wanted: str) -> bool:
    """Whether a wild name spells a letter of what a wild pattern spells, where the two meet.

    Else the stars of each stand for all that the other says: ``* *`` and ``mise.*.toml`` meet in names that nobody
    has. An ending that both have says nothing where the pattern spells more than that.
    """
    stem, _, extension = name.rpartition(".")
    wanted_stem, _, wanted_extension = wanted.rpartition(".")
    if stem and extension == wanted_extension and wanted_stem.strip("*?") and not is_wild(extension):
        name, wanted = stem, wanted_stem
    telling = "".join(filter(str.isalnum, wanted)) or wanted.strip("*?")
    return _have_common_name(_tokens(name), _tokens(wanted), telling)


def _have_common_name(left: Sequence[str], right: Sequence[str], telling: str) -> bool:
    """Whether two patterns stand for one name in which both of them spell one of some characters."""
    meets, shares = [True], [False]
    for other in right:
        meets.append(meets[-1] and other == _ANY)
        shares.append(False)
    for item in left:
        star = item == _ANY
        now, shared = [meets[0] and star], [False]
        for index, other in enumerate(right):
            if star or other == _ANY:
                now.append(now[index] or meets[index + 1])
                shared.append(shared[index] or shares[index + 1])
            else:
                fits = _have_common(item, other)
                now.append(meets[index] and fits)
                spelt = item == other and item[0] == "=" and item[1:] in telling
                shared.append(fits and (shares[index] or (meets[index] and spelt)))
        meets, shares = now, shared
    return shares[-1]


def aims_at_folder(name: str) -> bool:
    """Whether a wild name says of which folders it speaks: hidden ones (``.clau*``, ``.????``), but not all (``.*``).

    The other folders that places lie in have names that ordinary stars meet (``s*``, ``dist-*`` and ``dist-packages``):
    of those it must spell more (``site-pack*``).
    """
    if not is_wild(name):
        return False
    if name.startswith("."):
        return "*" not in name or name.strip(".*?[]!^") != ""
    return not is_wild(name[:_TELLING])


def _can_meet(
    left: Sequence[str], right: Sequence[str], is_star: Callable[[str], bool], meet: Callable[[str, str], bool]
) -> bool:
    """Whether two sequences with stars can stand for one: a table of ``len(left) * len(right)`` cells, row by row."""
    row = [True]
    for other in right:
        row.append(row[-1] and is_star(other))
    for item in left:
        star = is_star(item)
        fresh = [row[0] and star]
        for index, other in enumerate(right):
            if star or is_star(other):
                fresh.append(fresh[index] or row[index + 1])
            else:
                fresh.append(row[index] and meet(item, other))
        row = fresh
    return row[-1]


def paths_meet(pattern: Names, path: Names) -> bool:
    """Whether some one path is matched by both."""
    index = 0
    for mine, theirs in zip(pattern, path, strict=False):
        # Most pairs differ in one of the first names: the table is not needed for them.
        if mine == "**" or theirs == "**":
            return _can_meet(pattern[index:], path[index:], lambda name: name == "**", names_meet)
        if not names_meet(mine, theirs):
            return False
        index += 1
    return all(name == "**" for name in (*pattern[index:], *path[index:]))


@lru_cache(maxsize=8192)
def name_matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches a name as it is written, whatever marks the name holds."""
    if pattern == name:
        return True
    if not is_wild(pattern):
        return False
    if max(len(pattern), len(name)) <= LONGEST:
        before, after = _ends(pattern)
        if not (name.startswith(before) and name.endswith(after)):
            return False
        between = _pieces_between_stars(pattern)
        if between is not None:
            return _holds(name, len(before), len(name) - len(after), between)
    return _matches(_tokens(pattern), name[:LONGEST])


@lru_cache(maxsize=1024)
def _pieces_between_stars(pattern: str) -> tuple[str, ...] | None:
    """What stands between the stars of a pattern; ``None`` where it has other marks."""
    return tuple(filter(None, pattern.split("*")[1:-1])) if frozenset("?[]").isdisjoint(pattern) else None


def _holds(name: str, start: int, end: int, parts: tuple[str, ...]) -> bool:
    """Whether a part of a name holds texts one behind another."""
    for part in parts:
        start = name.find(part, start, end) + len(part)
        if start < len(part):
            return False
    return start <= end


def _matches(tokens: tuple[str, ...], name: str) -> bool:
    """Match with one point to go back to, the last star: at most ``len(tokens) * len(name)`` steps."""
    at = token = 0
    star = back = -1
    while at < len(name):
        if token < len(tokens) and tokens[token] == _ANY:
            star, back = token, at
            token += 1
        elif token < len(tokens) and (name[at] in tokens[token][1:]) == (tokens[token][0] == "="):
            token += 1
            at += 1
        elif star >= 0:
            token, back = star + 1, back + 1
            at = back
        else:
            return False
    return all(rest == _ANY for rest in tokens[token:])


def beginnings(patterns: tuple[Names, ...]) -> tuple[tuple[str, ...], tuple[Names, ...]]:
    """For patterns of all that lies in a folder: how such paths begin, with a slash behind each name.

    So that one look tells of many. Patterns of folders that hold marks, or that are not absolute, are given back.
    """
    plain = [names for names in patterns if names[0] == "" and not any(map(is_wild, names[:-1]))]
    return tuple("/".join((*names[:-1], "")) for names in plain), tuple(each for each in patterns if each not in plain)


def path_matches(pattern: Names, path: Names) -> bool:
    """Whether a pattern matches a path as it is written."""
    if "**" not in pattern:
        return len(pattern) == len(path) and all(map(name_matches, pattern, path))
    first = pattern.index("**")
    if not all(map(name_matches, pattern[:first], path[:first])) or len(path) < first:
        return False
    rest = pattern[first + 1 :]
    if "**" not in rest:
        return len(path) - first >= len(rest) and (not rest or all(map(name_matches, rest, path[-len(rest) :])))
    last = len(path) - sum(name != "**" for name in rest)
    return any(path_matches(rest, path[start:]) for start in range(first, last + 1))
