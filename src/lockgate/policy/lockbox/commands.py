"""Lockbox's patterns for shell commands, matched against one simple command at a time.

The order is Lockbox's: ``override_safe``, ``unsafe_acting``, ``unsafe``, ``acting``, ``safe``. Two things are
stricter, because a pattern looks at text and an agent can write any text: a pattern that *loosens* must match from
the command's first word, or be an option that stands alone; a pattern that *tightens* may match anywhere.
``docs/lockbox-compatibility.md`` lists all differences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Category
from lockgate.core.record import Record
from lockgate.resources.host_view import EVERY, CategoryRule
from lockgate.system.libraries import library

STEPS = ("override_safe", "unsafe_acting", "unsafe", "acting", "safe")
"""Lockbox's lists, in the order in which they are asked."""
NOT_SAFE = "not_safe"
"""Asked last: what a person removed from Lockbox's shipped ``safe`` patterns."""
TIMEOUT = 0.02
"""Seconds that one pattern may take on one command."""

_OVERRULES: dict[str, frozenset[Category | None]] = {
    "override_safe": EVERY,
    "unsafe": frozenset({Category.UNSAFE, Category.ACTING, Category.SAFE, None}),
    "safe": frozenset({Category.SAFE, None}),
}
_SYSTEM = lazy_re(r"/(?:usr/(?:local/)?|opt/homebrew/)?s?bin/([^/\s]+)")
# The end of a loosening match: not in the middle of a name, so that `get` does not speak for `get-and-send`.
_WHOLE_NAME = r"(?!(?<=[\w\-\x80-\U0010ffff])[\w\-\x80-\U0010ffff])"
_BARE = lazy_re(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_SPACE = lazy_re(r"\s")
_NO_SPACE = "\ufffc"
"""Stands for white space inside a word and for an empty word: a pattern's white space matches only between words."""
# Programs that run what their arguments name: an option somewhere behind proves nothing about it.
_RUNNERS = frozenset(
    (  # noqa: SIM905 - one name a line would be three screens
        "ash bash bun bunx busybox chroot command dash deno doas docker env eval exec find fish flock gdb ionice java "
        "ksh ltrace make nice node nohup npm npx nsenter parallel perl php pipx pnpm podman poetry python python2 "
        "python3 ruby rush screen script setsid sh ssh strace su sudo systemd-run taskset time timeout tmux tsx "
        "unshare uv uvx watch xargs yarn zsh"
    ).split(),
)


class Pattern(Record):
    """One pattern of a list, in the dialect of the ``regex`` library (``lockgate.policy.lockbox.javascript_regex``)."""

    step: str
    expression: str
    option: str
    """For a pattern that begins with a dash: what a whole word must match. Empty for all others."""
    rule: str


class _Ready(Record):
    """A pattern and how to ask it. Both functions raise ``TimeoutError``."""

    pattern: Pattern
    anywhere: Callable[[str], bool]
    leading: Callable[[Sequence[str | None]], bool]


def _ready(pattern: Pattern) -> _Ready:
    regex = library("regex")
    flags = regex.ASCII | regex.VERSION0
    found = regex.compile(pattern.expression, flags)
    whole = regex.compile(pattern.option or "(?!)", flags)
    first = regex.compile(f"(?:{pattern.expression}){_WHOLE_NAME}", flags)
    looks_ahead = "(?=" in pattern.expression or "(?!" in pattern.expression

    def anywhere(text: str) -> bool:
        return found.search(text, timeout=TIMEOUT) is not None

    def is_leading(words: Sequence[str | None]) -> bool:
        for text, limit in _list_leading_texts(words):
            if limit < len(text) and looks_ahead:
                continue
            match = first.match(text, timeout=TIMEOUT)
            if match is not None and 0 < match.end() <= limit:
                return True
        return False

    def option(words: Sequence[str | None]) -> bool:
        return any(whole.fullmatch(word, timeout=TIMEOUT) for word in _lone_options(words))

    return _Ready(pattern, anywhere, option if pattern.option else is_leading)


def _lone_options(words: Sequence[str | None]) -> list[str]:
    """Options of a command that has nothing but bare names before them, and runs none of its arguments."""
    if not words or words[0] is None or None in words:
        return []
    program = _program(words[0])
    if program in _RUNNERS or not _BARE.fullmatch(program):
        return []
    for place, word in enumerate(words[1:], 1):
        if word is None or word == "--":
            return []
        if word.startswith("-"):
            return [word] if place == len(words) - 1 else []
        if not _BARE.fullmatch(word):
            return []
    return []


def _program(word: str) -> str:
    """The name of a program; with its path only where that is not a folder of the system."""
    system = _SYSTEM.fullmatch(word)
    return system[1] if system else word


def _list_leading_texts(words: Sequence[str | None]) -> list[tuple[str, int]]:
    """Texts that a loosening pattern may match from their start, each with the greatest end that a match may have."""
    static: list[str] = []
    for word in words:
        if word is None:
            break
        static.append(_SPACE.sub(_NO_SPACE, word) or _NO_SPACE)
    if not static:
        return []
    dynamic = len(static) < len(words)
    texts = []
    for first in dict.fromkeys((static[0], _program(static[0]))):
        text = " ".join([first, *static[1:]])
        texts.append((f"{text} {_NO_SPACE}", len(text) + 1) if dynamic else (text, len(text)))
    return texts


def _list_tightening_texts(text: str, words: Sequence[str | None]) -> list[str]:
    """Texts in which a tightening pattern may match anywhere: as written, and with the program's bare name."""
    joined = " ".join(word for word in words if word is not None)
    bare = re.sub(r"^[^\s]*/", "", joined)
    return list(dict.fromkeys(candidate for candidate in (text, joined, bare) if candidate))


class CommandRules:
    """All patterns of a configuration, as a function of one simple command. Compiled when first asked."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        order = (*STEPS, NOT_SAFE)
        self._patterns = sorted(patterns, key=lambda pattern: order.index(pattern.step))
        self._ready: list[_Ready] = []

    def __call__(self, text: str, words: tuple[str | None, ...]) -> CategoryRule | None:
        """The category that a person's patterns give to a simple command.

        Args:
            text: Its text with quoting resolved.
            words: Its words; ``None`` where one is dynamic.
        """
        if not self._patterns:
            return None
        if not self._ready:
            self._ready = [_ready(pattern) for pattern in self._patterns]
        texts = _list_tightening_texts(text, words)
        reads = ""
        for ready in self._ready:
            pattern = ready.pattern
            try:
                found = _ask(ready, texts, words)
            except TimeoutError:
                also = reads or pattern.step.startswith("unsafe")
                category = Category.UNSAFE_ACTING if also else Category.ACTING
                return CategoryRule(category, f"{pattern.rule} (took longer than {TIMEOUT:g} s)")
            if found is None:
                continue
            if pattern.step == "unsafe" and not found.overrules:
                # Found inside the command: it adds a read, and what the later lists say still counts.
                reads = reads or pattern.rule
                continue
            return _join(found, reads)
        return CategoryRule(Category.UNSAFE, reads) if reads else None


def _ask(ready: _Ready, texts: Sequence[str], words: Sequence[str | None]) -> CategoryRule | None:
    pattern = ready.pattern
    step = "acting" if pattern.step == NOT_SAFE else pattern.step
    if step in _OVERRULES and ready.leading(words):
        category = Category.UNSAFE if step == "unsafe" else Category.SAFE
        return CategoryRule(category, pattern.rule, _OVERRULES[step])
    if step in ("override_safe", "safe") or not any(map(ready.anywhere, texts)):
        return None
    return CategoryRule(Category(step), pattern.rule)


def _join(found: CategoryRule, reads: str) -> CategoryRule:
    """A rule, with the read that an earlier pattern found inside the command."""
    if not reads:
        return found
    if found.category is Category.SAFE:
        return found._replace(category=Category.UNSAFE, rule=reads)
    return found._replace(category=Category.UNSAFE_ACTING, rule=f"{reads}, {found.rule}")
