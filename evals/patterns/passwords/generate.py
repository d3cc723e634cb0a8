"""Make the corpus of passwords: ``generate.py tuned|heldout [FOLDER]`` writes JSON lines.

Each is ``{text, label, kind, form}``.

Positives stand in every notation of ``tuned.py`` or ``heldout.py``; their values are made here, by chance and as people
make them. Negatives are dummies in the same notations, and lines of packages that ``packages.py`` fetched.
The same seed gives the same corpus.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import heldout
import packages
import tuned

PARTS = {"tuned": tuned, "heldout": heldout}
LEET = str.maketrans({"a": "@", "e": "3", "i": "1", "o": "0", "s": "$"})
SIGNS = "!.?*#@_-$%&+"


def machine_made(part: ModuleType, chance: random.Random) -> str:
    """A value of 12 to 48 characters that no placeholder could be."""
    alphabet = chance.choice(part.ALPHABETS)
    return "".join(chance.choice(alphabet) for _ in range(chance.choice((12, 16, 20, 24, 32, 40, 48))))


def human_made(part: ModuleType, chance: random.Random) -> str:
    """A value of a word and what people put to it."""
    word = chance.choice([*part.NAMES, *part.WORDS, *part.WORDS, *part.PLACES])
    other = chance.choice([*part.NAMES, *part.WORDS])
    year = str(chance.choice((chance.randint(1960, 2025), chance.randint(0, 99), chance.randint(1, 9), 123, 1234)))
    sign = chance.choice(SIGNS)
    makers = (
        lambda: word.capitalize() + year + sign,
        lambda: word + year,
        lambda: word.capitalize() + sign + year,
        lambda: word.translate(LEET) + year,
        lambda: word.capitalize().translate(LEET) + sign,
        lambda: word + other + year,
        lambda: f"{word}-{other}-{chance.choice(part.WORDS)}",
        lambda: word.capitalize() + other.capitalize() + sign,
        lambda: chance.choice(part.WALKS) + year,
        lambda: chance.choice(("my", "i<3", "the", "love")) + word + year,
        lambda: word + other,
        lambda: word[:3].upper() + other[:3] + sign + year,
    )
    return chance.choice(makers)()


def filled(part: ModuleType, form: str, value: str, chance: random.Random) -> str:
    """A notation with a value, a user and a host in it."""
    user = chance.choice([*part.NAMES, "root", "admin", "app"])
    host = chance.choice(("db", "cache", "api", "mail")) + chance.choice((".corp.test", ".internal.test", "01.test"))
    return form.format(v=value, u=user, h=host)


def fitting(form: str, value: str) -> str:
    """The value without the signs that would have to be escaped in a notation."""
    in_url = any(word in form for word in ("url", "query", "amqp"))
    in_shell = any(word in form for word in ("cli", "curl", "docker", "pg", "env"))
    kept = "" if in_url else "-_.@" if in_shell else value
    fits = "".join(character for character in value if character.isalnum() or character in kept)
    return value if fits == value else fits + "7"


def examples(name: str, folder: Path | None, count: int = 4_000) -> Iterator[dict[str, object]]:
    """The corpus of one part: ``count`` positives, as many dummies, and the lines of packages."""
    part, chance = PARTS[name], random.Random(name)
    forms = sorted(part.FORMS)
    for number in range(count):
        form = forms[number % len(forms)]
        human = form.startswith("p-") and chance.random() < 0.6
        value = human_made(part, chance) if human else machine_made(part, chance)
        value = fitting(form, value)
        yield _row(filled(part, part.FORMS[form], value, chance), 1, "human" if human else "machine", form)
    for number in range(count):
        form = forms[number % len(forms)]
        dummy = chance.choice(part.DUMMIES).replace("{{", "{").replace("}}", "}")
        yield _row(filled(part, part.FORMS[form], dummy, chance), 0, "dummy", form)
    for line in packages.lines(folder, name) if folder else ():
        yield _row(line, 0, "package", "line")


def _row(text: str, label: int, kind: str, form: str) -> dict[str, object]:
    return {"text": text, "label": label, "kind": kind, "form": form}


if __name__ == "__main__":
    for row in examples(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None):
        print(json.dumps(row, ensure_ascii=False))
