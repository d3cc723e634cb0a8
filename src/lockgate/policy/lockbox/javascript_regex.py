r"""Translates Lockbox's regular expressions (JavaScript, no flags) for the ``regex`` library.

What the two read alike is kept; what they read differently is rewritten (``$`` is the very end, ``[^]`` is any
character, ``\A`` is the letter A); what JavaScript does not have (``(?i)``, ``(?>...)``, ``a++``) is an error rather
than something else than was meant. Source: ECMA-262, section 22.2 with Annex B.1.2 (patterns without the ``u`` flag).
"""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re

LONGEST = 1000
"""Most characters of a pattern."""
MOST_REPEATS = 1000
"""Greatest number in a quantifier: a larger one costs memory and means nothing in a command."""
_GROUP = lazy_re(r"\((?:\?(?:[:=!]|<[=!]|<(?P<name>[A-Za-z_]\w*)>))?", re.ASCII)
_QUANTIFIER = lazy_re(r"[*+?]|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}", re.ASCII)
_CODE = lazy_re(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}")
_CONTROL = lazy_re(r"c[A-Za-z]")
_NAMED = lazy_re(r"k<([A-Za-z_]\w*)>", re.ASCII)
# White space that a pattern may want before an option: a word has none.
_BEFORE_OPTION = lazy_re(r"(?:\(\^\|\\s\)|\(\?:\^\|\\s\)|\\s[*+]?|\\b| )?(?=\\?-)")
# White space as ECMA-262 has it; the library's own is ASCII only, as its letters and digits are here.
_SPACE = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SAME = frozenset("dDwWSbBnrtfv")


class DialectError(ValueError):
    """A pattern is not a JavaScript regular expression without flags, or not one that can be kept exactly."""


def translate(pattern: str) -> str:
    """The pattern in the dialect of the ``regex`` library, to be compiled with its ``ASCII`` flag.

    Raises:
        DialectError: with what is wrong, for a person.
    """
    if len(pattern) > LONGEST:
        raise DialectError(f"a pattern has at most {LONGEST} characters, not {len(pattern)}")
    out: list[str] = []
    at = 0
    repeatable = False
    while at < len(pattern):
        character = pattern[at]
        quantifier = _QUANTIFIER.match(pattern, at)
        if quantifier:
            if not repeatable:
                raise DialectError(f"there is nothing to repeat at {at}")
            text, at = _quantifier(quantifier, pattern)
            repeatable = False
        else:
            text, at = _atom(character, pattern, at)
            repeatable = text != "" and character not in "^(|$" and text not in (r"\b", r"\B")
        out.append(text)
    return "".join(out)


def translate_option(pattern: str) -> str:
    """For a pattern that is about an option (it begins with a dash): what a whole word must match. Else empty.

    Raises:
        DialectError: with what is wrong, for a person.
    """
    start = _BEFORE_OPTION.match(pattern)
    return translate(pattern[start.end() :]) if start else ""


def _quantifier(match: re.Match[str], pattern: str) -> tuple[str, int]:
    numbers = [int(number) for number in (match["least"], match["most"]) if number]
    if any(number > MOST_REPEATS for number in numbers):
        raise DialectError(f"a repetition of more than {MOST_REPEATS} at {match.start()}")
    if len(numbers) == 2 and numbers[0] > numbers[1]:
        raise DialectError(f"numbers out of order in the repetition at {match.start()}")
    end = match.end()
    lazy = pattern[end : end + 1] == "?"
    return match.group() + ("?" if lazy else ""), end + lazy


def _atom(character: str, pattern: str, at: int) -> tuple[str, int]:
    if character == "\\":
        return _escape(pattern, at, in_class=False)
    if character == "[":
        return _class(pattern, at)
    if character == "(":
        return _group(pattern, at)
    if character == "$":
        return r"\Z", at + 1
    if character == ".":
        return r"[^\n\r\u2028\u2029]", at + 1
    if character in "{}]":
        return "\\" + character, at + 1
    return character, at + 1


def _group(pattern: str, at: int) -> tuple[str, int]:
    match = _GROUP.match(pattern, at)
    assert match
    if match.group() == "(" and pattern[at + 1 : at + 2] == "?":
        raise DialectError(f"a group that JavaScript does not have, at {at}")
    return (f"(?P<{match['name']}>" if match["name"] else match.group()), match.end()


def _escape(pattern: str, at: int, *, in_class: bool) -> tuple[str, int]:
    """An escape, and where the pattern goes on."""
    after = at + 1
    if after >= len(pattern):
        raise DialectError("it ends in a lone backslash")
    character = pattern[after]
    if code := _CODE.match(pattern, after) or (_CONTROL.match(pattern, after)):
        text = f"\\x{ord(code.group()[1]) % 32:02x}" if character == "c" else "\\" + code.group()
        return text, code.end()
    if character == "k" and not in_class and (named := _NAMED.match(pattern, after)):
        return f"(?P={named[1]})", named.end()
    if character.isdigit():
        return _digit(pattern, at, in_class=in_class)
    if character in "xucpPk":
        raise DialectError(f"an escape at {at} that JavaScript reads only with the u flag, or that is not complete")
    if character in "sS" and not in_class:
        return f"[{'' if character == 's' else '^'}{_SPACE}]", after + 1
    if character == "s":
        return _SPACE, after + 1
    if character in _SAME:
        return ("\\" + character if character != "B" or not in_class else "B"), after + 1
    return re.escape(character), after + 1


def _digit(pattern: str, at: int, *, in_class: bool) -> tuple[str, int]:
    digits = re.compile(r"\d+", re.ASCII).match(pattern, at + 1)
    if digits and digits.group() == "0":
        return r"\x00", digits.end()
    if digits is None or in_class or digits.group().startswith("0"):
        raise DialectError(f"an octal escape at {at}: write it as \\xHH")
    # In parentheses, so that a digit that follows is not read as part of the number.
    return f"(?:\\{digits.group()})", digits.end()


def _class(pattern: str, at: int) -> tuple[str, int]:
    """A class such as ``[^a-z]``, and where the pattern goes on."""
    negated = pattern[at + 1 : at + 2] == "^"
    place = at + 1 + negated
    parts: list[str] = []
    while place < len(pattern) and pattern[place] != "]":
        if pattern[place] == "\\":
            part, place = _escape(pattern, place, in_class=True)
        else:
            # Everything but the range sign is escaped: `[[:alpha:]]`, `&&` and `||` mean nothing in JavaScript.
            part = pattern[place] if pattern[place] == "-" or pattern[place].isalnum() else re.escape(pattern[place])
            place += 1
        parts.append(part)
    if place >= len(pattern):
        raise DialectError(f"the class that begins at {at} has no end")
    if not parts:
        return (r"[\s\S]" if negated else r"(?!)"), place + 1
    text = "".join(parts)
    # A dash at an end is a dash; `--` would be a set difference elsewhere.
    text = (r"\-" + text[1:]) if text.startswith("-") else text
    text = (text[:-1] + r"\-") if text.endswith("-") and not text.endswith(r"\-") else text
    return f"[{'^' if negated else ''}{text}]", place + 1
