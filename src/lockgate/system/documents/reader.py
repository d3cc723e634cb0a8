"""Parses a configuration file into plain values, each with its line.

Both formats are read more strictly than their parsers would: text in UTF-8 without a byte order mark, and keys that are
text and stand once. Depth and number of values have bounds, which also end expansions of aliases.
"""

from __future__ import annotations

from lockgate.core.errors import ConfigError
from lockgate.system.documents.values import Document

MOST_BYTES = 1_000_000


def read(data: bytes, file: str) -> Document:
    """Read a file by the format that its name says: ``.json``, else YAML.

    Raises:
        ConfigError: the text is not in that format; file and line are known, and the key where there is one.
    """
    text = _text(data, file)
    if file.endswith(".json"):
        from lockgate.system.documents.json import read_json

        return read_json(text, file)
    from lockgate.system.documents.yaml import read_yaml

    return read_yaml(text, file)


def _text(data: bytes, file: str) -> str:
    if len(data) > MOST_BYTES:
        raise ConfigError(file, 0, "", f"the file is larger than {MOST_BYTES} bytes")
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(file, 1, "", "the file begins with a byte order mark: save it as UTF-8 without one")
    if (zero := data.find(b"\0")) >= 0:
        raise ConfigError(file, data.count(b"\n", 0, zero) + 1, "", "a zero byte: save the file as UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(file, line, "", "not UTF-8: save the file in that encoding") from None
