"""Kilo's dialect: that of OpenCode, from which it descends. Seen with version 7.7.9."""

from __future__ import annotations

from lockgate.clients.opencode.events import OpenCode


class Kilo(OpenCode):
    """What is different in Kilo: its name, and what it calls its tools."""

    CLIENT = "kilo"


ADAPTER = Kilo()
