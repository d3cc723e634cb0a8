"""Recognises placeholders: ``changeme``, ``<your-token>``, ``${TOKEN}``, ``xxxx``, ``12345678``.

Decided by structure, so that no key which a machine made at random is taken for one: slots and masks, regularity that
chance would not make once in a billion keys, and whole words of which little else is left.
"""

from __future__ import annotations

from operator import eq

from lockgate.core.lazy import lazy_re

_LOOKED_AT = 64
"""Characters that are searched for regularity. A key has shown that it is random long before."""

_LONGEST_PERIOD = 16
"""Characters that a dummy repeats."""

_SLOT = lazy_re(
    r"""<[a-z][a-z0-9_ .:|-]{2,80}> | <[A-Z][A-Z0-9_ .:|-]{2,80}> | <[A-Z][a-z][A-Za-z_ -]{3,80}>
      | [\#$]\{[A-Za-z_][\w.:?-]{0,80}\} | \$\([a-z]{2}[^()]{0,80}\) | \{\{[^{}]{0,80}\}\} | \{%[^%]{0,80}%\}
      | %\([\w.]{1,40}\)s | %[sdrv@] | \{[A-Za-z_][a-z_.]{2,40}\} | \{\d?\}
      | @[A-Za-z_.-]{3,60}@ | \[\[?[A-Za-z][A-Za-z_ .:-]{2,60}\]\]? | __[A-Z][A-Z_]{2,60}__ | %[A-Z_]{3,40}%""",
    0x40,  # re.VERBOSE, which is not imported for it
)
"""Where a template engine, a shell or a reader fills a value in."""
_VARIABLE = lazy_re(r"\$(?:env:)?(?:[A-Z_][A-Z0-9_]*|[a-z_]+)\Z")
_MASKED = lazy_re(
    r"\*{4}|\*{3}\Z|•{3}|…|\.{3}\Z|^[\w-]+\.{3}[\w-]*\Z|^.{0,24}?[xX]{5,}\Z|^.{0,64}?[xX]{40,}\Z|^[xX*.#?_-]+\Z"
)
"""What somebody took out, or never put in. A whole key with an ``xxxxx`` behind it is a key."""

_NEXT = str.maketrans("0123456789abcdefghijklmnopqrstuvwxyz", "1234567890bcdefghijklmnopqrstuvwxyza")
_NEXT_KEY = str.maketrans("qwertyuiopasdfghjklzxcvbnm1234567890", "wertyuiop[sdfghjkl;xcvbnm,2345678901")
"""The neighbour on the right on a keyboard."""


def is_placeholder(text: str) -> bool:
    """Whether a text is a dummy. Of texts that a machine made at random, fewer than one in a billion is one."""
    return _is_slot(text) or _MASKED.search(text) is not None or is_regular(text) or says_so(text)


def _is_slot(text: str) -> bool:
    if _VARIABLE.match(text):
        return True
    if not any(char in text for char in "<{([%@_"):
        return False
    # A password may hold brackets: what is filled in must be at least half of it.
    return 2 * sum(len(slot.group()) for slot in _SLOT.finditer(text)) >= len(text) > 0


def is_regular(text: str) -> bool:
    """Whether most of a text follows from what is before it: repeated, counted up or down, walked on a keyboard."""
    body = "".join(char for char in text[:_LOOKED_AT].lower() if char.isalnum())
    size = len(body)
    if size < 4:
        return len(set(body)) < 2
    bits = _bits_per_character(body)
    following = body.translate(_NEXT)
    keys = body.translate(_NEXT_KEY)
    hits = [
        (sum(map(eq, body[1:], following)), 1),
        (sum(map(eq, body, following[1:])), 1),
        (sum(map(eq, body[1:], keys)), 1),
        *((sum(map(eq, body[lag:], body)), lag) for lag in _lags(min(_LONGEST_PERIOD, size // 2))),
    ]
    return any(_is_no_chance(count, size - lag, bits, whole=lag <= 3) for count, lag in hits if 2 * count >= size - lag)


def _lags(longest: int) -> set[int]:
    """How far apart to look for repetition: each period up to the longest has a multiple among the upper half."""
    return {*range(1, min(3, longest) + 1), *range(longest // 2 + 1, longest + 1)}


def _bits_per_character(body: str) -> float:
    """What one character of a random text in this alphabet, without case, says."""
    if body.isdigit():
        return 3.3
    return 4.0 if set(body) <= set("0123456789abcdef") else 4.7


def _is_no_chance(count: int, places: int, bits: float, *, whole: bool) -> bool:
    """Whether ``count`` of so many places would be foreseen in fewer than one random text in a billion."""
    from math import comb, log2

    if count == places:
        return whole or count * bits > 30
    return count * bits - log2(comb(places, count)) > 30


_MARKS = frozenset(
    """change dummy example examples fake fixme foo bar baz foobar here insert lorem masked mock obfuscated omitted
    placeholder redacted replace replaced sample sanitized scrubbed censored todo tbd unset your yours xxx xxxx
    notreal invalid bogus nope goes enter""".split()  # noqa: SIM905 - words
)
"""Words that say of a value that it is none."""
_WEAK_MARKS = frozenset(
    "my test tests testing tester demo dev local default some none null undefined empty".split()  # noqa: SIM905
)
"""Words that say so only of a value that has no others than these: ``sk_test_`` begins real keys."""
_NEUTRAL = frozenset(
    """a access account admin and any api app application as auth aws azure anthropic b base bearer bot cert client code
    config credential credentials data database db email github gitlab go google hash host http https id in is it
    jwt key keys local login me name new not number of oauth openai or org pass passphrase passwd password private
    project public put pw pwd secret secrets server service session set signing sk slack string stripe super that the
    this to token tokens type url use user username value very webhook with""".split()  # noqa: SIM905 - words
)
_LONG_MARKS = (
    *("example", "placeholder", "changeme", "change_me", "change-me", "redacted", "replaceme", "replace_me"),
    *("examplekey", "example_key", "example-key", "replace-me", "yourtoken", "yourapi"),
    *("yoursecret", "yourkey", "yourpass", "your_api", "your-api", "insertyour"),
)
"""So long that chance does not make them: they count without anything that parts them from the rest."""
_ALL_MARKS = _MARKS | _WEAK_MARKS
_WORDS = _ALL_MARKS | _NEUTRAL
_LONGEST_WORD = max(map(len, _WORDS))
_A_KEY = 32
"""So many characters beside a word may be a whole key, to which somebody has put the word."""

_PIECE = lazy_re(r"[a-z]+")
_ALONE = lazy_re(r"(?<![a-z0-9])[a-z]+(?![a-z0-9])")


def says_so(text: str) -> bool:
    """Whether words in a text say that it is no value, and little else is in it."""
    if len(text) > 2 * _A_KEY:
        return False
    low = text.lower()
    rest = len(text) - _A_KEY
    if any(mark in low and len(mark) > rest for mark in _LONG_MARKS):
        return True
    if any(word in _MARKS and len(word) > max(3, rest) for word in _ALONE.findall(low)):
        return True
    return any(mark in low for mark in _ALL_MARKS) and _is_all_words(low)


def _is_all_words(low: str) -> bool:
    """Whether nearly all letters are those of known words, one of which says that it is no value."""
    letters = covered = 0
    found: set[str] = set()
    for piece in _PIECE.findall(low):
        words = _best_words(piece)
        letters += len(piece)
        covered += sum(map(len, words))
        found.update(words)
    if not letters or sum(map(str.isdigit, low)) > letters:
        return False
    if covered == letters:
        return not found.isdisjoint(_ALL_MARKS)
    return 3 * covered >= 2 * letters and not found.isdisjoint(_MARKS)


def _best_words(piece: str) -> tuple[str, ...]:
    """Known words that cover as many letters of a piece as words can, without overlapping."""
    best: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    for end in range(1, len(piece) + 1):
        choice = best[end - 1]
        for start in range(max(0, end - _LONGEST_WORD), end):
            word = piece[start:end]
            if word in _WORDS and best[start][0] + end - start > choice[0]:
                choice = (best[start][0] + end - start, (*best[start][1], word))
        best.append(choice)
    return best[-1][1]
