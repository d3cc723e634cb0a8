"""The corpus: texts with what is in them. The same seed gives the same texts.

Values are made by chance each time and stand nowhere in this repository. What providers and countries prescribe (a
prefix, a length, a checksum) is in ``formats.py`` and ``people.py``, where it stands in ``surroundings.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import credentials
import harmless
import packages_of_others as packages
import shipped
from encodings_of_text import ENCODINGS
from formats import FORMATS
from notations import NOTATIONS
from people import PEOPLE
from surroundings import kinds_for, put

HARMLESS = Path(__file__).with_name("harmless.txt")
"""Lines about secrets without one."""


class Example(NamedTuple):
    """A text of the corpus."""

    text: str
    group: str
    form: str
    """What the value is, or what the text is made of: for lists of what went wrong."""
    positive: bool
    start: int = 0
    end: int = 0
    """Where the value stands; the whole text where it is encoded or harmless."""
    rule: str = ""
    """The rule that is expected, where it is known."""


def _formats(chance: Random, count: int) -> Iterator[Example]:
    for _ in range(count):
        for name, make in FORMATS.items():
            value = make(chance)
            text, start = put(value, chance.choice(kinds_for(value)), chance)
            yield Example(text, "formats of providers", name, True, start, start + len(value))


def _shipped(chance: Random, count: int) -> Iterator[Example]:
    for _ in range(count):
        for value in shipped.examples(chance):
            text, start = value.text, value.start
            if chance.random() < 0.5:
                text, before = put(text, "text", chance)
                start += before
            end = start + value.end - value.start
            yield Example(text, "every shipped rule", value.rule, True, start, end, value.rule)


def _people(chance: Random, count: int) -> Iterator[Example]:
    for _ in range(count):
        for name, (make, forms) in PEOPLE.items():
            yield _filled(chance.choice(forms), make(chance), "personal data", name)


def _encoded(chance: Random, count: int) -> Iterator[Example]:
    names = [name for name, make in FORMATS.items() if len(make(Random(0))) < 120 and " " not in make(Random(0))]
    for _ in range(count):
        for name, encode in ENCODINGS.items():
            form = chance.choice([each for each in names if each not in _NEED_WORDS])
            value = FORMATS[form](chance)
            inner = f"TOKEN={value}\n" if not name.startswith("joined") and chance.random() < 0.5 else value
            text, _ = put(encode(inner, chance), "text", chance)
            yield Example(text, "encoded and in pieces", f"{name}: {form}", True, 0, len(text))


_NEED_WORDS = frozenset({"Datadog", "PagerDuty", "Algolia", "Razorpay", "Twilio, key", "Mailchimp", "Mailgun"})


def _of_forms(
    group: str, forms: Sequence[str], make: Callable[[Random], str]
) -> Callable[[Random, int], Iterator[Example]]:
    def examples(chance: Random, count: int) -> Iterator[Example]:
        for _ in range(count):
            for form in forms:
                value = make(chance)
                if group.endswith("addresses"):
                    value = "".join(each for each in value if each.isalnum() or each in "-_.!")
                yield _filled(form, value, group, form.replace("\n", " ")[:40])

    return examples


def _filled(form: str, value: str, group: str, name: str) -> Example:
    before, _, after = form.partition("{v}")
    before, after = (piece.replace("{{", "{").replace("}}", "}") for piece in (before, after))
    return Example(before + value + after, group, name, True, len(before), len(before) + len(value))


POSITIVES: Mapping[str, tuple[Callable[[Random, int], Iterator[Example]], int]] = {
    "formats": (_formats, 10),
    "shipped": (_shipped, 1),
    "encoded": (_encoded, 25),
    "people": (_people, 25),
    "assigned": (_of_forms("keys that are assigned", credentials.ASSIGNED, credentials.machine_made), 15),
    "headers": (_of_forms("keys in headers", credentials.HEADERS, credentials.machine_made), 15),
    "basic": (_of_forms("basic authentication", credentials.BASIC, credentials.basic), 15),
    "passwords": (_of_forms("passwords, machine-made", credentials.PASSWORDS, credentials.password), 15),
    "human": (_of_forms("passwords, human-made", credentials.PASSWORDS, credentials.human_made), 15),
    "notations": (_of_forms("passwords, odd notations", NOTATIONS, credentials.password), 3),
    "notations, human": (_of_forms("passwords, odd notations", NOTATIONS, credentials.human_made), 3),
    "addresses": (_of_forms("passwords in addresses", credentials.ADDRESSES, credentials.password), 15),
}
"""How the positives are made, and how often each form of theirs."""


def _harmless(chance: Random, count: int) -> Iterator[Example]:
    makers = (("hashes", harmless.HASHES), ("ids", harmless.IDS), ("numbers", harmless.NUMBERS))
    for _ in range(count):
        for group, those in makers:
            for number, make in enumerate(those):
                yield Example(make(chance), group, str(number), False)
        for name, make in harmless.LOCKS.items():
            yield Example("".join(make(chance) for _ in range(4)), "lock files", name, False)
    for text in (*harmless.CODE, *HARMLESS.read_text(encoding="utf-8").splitlines()):
        yield Example(text, "code about secrets", "", False)
    for _ in range(20 * count):
        text, form = harmless.placeholder(chance)
        yield Example(text, "placeholders", form, False)
    for _ in range(10 * count):
        yield Example(harmless.packed(chance), "encoded, harmless", "", False)


def examples(seed: int = 1, part: float = 1.0, folder: Path | None = None) -> Iterator[Example]:
    """The corpus.

    Args:
        seed: Of all that is made by chance.
        part: How much of each group, up to 1.
        folder: Where ``packages.py`` put packages; without it there are no texts of packages.
    """
    seen = set()
    for example in _all(seed, part, folder):
        if example.text not in seen:
            seen.add(example.text)
            yield example


def _all(seed: int, part: float, folder: Path | None) -> Iterator[Example]:
    for name, (make, count) in POSITIVES.items():
        yield from make(Random(f"{seed} {name}"), max(1, round(count * part)))
    yield from _harmless(Random(f"{seed} harmless"), max(1, round(40 * part)))
    if folder:
        for name, text in packages.texts(folder, Random(f"{seed} packages")):
            yield Example(
                text, "source of packages" if not packages.is_minified(name) else "minified code", name, False
            )
