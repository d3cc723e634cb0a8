"""Make the table of trigrams: ``python -m lockgate.patterns.credentials.trigrams.build [--anew] [FOLDER|FILE]...``.

Written text is three things: the sources of Python's standard library (PSF licence, of the interpreter that runs this),
the words of ``/usr/share/dict/words`` (SCOWL, permissive), and files that are named; to these come dummies made here.
Random text is made here, from the alphabets that keys have. For each three characters in a row the table holds the
logarithm of how much likelier they are in random text.

What is compiled depends on an interpreter's sources, so nothing is made without ``--anew``: it is only seen that the
table has its size and still tells the texts of ``examples.yaml`` apart.
"""

from __future__ import annotations

import hashlib
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from math import log2
from pathlib import Path

import yaml

from lockgate.patterns.credentials import randomness

HERE = Path(__file__).parent
TABLE = HERE / "trigrams.bin"
EXAMPLES = HERE / "examples.yaml"
WORDS = Path("/usr/share/dict/words")
_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:+-]{2,60}")
_TEXTS = (".py", ".js", ".ts", ".md", ".txt", ".rst", ".json", ".css")
_ALPHABETS = (
    "0123456789abcdef",
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*?",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
)
_WALKS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1qaz2wsx3edc4rfv5tgb", "0123456789", "9876543210", "0123456789abcdef")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LIMIT = 8.0


def chance(seed: str) -> Iterator[int]:
    """An endless stream of bytes that is the same for the same seed."""
    number = 0
    while True:
        yield from hashlib.sha256(f"{seed}/{number}".encode()).digest()
        number += 1


def random_keys(count: int) -> Iterator[str]:
    """Keys of all alphabets, each as long as keys are."""
    stream = chance("keys")
    for number in range(count):
        alphabet = _ALPHABETS[number % len(_ALPHABETS)]
        length = 12 + next(stream) % 37
        yield "".join(alphabet[(next(stream) << 8 | next(stream)) % len(alphabet)] for _ in range(length))


def dummies() -> Iterator[str]:
    """What people write in the place of a key: sequences, walks on the keyboard, one character many times."""
    for sequence in (*_WALKS, _LETTERS, _LETTERS + "0123456789", _LETTERS[::-1]):
        for start in range(len(sequence)):
            for length in (4, 6, 8, 12, 16, 32):
                yield (sequence * 5)[start : start + length]
    for character in _LETTERS + "0123456789":
        for length in (3, 6, 8, 16, 32):
            yield character * length
    for first in _LETTERS:
        yield "".join(f"{letter}{digit}" for letter, digit in zip(_LETTERS, "1234567890", strict=False)) + first


def read_words(paths: Iterable[Path]) -> Iterator[str]:
    """The words of texts: names, numbers, paths, as they stand there."""
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.suffix in _TEXTS or file == WORDS:
                text = file.read_text(encoding="utf-8", errors="replace")
                yield from _TOKEN.findall(text)


def count_trigrams(texts: Iterable[str]) -> Counter[int]:
    """How often each three classes in a row occur."""
    counts: Counter[int] = Counter()
    for text in texts:
        classes = randomness.classify(text)
        for place in range(len(classes) - 2):
            first, second, third = classes[place : place + 3]
            counts[(first * randomness.CLASSES + second) * randomness.CLASSES + third] += 1
    return counts


def conditional(counts: Counter[int]) -> list[float]:
    """For each three classes, how likely the third is after the first two; what was rarely seen leans on pairs."""
    size = randomness.CLASSES
    pairs = [0.0] * size * size
    after = [0.0] * size * size
    singles = [0.0] * size
    for number, count in counts.items():
        pairs[number // size] += count
        after[number % (size * size)] += count
        singles[number % (size * size) // size] += count
    total = sum(counts.values())
    likely = [0.0] * size**3
    weight = 8.0
    for number in range(size**3):
        last = number % size
        middle = number % (size * size) // size
        single = (sum(after[first * size + last] for first in range(size)) + 1) / (total + size)
        pair = (after[middle * size + last] + weight * single) / (singles[middle] + weight)
        likely[number] = (counts[number] + weight * pair) / (pairs[number // size] + weight)
    return likely


def table(paths: Iterable[Path]) -> bytes:
    """A byte for each three classes: ``128 + 8 * log2(random / written)``, within a limit."""
    in_keys = conditional(count_trigrams(random_keys(60_000)))
    in_text = conditional(count_trigrams([*read_words(paths), *list(dummies()) * 20]))
    bits = (log2(key / text) for key, text in zip(in_keys, in_text, strict=True))
    return bytes(round(128 + randomness.STEPS_PER_BIT * max(-_LIMIT, min(_LIMIT, bit))) for bit in bits)


def wrong_examples() -> list[str]:
    """Texts of ``examples.yaml`` whose score is on the wrong side of one half."""
    examples = yaml.safe_load(EXAMPLES.read_text(encoding="utf-8"))
    texts = [("".join(text), True) for text in examples["random"]] + [(text, False) for text in examples["written"]]
    return [text for text, is_random in texts if (randomness.score(text) > 0.5) != is_random]


def main(arguments: list[str]) -> int:
    """Make the table, or check the one that is there."""
    if "--anew" in arguments:
        library = Path(sysconfig.get_paths()["stdlib"])
        sources = [path for path in sorted(library.iterdir()) if path.name not in ("site-packages", "test", "idlelib")]
        TABLE.write_bytes(table([*sources, WORDS, *(Path(path) for path in arguments if path != "--anew")]))
    elif TABLE.stat().st_size != randomness.CLASSES**3:
        print(f"{TABLE.name} is not the size of a table of trigrams", file=sys.stderr)
        return 1
    wrong = wrong_examples()
    for text in wrong:
        print(f"{EXAMPLES.name}: {text!r} scores {randomness.score(text):.2f}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
