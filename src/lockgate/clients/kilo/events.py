"""Kilo's dialect: that of OpenCode, from which it descends. Seen with version 7.7.9."""

from __future__ import annotations

from lockgate.clients.opencode.events import OpenCode


class Kilo(OpenCode):
    """The adapter of Kilo: OpenCode's with another name, and other names of tools."""

    CLIENT = "kilo"


ADAPTER = Kilo()
