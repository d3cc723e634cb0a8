#!/usr/bin/env python3
"""Long sentences in docstrings, comments and documents: a reader loses them.

Usage: check_sentences.py PLACE... [--ceiling N]

PLACE      a folder with Python code, or with pages in Markdown; or one page
--ceiling  fail only where there are more than so many; it may only be lowered
"""

import argparse
import ast
import pathlib
import re
import sys
import tokenize

MOST = 25
"""Words of a sentence, at most."""
_END = re.compile(r"(?<=[.!?:;])\s+")
_PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?=[-*] |\w+: )")
_PICTURE = re.compile(r"^\s*(\||\+--).*$", re.M)
"""A line of a table or of a tree."""


_FENCE = re.compile(r"^[ ]*```.*?^[ ]*```", re.M | re.S)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"``.+?``|`[^`]+`")
_RULE = re.compile(r"^\|[\s|:-]+\|$")
_BEGINS = re.compile(r"(?:[-*]|\d+\.) |#|<")
"""How a line begins that is a paragraph of its own: an item, a heading, a picture."""
_CLOSING = re.compile(r"(?<=[.!?:;])[*_)\"]+(?=\s)")
"""What may stand between the end of a sentence and the next one."""
MADE = ("reference", "adr")
"""Folders of pages that are made from the code, or that nobody rewrites."""


def docstrings(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def comments(lines):
    block, first, last = [], 0, -1
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type != tokenize.COMMENT:
            continue
        line, alone = token.start[0], not token.line[: token.start[1]].strip()
        if block and not (alone and line == last + 1):
            yield first, " ".join(block)
            block = []
        first = first if block else line
        block.append(token.string.lstrip("# "))
        last = line if alone else -1
    if block:
        yield first, " ".join(block)


def long_ones(text):
    for paragraph in _PARAGRAPH.split(_PICTURE.sub("", text)):
        yield from (one for one in _END.split(" ".join(paragraph.split())) if len(one.split()) > MOST)


def passages(page):
    """Each cell, item and paragraph of a page, with its line. Code counts as one word."""

    def plain(text):
        return _CLOSING.sub("", _CODE.sub("X", _LINK.sub(r"\1", text)))

    text = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), page)
    block, first = [], 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        words = line.strip()
        is_row = words.startswith("|")
        if block and (not words or is_row or _BEGINS.match(words)):
            yield first, plain(" ".join(block))
            block = []
        if is_row and not _RULE.match(words):
            yield from ((number, plain(cell)) for cell in re.split(r"(?<!\\)\|", words))
        elif words and not is_row and words[0] not in "#<":
            first = first if block else number
            block.append(re.sub(r"^(?:[-*]|\d+\.) ", "", words))


def texts(file):
    """The texts of a file that people read, each with its line."""
    source = file.read_text("utf-8")
    if file.suffix == ".md":
        return passages(source)
    return (*docstrings(source), *comments(source.splitlines(keepends=True)))


def files(place):
    """The files of a place: itself, or all Python files and pages below it."""
    if place.is_file():
        return [place]
    below = [*place.rglob("*.py"), *place.rglob("*.md")]
    return sorted(file for file in below if file.relative_to(place).parts[0] not in MADE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("places", type=pathlib.Path, nargs="+", metavar="PLACE")
    parser.add_argument("--ceiling", type=int, default=0)
    given = parser.parse_args()
    found = 0
    for file in (file for place in given.places for file in files(place)):
        for line, text in texts(file):
            for sentence in long_ones(text):
                found += 1
                print(f"{file}:{line}: {len(sentence.split())} words: {sentence}")
    print(f"{found} sentences of more than {MOST} words, at most {given.ceiling}")
    return int(found > given.ceiling)


if __name__ == "__main__":
    sys.exit(main())
