"""Where decoding is worth a look.

These patterns stand in the database beside the rules, so that a text without any encoded run costs nothing more. They
are read where databases are compiled; a hook does without this module.

Each matches at the end of something of fixed length behind a boundary, and so once or seldom in a long run. Those in
``ONCE`` need one match only (``HS_FLAG_SINGLEMATCH``): what they find is spread over the text.
"""

from __future__ import annotations

from lockgate.analysis.patterns.decoding_runs import PAIR_GAP
from lockgate.analysis.patterns.joining import INVISIBLE, JOINT
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _those(which: Callable[[int], bool]) -> bytes:
    """A class of the characters of base64 whose six bits are such."""
    found = "".join(letter for bits, letter in enumerate(_ALPHABET) if which(bits))
    return f"[{found}{'_' if '/' in found else ''}{'-' if '+' in found else ''}]".encode()


_ANY = b"[A-Za-z0-9+/_-]"
# Three printable bytes or line ends as four characters. The first character is the first byte's upper six bits, the
# second has the upper four of the second byte, the third the upper two of the third.
_FOUR = (
    _those(lambda bits: bits in {2, 3} or 8 <= bits < 32)
    + _those(lambda bits: bits % 16 in {0, 2, 3, 4, 5, 6, 7})
    + _those(lambda bits: bits % 4 < 2)
    + _ANY
)
_TEXT = b"(?:^|[^A-Za-z0-9])" + _ANY + b"{0,3}(?:" + _FOUR + b"){4}"
_LONG = b"(?:^|[^A-Za-z0-9+/_-])" + _ANY + b"{40}"
# The first bytes of gzip and of zlib's four levels, as base64.
_PACKED = b"(?:^|[^A-Za-z0-9])(?:H4sI|eJ[w-z]|eN[o-r]|eA[E-H]|eF[4-7])" + _ANY + b"{13}"

_HEX = b"[0-9A-Fa-f]"
_BETWEEN = b"[:, -]"
_NO_PAIR = (
    b"(?:^|[^0-9A-Fa-fxX:, -]|(?:^|[^0-9A-Fa-f])" + _BETWEEN + b"|(?:^|[^0-9A-Fa-f])[0-9A-Fa-f]" + _BETWEEN + b"|"
) + (_HEX + b"{3}" + _BETWEEN + b")")
_NO_ITEM = rb"(?:^|[^0-9A-Fa-fx,\s])\s{0,16}"
_ESCAPE = (
    rb"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[ux]\{[0-9A-Fa-f]|U[0-9A-Fa-f]{8}|[0-7]{3}|[\"'/nrt\\]|\r?\n[^\r\n])"
    rb"|[A-Za-z0-9_-]\\[A-Za-z0-9_-]"
)
_PIECE = rb"[A-Za-z0-9_/+=.:@%-]"

# The first joint of a chain of short literals; joints of longer ones. So a text of nothing but quotes has few spots.
_FIRST_JOINT = rb"(?:^|[=:(,\[{>][ \t]{0,4}|[A-Za-z] )[\"'`]" + _PIECE + b"{1,3}" + JOINT + _PIECE
_JOINT = _PIECE + b"{4}" + JOINT + _PIECE
# Quotes in words of a shell: s'k'-an"t", TOKEN="abc"def.
_QUOTED_WORD = rb"(?:^|[\s=:])[A-Za-z0-9_-]{1,3}[\"'][A-Za-z0-9_-]{0,16}[\"'][A-Za-z0-9_-]"
_WORD_QUOTED = rb"[A-Za-z0-9_-]{2}[\"'][A-Za-z0-9_-]{4}"

SPOT_PATTERNS: Mapping[str, bytes] = {
    "base64": b"(?:" + _TEXT + b"|" + _LONG + b"|" + _PACKED + b")",
    "hex": b"(?:^|[^0-9A-Fa-f])" + _HEX + b"{16}",
    "pairs": b"(?:" + _NO_PAIR + b"|" + _NO_ITEM + b"0x)" + _HEX + b"{2}(?:" + PAIR_GAP + _HEX + b"{2}){7}",
    "decimal": _NO_ITEM + rb"(?:[0-9]{1,3},\s{0,16}){12}",
    "escape": _ESCAPE,
    "percent": rb"%[0-9A-Fa-f]{2}[^\s\"'<>%]{0,40}%[0-9A-Fa-f]{2}",
    "entity": rb"&(?:#[0-9]{2,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,24});",
    "quoted-printable": rb"=(?:3D|[0-9A-F]{2}=[0-9A-F]{2})|[!-~ ]{40}=\r?\n[!-~]",
    "joined": b"|".join((_FIRST_JOINT, _JOINT, _QUOTED_WORD, _WORD_QUOTED)),
    "list": rb"\.join\((?:\"\"|''|``)\)|(?:\"\"|'')\.join\(\s{0,8}[\[(]|(?i:concat|paste0)\(\s{0,8}[\"']",
    "reversed": rb"\[::-1\]|\.reverse\b|\|\s{0,8}rev\b|\brev\s{0,4}<|reversed\(|strrev\(",
    "invisible": INVISIBLE,
    "spaced": rb"(?:^|[\t\n\"'`=:(]|[^ ]{2} )(?:[A-Za-z0-9_-] ){15}[!-~]",
}
"""By the names of decoders. Syntax of RE2 and Hyperscan, for bytes."""

ONCE = frozenset({"escape", "percent", "entity", "quoted-printable", "invisible"})
"""Those of which only the first match is asked for."""
