#!/usr/bin/env python3
"""Code that stands in two places: runs of lines that are the same but for their names and values.

Usage: check_duplicates.py SRC [--ceiling ceiling.json]

SRC        the folder of the package (src/lockgate)
--ceiling  fail only where there are more pairs than ``duplicates`` of that file; it may only be lowered

A pair is two places that share five lines of code or more. Each name and each value may have another one in its place,
the same one in the whole run. Lines that only declare do not count: docstrings, imports, heads of functions and
classes, fields, tables of values, and lines of brackets alone.
"""

import argparse
import ast
import collections
import io
import json
import keyword
import pathlib
import sys
import tokenize

LEAST = 5
"""So many lines in two places are a pair."""
KINDS = 4
"""Lines of fewer kinds are a list of cases, one as the other."""
TOO_COMMON = 8
"""Lines in more places than these are a way to write, and no copy."""
Line = collections.namedtuple("Line", "number tokens")
Pair = collections.namedtuple("Pair", "file line other other_line lines")
VALUES = (ast.Dict, ast.List, ast.Set, ast.Tuple)
FIELDS = (ast.Assign, ast.AnnAssign)


def is_declaration(node):
    """Whether a node is a docstring, an import, or imports for type checkers."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    )


def declarations(tree):
    """The numbers of the lines that only declare something."""
    found = set()
    for node in ast.walk(tree):
        if is_declaration(node):
            found.update(range(node.lineno, node.end_lineno + 1))
        elif isinstance(node, VALUES):
            found.update(range(node.lineno + 1, node.end_lineno + 1))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            head = min(one.lineno for one in (node, *node.decorator_list))
            found.update(range(head, node.body[0].lineno))
        for field in node.body if isinstance(node, ast.Module | ast.ClassDef) else ():
            if isinstance(field, FIELDS):
                found.update(range(field.lineno, field.end_lineno + 1))
    return found


def code_lines(source):
    """The lines of code, each with its tokens and whether another name or value may stand in a token's place."""
    left_out, lines = declarations(ast.parse(source)), collections.defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (tokenize.NAME, tokenize.STRING, tokenize.NUMBER, tokenize.OP):
            continue
        is_free = token.type != tokenize.OP and not keyword.iskeyword(token.string)
        if token.start[0] not in left_out:
            lines[token.start[0]].append((token.string, is_free))
    return [Line(*line) for line in lines.items() if any(is_free or text.isalpha() for text, is_free in line[1])]


def shape(lines):
    """The lines with each name and each value numbered in the order of their first use."""
    numbers = {}
    return tuple(
        tuple(numbers.setdefault(text, len(numbers)) if is_free else text for text, is_free in line.tokens)
        for line in lines
    )


def shared_places(files):
    """Pairs of places, each a file and an index of its lines, from which ``LEAST`` lines have one shape."""
    by_shape, found = collections.defaultdict(list), set()
    for file, lines in sorted(files.items()):
        for at in range(len(lines) - LEAST + 1):
            some = lines[at : at + LEAST]
            if len({shape([line]) for line in some}) >= KINDS:
                by_shape[shape(some)].append((file, at))
    for places in by_shape.values():
        for number, one in enumerate(places if len(places) <= TOO_COMMON else ()):
            found |= {(one, two) for two in places[number + 1 :] if one[0] != two[0] or two[1] - one[1] >= LEAST}
    return found


def pairs(files):
    """Each pair of places that share lines, with all lines that they share."""
    shared = shared_places(files)
    for (file, at), (other, there) in sorted(shared):
        if ((file, at - 1), (other, there - 1)) in shared:
            continue
        more = 0
        while ((file, at + more + 1), (other, there + more + 1)) in shared:
            more += 1
        yield Pair(file, files[file][at].number, other, files[other][there].number, LEAST + more)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("src", type=pathlib.Path)
    parser.add_argument("--ceiling", type=pathlib.Path)
    parser.add_argument("--short", action="store_true", help="the count only")
    given = parser.parse_args()
    files = {str(file.relative_to(given.src)): code_lines(file.read_text("utf-8")) for file in given.src.rglob("*.py")}
    found = sorted(pairs(files), key=lambda pair: (-pair.lines, pair))
    most = json.loads(given.ceiling.read_text("utf-8"))["duplicates"] if given.ceiling else len(found)
    for pair in found if not given.short or len(found) > most else ():
        print(f"{pair.lines} lines: {pair.file}:{pair.line} ~ {pair.other}:{pair.other_line}")
    print(f"{len(found)} pairs of places that share {LEAST} lines of code or more, at most {most}")
    return int(len(found) > most)


if __name__ == "__main__":
    sys.exit(main())
