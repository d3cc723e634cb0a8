"""Mutants of texts that bash reads, for finding what the reader reads otherwise."""

from __future__ import annotations

import random
from collections.abc import Iterator

_TOKENS = (
    *"'\"`$\\#;&|<>(){}[]!~*?=,:/-+@%^\n\t 01ax",
    *(
        "$(",
        "$((",
        "))",
        "${",
        "<(",
        ">(",
        "<<",
        "<<-",
        "<<<",
        ">&",
        "&>",
        "|&",
        "&&",
        "||",
        ";;",
        ";&",
        "$'",
        '$"',
        "[[",
        "]]",
        "((",
        "\\\n",
    ),
    *(
        " c1 ",
        " c2 ",
        "$(c3)",
        "`c4`",
        "${x:-",
        "${x#",
        "${x/",
        "${x:",
        "${!x",
        "${#x",
        "${a[",
        "$x",
        "{a,b}",
        "{1..3}",
        "a=",
        "a+=",
        "a[0]=",
        "a=(",
    ),
    *(
        " if ",
        " then ",
        " else ",
        " fi ",
        " while ",
        " do ",
        " done ",
        " for i in ",
        " case x in ",
        " x) ",
        " esac ",
        " { ",
        " } ",
        " ! ",
        " time ",
    ),
    *(
        "\nE\n",
        "<<E\n",
        "<<'E'\n",
        "<<-E\n\t",
        " f() ",
        " function f ",
        " coproc ",
        " select i in ",
        " in ",
        "; ",
        " & ",
        "\n",
        " # ",
        " 2>",
        " {fd}>",
    ),
    *(
        "-n ",
        " == ",
        " =~ ",
        " < ",
        ":-",
        "##",
        "%%",
        "//",
        "^^",
        "@Q",
        "[@]",
        "\\'",
        '\\"',
        "\\`",
        "\\$",
        "\\\\",
        "''",
        '""',
    ),
)


def mutants(corpus: list[str], count: int, seed: int) -> Iterator[str]:
    """Give texts of the corpus with one to three random edits each."""
    chance = random.Random(seed)
    for _ in range(count):
        text = chance.choice(corpus)
        for _ in range(chance.randint(1, 3)):
            text = _edit(text, corpus, chance)
        yield text[:2_000]


def _edit(text: str, corpus: list[str], chance: random.Random) -> str:
    start = chance.randint(0, len(text))
    stop = min(len(text), start + chance.choice((1, 1, 2, 5)))
    kind = chance.randrange(8)
    if kind <= 2:
        return text[:start] + chance.choice(_TOKENS) + text[start:]
    if kind == 3:
        return text[:start] + text[stop:]
    if kind == 4:
        return text[:start] + chance.choice(_TOKENS) + text[stop:]
    if kind == 5:
        return text[:stop] + text[start:stop] + text[stop:]
    if kind == 6:
        return text[:start] + chance.choice(corpus) + text[start:]
    other = chance.randint(0, len(text))
    return text[:other] + text[start:stop] + text[other:]
