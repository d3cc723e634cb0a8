"""Finds matches of rules: Hyperscan gives each match's end, and RE2 its text.

Both take time linear in the length of the text. Hyperscan looks for all rules at once, in pieces of the text between
which the time is looked at; RE2 then looks at the few thousand bytes around a hit, and only for the rule that was hit.
"""

from __future__ import annotations

import json
from _thread import allocate_lock  # what threading.Lock is, without the rest of that module
from collections.abc import Callable, Iterable, Iterator

from lockgate.core.errors import PatternError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.model import Candidate, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    Finder: TypeAlias = "Callable[[bytes, int, int], Sequence[tuple[int, int]]]"

FORMAT = 3
"""The version of the artefact's format."""
UNBOUNDED = 8192
"""Bytes of the longest match and of what is looked at before it: more is not looked for."""
PIECE = 256 * 1024
"""Bytes that are scanned at once."""
_OVERLAP = 2 * UNBOUNDED
"""Bytes that two pieces share: a match and what is before it are whole in one of them."""
_SHORT, _REMEMBERED = 64, 4096
"""Bytes of a text that is remembered where nothing is found in it, and how many such texts are."""
_AROUND = 80
"""Bytes beside a match that validators see."""
MANY = 2000
"""Hits of one anchor in one piece that are kept."""
_AGAIN = 32
"""How often a refused match is looked behind for another that begins within it."""

_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_TOKEN = _WORD | frozenset(b"-./+")
_ESCAPES = frozenset((b"\\n", b"\\t", b"\\r"))


def needs_no_boundary(rule: Rule) -> bool:
    """Whether a checksum proves what the rule finds, so that letters may touch it."""
    from lockgate.patterns.validators import CHECKSUMS

    return any(name in CHECKSUMS for name, _ in rule.validate)


class ConfirmedMatch(Record):
    """A confirmed match of a rule's pattern. Offsets are bytes."""

    rule: int
    start: int
    end: int
    value_start: int
    value_end: int
    key: bytes
    alone: bool = True
    """Whether its boundaries hold."""

    def candidate(self, data: bytes) -> Candidate:
        """The same as validators look at it, with what stands beside it in the text."""

        def text(start: int, end: int) -> str:
            return data[max(start, 0) : end].decode("utf-8", "replace")

        return Candidate(
            value=text(self.value_start, self.value_end),
            match=text(self.start, self.end),
            key=self.key.decode("utf-8", "replace"),
            before=text(self.start - _AROUND, self.start),
            after=text(self.end, self.end + _AROUND),
        )


class Hits(Record):
    """The hits in one piece of a text."""

    ends: dict[int, list[int]]
    """For each rule, where matches of its anchor end."""
    spots: list[tuple[str, int]]
    """Where something encoded may be: the spot's name, and where its match ends."""
    start: int
    stop: int


_NOTHING = (Hits({}, [], 0, 0),)


def expression(rule: Rule) -> str:
    """A rule's pattern as both engines take it."""
    return ("(?m)" if rule.multiline else "") + rule.pattern


class Database:
    """The loaded Hyperscan database. Its scratch space serves one thread at a time, and so does this."""

    def __init__(self, serialised: bytes, hyperscan: Any) -> None:
        """Load it. Raises ``hyperscan.error`` where it is damaged, or of another version or kind of machine."""
        self._database = hyperscan.loadb(serialised, hyperscan.HS_MODE_BLOCK)
        self._database.scratch = hyperscan.Scratch(self._database)
        self._turn = allocate_lock()

    def scan(self, data: bytes, hit: Callable[[int, int, int, int, object], None]) -> None:
        """Tell of each hit: its number, where it may begin and where it ends, and two things that mean nothing here."""
        with self._turn:
            self._database.scan(data, match_event_handler=hit)


class Matcher:
    """A compiled library."""

    def __init__(self, artefact: bytes, hyperscan: Any, re2: Callable[[], Any], database: bytes | None = None) -> None:
        """Load an artefact of :func:`lockgate.patterns.engine.compiling.compile_library`.

        Args:
            artefact: Its bytes.
            hyperscan: The module, or its native part.
            re2: Gives the module RE2 when a first hit needs it.
            database: The artefact's last part, where that was read apart: it has megabytes, and is then not copied.

        Raises:
            PatternError: They are damaged, or of another version or kind of machine.
        """
        head, _, _ = artefact.partition(b"\n")
        try:
            self.header = json.loads(head)
            lengths: list[int] = self.header["rules"]
            if self.header["format"] != FORMAT:
                raise ValueError
        except (ValueError, KeyError, TypeError):
            raise PatternError("the compiled pattern library is damaged") from None
        self._offsets = [len(head) + 1]
        for length in lengths:
            self._offsets.append(self._offsets[-1] + length)
        self._artefact = artefact
        self._rules: dict[int, Rule] = {}
        self._patterns: dict[int, tuple[Finder, int, int]] = {}
        self._compiled: dict[str, tuple[Finder, int, int]] = {}
        self._re2 = re2
        self._empty: set[bytes] = set()
        """Short texts in which nothing was found: names of parameters, folders and commands come again and again."""
        self._spots: list[str] = self.header["spots"]
        self._anchors: list[list[int]] = self.header["anchors"]
        self._windows: list[list[int]] = self.header["windows"]
        self.joins: bool = self.header["joins"]
        """Whether what is found in a text is found too where that is a line among others."""
        try:
            serialised = artefact[self._offsets[-1] :] if database is None else database
            self._database = Database(serialised, hyperscan)
        except hyperscan.error as error:
            raise PatternError(f"the compiled pattern library cannot be loaded: {error}") from None

    def rule(self, index: int) -> Rule:
        """The rule with an index, without what only people read."""
        rule = self._rules.get(index)
        if rule is None:
            fields = json.loads(self._artefact[self._offsets[index] : self._offsets[index + 1]])
            if "severity" in fields:
                fields["severity"] = Severity(fields["severity"])
            fields["validate"] = tuple((name, number) for name, number in fields.get("validate", ()))
            fields["applies_to"] = tuple(fields.get("applies_to", ("*",)))
            fields["fields"] = tuple(fields.get("fields", ()))
            rule = self._rules[index] = Rule(**fields)
        return rule

    def pattern(self, index: int) -> tuple[Finder, int, int]:
        """What finds a rule's pattern, and the numbers of its groups ``value`` and ``key``; 0 for none."""
        pattern = self._patterns.get(index)
        if pattern is None:
            text = expression(self.rule(index))
            pattern = self._compiled.get(text)
            if pattern is None:
                pattern = self._compiled[text] = self._compile(text)
            self._patterns[index] = pattern
        return pattern

    def _compile(self, text: str) -> tuple[Finder, int, int]:
        re2 = self._re2()
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        compiled = re2.compile(text.encode("utf-8"), options)
        names = compiled.groupindex
        return _finder(re2, compiled), names.get(b"value", 0), names.get(b"key", 0)

    def pieces(self, data: bytes) -> Iterable[Hits]:
        """Look at a text piece by piece. Pieces overlap, so that a match is whole in one of them."""
        if len(data) > _SHORT:
            return self._find_overlapping(data) if len(data) > PIECE else (self._hits(data, 0, len(data)),)
        if data in self._empty:
            return _NOTHING
        hits = self._hits(data, 0, len(data))
        if not (hits.ends or hits.spots):
            if len(self._empty) >= _REMEMBERED:
                self._empty.clear()
            self._empty.add(data)
        return (hits,)

    def _find_overlapping(self, data: bytes) -> Iterator[Hits]:
        start = 0
        while True:
            stop = min(start + PIECE, len(data))
            yield self._hits(data[start:stop], start, stop)
            if stop == len(data):
                return
            start = stop - _OVERLAP

    def _hits(self, piece: bytes, start: int, stop: int) -> Hits:
        found: dict[int, list[int]] = {}
        spots: list[tuple[str, int]] = []
        anchors, names = self._anchors, self._spots
        count = len(anchors)

        def hit(anchor: int, _from: int, end: int, _flags: int, _context: object) -> None:
            if anchor >= count:
                spots.append((names[anchor - count], start + end))
                return
            ends = found.get(anchor)
            if ends is None:
                found[anchor] = [start + end]
            elif len(ends) < MANY:
                ends.append(start + end)

        self._database.scan(piece, hit)
        return Hits({rule: ends for anchor, ends in found.items() for rule in anchors[anchor]}, spots, start, stop)

    def in_reach(self, index: int, data: bytes, hits: Hits) -> list[int]:
        """Where matches of a rule's anchor end that leave room for a match of the rule."""
        ends = hits.ends[index]
        before, _, least = self._windows[index]
        if len(ends) == MANY:  # and perhaps more, which nobody kept
            return ends
        room = len(data) - least
        return [end for end in ends if end - before <= room] if room >= 0 else []

    def confirm(self, index: int, data: bytes, hits: Hits, accept: Callable[[ConfirmedMatch], int]) -> None:
        """Hand each match of one rule in a piece to ``accept``; after one that it refuses, look within it again.

        ``accept`` gives where the match ends, or 0 where it refuses it.

        RE2 looks at the window around each hit, or once at the whole piece where the windows together are larger.
        """
        ends = self.in_reach(index, data, hits)
        before, behind, _ = self._windows[index]
        if len(ends) == MANY or len(ends) * (before + behind) > hits.stop - hits.start:
            self._search(index, data, hits.start, hits.stop, min(len(data), hits.stop + behind), accept)
            return
        done = 0
        for end in sorted(ends):
            if end > done:
                stop = min(len(data), end + behind)
                done = max(done, self._search(index, data, max(done, end - before), end, stop, accept))

    def _search(
        self, index: int, data: bytes, start: int, last: int, stop: int, accept: Callable[[ConfirmedMatch], int]
    ) -> int:
        """Accept matches that begin before ``last``; the end of the last accepted, or 0."""
        (find, value, key), rule = self.pattern(index), self.rule(index)
        anywhere = needs_no_boundary(rule)
        done = refused = 0
        while start < last:
            spans = find(data, start, stop)
            begin, end = spans[0]
            if begin < 0 or begin >= last or begin == end:
                break
            inner, outer = spans[value]
            if inner < 0:
                inner, outer = begin, end
            alone = _is_bounded(data, begin, end, rule.boundary)
            name = data[slice(*spans[key])] if key else b""
            found = ConfirmedMatch(index, begin, end, inner, outer, name, alone)
            if accepted := accept(found):
                start = done = accepted
                continue
            refused += 1
            if alone:
                again = max(inner, begin + 1)
            else:
                again = begin + 1 if anywhere else _next_word(data, begin, last, rule.boundary)
            start = again if refused <= _AGAIN else max(end, again)
        return done


def _finder(re2: Any, compiled: Any) -> Finder:
    """What finds a pattern's first match in a part of a text: the spans of the match and of its groups.

    It is what the module's own ``search`` calls, which takes twice as long: it makes a generator and an object for the
    match. Where a version of the module does not have it, ``search`` is called.
    """
    try:
        match, anywhere = compiled._regexp.Match, re2._re2.RE2.Anchor.UNANCHORED
    except AttributeError:
        return _finder_by_search(compiled)
    return lambda data, start, stop: match(anywhere, data, start, stop)


def _finder_by_search(compiled: Any) -> Finder:
    def find(data: bytes, start: int, stop: int) -> Sequence[tuple[int, int]]:
        found = compiled.search(data, start, stop)
        return [(-1, -1)] if found is None else [found.span(group) for group in range(compiled.groups + 1)]

    return find


def _is_bounded(data: bytes, start: int, end: int, boundary: str) -> bool:
    r"""Whether a match stands alone. An escape (``\n``) before it is no letter."""
    if boundary == "none":
        return True
    letters, always = (_TOKEN, True) if boundary == "token" else (_WORD, False)
    joined = start and data[start - 1] in letters and (always or data[start] in letters)
    if joined and data[start - 2 : start] not in _ESCAPES:
        return False
    if end < len(data) and data[end] in letters and (always or data[end - 1] in letters):
        return data[end] == 46 and data[end + 1 : end + 2].isspace() | (end + 1 == len(data))
    return True


def _next_word(data: bytes, start: int, last: int, boundary: str) -> int:
    """Where a match that stands alone may begin next: within the same word none can, but behind an escape."""
    letters = _TOKEN if boundary == "token" else _WORD
    if data[start] not in letters or data[start - 1 : start + 1] in _ESCAPES:
        return start + 1
    while start < last and data[start] in letters:
        start += 1
    return start
