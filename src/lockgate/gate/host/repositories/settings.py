"""Parses a git settings file as git does (one blank may stand for another), or not at all."""

from __future__ import annotations

import re

from lockgate.core.record import Record

_HEADER = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)")
_SPACES = " \t\n\r"
"""What git takes for blank; Unicode has more."""
_BLANK = re.compile(r"(?:[ \t\n\r]|[#;][^\n]*)*")
_TOKEN = re.compile(
    r'\\(?P<escape>[\\"ntb\n])|(?P<quote>")|(?P<end>\n|$)|(?P<comment>[#;][^\n]*)|(?P<text>[^\\"\n#;]+)'
)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}


class GitSetting(Record):
    """A setting. A section in another spelling is the same section; a subsection is not."""

    section: str
    """In lower case."""
    subsection: str
    key: str
    """In lower case."""
    value: str | None
    """``None`` where the name stands alone, which means true."""


def settings_in(text: str) -> list[GitSetting]:
    """The settings in a text, in order. Raises ``ValueError`` where git would not read it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if "\0" in text:
        raise ValueError("no text")
    found: list[GitSetting] = []
    section = subsection = ""
    at = _after(_BLANK, text, 0)
    while at < len(text):
        if text[at] == "[":
            header = _HEADER.match(text, at)
            if header is None:
                raise ValueError("no header of a section")
            section, subsection = _split_name(header)
            at = header.end()
        else:
            key = _KEY.match(text, at)
            if key is None or not section:
                raise ValueError("no setting")
            value, at = _value(text, key.end()) if key[2] else (None, _end_of_name(text, key.end()))
            found.append(GitSetting(section, subsection, key[1].lower(), value))
        at = _after(_BLANK, text, at)
    return found


def _split_name(header: re.Match[str]) -> tuple[str, str]:
    name = header[1].lower()
    if header[2] is None:
        section, _, subsection = name.partition(".")
        return section, subsection
    if "." in name:
        raise ValueError("two names of a subsection")
    return name, re.sub(r"\\(.)", r"\1", header[2])


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _end_of_name(text: str, at: int) -> int:
    if at < len(text) and text[at] != "\n":
        raise ValueError("something stands behind a name")
    return at


def _value(text: str, at: int) -> tuple[str, int]:
    """A value and where it ends: without the blanks around it, quotes and a comment."""
    parts: list[str] = []
    quoted, kept = False, 0
    while True:
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError("no such escape")
        at = token.end()
        if token["end"] is not None:
            if quoted:
                raise ValueError("a quote is not closed")
            value = "".join(parts)
            return value[:kept] + value[kept:].rstrip(_SPACES), at
        if token["quote"]:
            quoted = not quoted
        elif token["escape"] is not None:
            parts.append(_ESCAPES.get(token["escape"], token["escape"]))
        elif token["text"] is not None:
            parts.append(token["text"] if quoted or parts else token["text"].lstrip(_SPACES))
        elif quoted:
            parts.append(token["comment"][0])
            at = token.start() + 1
        if quoted or token["escape"]:
            kept = len("".join(parts))
