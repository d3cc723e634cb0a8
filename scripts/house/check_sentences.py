#!/usr/bin/env python3
"""Long sentences in docstrings and comments: a reader loses them.

Usage: check_sentences.py SRC [--ceiling N]

SRC        the folder of the package (src/lockgate)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("src", type=pathlib.Path)
    parser.add_argument("--ceiling", type=int, default=0)
    given = parser.parse_args()
    found = 0
    for file in sorted(given.src.rglob("*.py")):
        source = file.read_text("utf-8")
        for line, text in (*docstrings(source), *comments(source.splitlines(keepends=True))):
            for sentence in long_ones(text):
                found += 1
                print(f"{file}:{line}: {len(sentence.split())} words: {sentence}")
    print(f"{found} sentences of more than {MOST} words, at most {given.ceiling}")
    return int(found > given.ceiling)


if __name__ == "__main__":
    sys.exit(main())
