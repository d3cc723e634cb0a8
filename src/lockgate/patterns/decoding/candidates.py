"""Finds the places of a text where decoding is worth a look.

These patterns stand in the database beside the rules, so that a text without any encoded run costs nothing more. They
are read where databases are compiled; a hook does without this module.

A spot is a condition that what is encoded fulfils and ordinary text seldom does; the decoder looks closer. What costs
is the number of states that Hyperscan needs: a repeated class, a chain of classes and a literal are cheap, also side by
side; alternatives of such chains and bounded gaps within them are not, and multiply with each other. So kinds that look
alike share a spot.

Of those in ``ONCE`` only the first match in a text is asked for (``HS_FLAG_SINGLEMATCH``): what they find may come in
great numbers, and the decoder finds the others from there on.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _those(which: Callable[[int], bool]) -> bytes:
    """A class of the characters of base64 whose six bits are such."""
    found = "".join(letter for bits, letter in enumerate(_ALPHABET) if which(bits))
    return f"[{found}{'_' if '/' in found else ''}{'-' if '+' in found else ''}]".encode()


_ANY = b"[A-Za-z0-9+/_-]"
# Three printable bytes or line ends as four characters. The first character is the first byte's upper six bits. The
# second has the upper four of the second byte, and the third the upper two of the third.
_FOUR = (
    _those(lambda bits: bits in {2, 3} or 8 <= bits < 32)
    + _those(lambda bits: bits % 16 in {0, 2, 3, 4, 5, 6, 7})
    + _those(lambda bits: bits % 4 < 2)
    + _ANY
)
_TEXT = b"(?:^|[^A-Za-z0-9])(?:" + _FOUR + b"){4}"
# The first bytes of gzip and of zlib's four levels, as base64.
_PACKED = b"(?:^|[^A-Za-z0-9])(?:H4sI|eJ[w-z]|eN[o-r]|eA[E-H]|eF[4-7])" + _ANY + b"{13}"
_HEX = b"[0-9A-Fa-f]"
_WORD = b"[A-Za-z0-9_-]"
_PIECE = rb"[A-Za-z0-9_/=:@%-]"
_QUOTE = b"[\"'`]"
_GLUE = rb"[\s\\+.~&|<>${}]*[rRbBuUfFL@]?"
# From one literal to the next, and quotes in words of a shell: s'k'-an"t", TOKEN="abc"def.
_LINE = rb"(?:^|\n)"
# What tools print before a line: path:12:, rev:path:12:, path-13-, 12:, 12 |, 12 with a tab, a hunk's header.
_PREFIX = (
    _LINE + rb"[^\s:0-9][^\s:]*[:-][0-9]{1,7}[:-]",
    _LINE + rb"[^\s:]+:[^\s:]+:[0-9]{1,7}:[^0-9]",
    _LINE + rb"[0-9][^\s:]*[./][A-Za-z][^\s:]*[:-][0-9]{1,7}[:-]",
    _LINE + rb"[> ]*[0-9]{1,7}(?:[:-][^0-9]|\t|[ ]{0,3}(?:\||\xe2\x94\x82|\xe2\x86\x92))",
    _LINE + rb"(?:@@ -|[0-9,]+[acd][0-9])",
    _LINE + rb"[A-Za-z0-9][\w.-]*[ ]+\| ",
)
_HEADER = (
    rb"(?i:passw|passphrase|kennwort|secret|token|pwd|(?:api|access)[_ -]?key|credential|de passe|senha|contrase)"
    rb"[A-Za-z_ ]*[\"'`*]*[ ]*(?:[,;|\t\n]|\r\n|\xe2\x94|  )"
)
_CELL = (
    rb"(?i:passw|passphrase|kennwort|secret|token|pwd|key|credential|de passe|senha)[A-Za-z_ ]*[^\n]{0,3}</(?i:t[hd])"
)
_JOINED = (
    _PIECE + _QUOTE + _GLUE + _QUOTE + _PIECE,
    _WORD + b"[\"']" + _WORD + b"+[\"']" + _WORD + b"{2}",
    _WORD + b"{2}[\"']" + _WORD + b"{4}",
)

SPOT_PATTERNS: Mapping[str, bytes] = {
    "base64": _TEXT,
    "packed": _PACKED,
    "long": _ANY + b"{40}",
    "hex": _HEX + b"{16}",
    "words": b"(?:" + _WORD + b"{1,2}[ ,:-]){10}",
    "array": b"(?:0x" + _HEX + rb"{2}[,\s]\s*){4}",
    "decimal": rb"(?:[0-9]{1,3},\s*){6}",
    "escape": rb"(?:^|[\t\n -~])\\[ -~\r\n]",
    "percent": b"%[2-7]" + _HEX,
    "entity": rb"&#[0-9xX]|&[a-z]{2}",
    "quoted-printable": rb"=3D|=[0-9A-F]{2}=[0-9A-F]{2}|[!-~ ]{40}=\r?\n[!-~]",
    "joined": b"|".join(_JOINED),
    "prefix": b"|".join(_PREFIX),
    "table": _HEADER,
    "cells": _CELL,
    "insert": rb"(?i:insert\s+into\s)",
    "list": rb"\.join\((?:\"\"|''|``)\)|(?:\"\"|'')\.join\(\s{0,8}[\[(]|(?i:concat|paste0)\(\s{0,8}[\"']",
    "reversed": rb"\[::-1\]|\.reverse\b|\|\s{0,8}rev\b|\brev\s{0,4}<|reversed\(|strrev\(",
    "invisible": (
        rb"\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xc2\xad|\xcd\x8f|\xe1\x85[\x9f\xa0]|\xe1\xa0[\x8b-\x8f]"
        rb"|\xe3\x85\xa4|\xef[\xb8\xbb-\xbe]|\xf0\x9d[\x90-\x9f]|\xf3\xa0[\x80-\x87]|\x1b[\[(]"
    ),
}
"""By the names of decoders; ``packed`` and ``long`` are base64, an ``array`` is pairs, ``words`` of one or two
characters are pairs, or a text with spaces in it. Syntax of RE2 and Hyperscan, for bytes."""

ONCE = frozenset(SPOT_PATTERNS) - {"base64", "packed", "joined", "list", "reversed", "table"}
"""Those of which only the first match is asked for."""
