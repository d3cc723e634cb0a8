"""Ways to write a text so that it does not look like itself."""

from __future__ import annotations

import base64
import gzip
import html
from collections.abc import Callable, Mapping
from random import Random

Encoder = Callable[[str, Random], str]


def _percent(text: str, chance: Random) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _wrapped(text: str, chance: Random) -> str:
    return base64.encodebytes((text + "\n# " + "made by deploy.sh " * 4).encode()).decode()


def _gzipped(text: str, chance: Random) -> str:
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _url_safe(text: str, chance: Random) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _twice(text: str, chance: Random) -> str:
    return base64.b64encode(base64.b64encode(text.encode())).decode()


def _cut(text: str, chance: Random, pieces: int = 3) -> list[str]:
    places = sorted(chance.sample(range(2, len(text) - 1), pieces - 1))
    return [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True)]


def _python_joined(text: str, chance: Random) -> str:
    return "key = " + " + ".join(f'"{piece}"' for piece in _cut(text, chance))


def _javascript_joined(text: str, chance: Random) -> str:
    return "const key = [" + ", ".join(f"'{piece}'" for piece in _cut(text, chance)) + "].join('');"


def _shell_joined(text: str, chance: Random) -> str:
    first, second, third = _cut(text, chance)
    return f"acme login '{first}'\"{second}\"{third}"


def _shell_variables(text: str, chance: Random) -> str:
    first, second, third = _cut(text, chance)
    return f'A={first}\nB={second}\nacme login "${{A}}${{B}}{third}"'


ENCODINGS: Mapping[str, Encoder] = {
    "base64": lambda text, chance: base64.b64encode(text.encode()).decode(),
    "base64, url-safe": _url_safe,
    "base64, wrapped": _wrapped,
    "base64, twice": _twice,
    "base64 in a command": lambda text, chance: f"echo {base64.b64encode(text.encode()).decode()} | base64 -d | sh",
    "gzip in base64": _gzipped,
    "hex": lambda text, chance: text.encode().hex(),
    "hex, upper case": lambda text, chance: text.encode().hex().upper(),
    "hex, with spaces": lambda text, chance: text.encode().hex(" "),
    "percent": _percent,
    "\\x": lambda text, chance: "printf '" + "".join(f"\\x{byte:02x}" for byte in text.encode()) + "'",
    "\\u": lambda text, chance: '"' + "".join(f"\\u{ord(character):04x}" for character in text) + '"',
    "entities": lambda text, chance: "".join(f"&#{ord(character)};" for character in text),
    "entities, hex": lambda text, chance: "".join(f"&#x{ord(character):x};" for character in text),
    "entities in quotes": lambda text, chance: html.escape(f'<a data-token="{text}">'),
    "joined, Python": _python_joined,
    "joined, JavaScript": _javascript_joined,
    "joined, shell": _shell_joined,
    "joined, variables": _shell_variables,
}
