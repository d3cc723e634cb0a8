"""A table of what each client can do with the gate's answers. ``docs/clients.md`` shows it.

What a client does with an answer was observed with the versions that its page names; of Cursor, its sources say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from lockgate.core.record import Record


class AskingParty(StrEnum):
    """How a client asks a person."""

    DIALOG = "its own dialog; without a terminal refused"
    NOBODY = "nobody: refused at once"
    ELSEWHERE = "where somebody listens elsewhere; else refused at once"


class Containing(StrEnum):
    """The places where a command can be changed so that it runs contained."""

    ALWAYS = "yes"
    WITHOUT_SANDBOX = "where it has no sandbox of its own"
    BY_SOURCES = "by its sources"
    CALLED_AGAIN = "its model is given the contained command to call"


class Redacting(StrEnum):
    """The results from which a secret can be taken out."""

    RESULTS = "results; not errors"
    RESULTS_AND_ERRORS = "results and errors"
    SERVERS = "results of MCP tools"
    NOTHING = "nothing"


class Failing(StrEnum):
    """The way in which a client treats a call whose hook fails."""

    RUNS = "runs it"
    REFUSES = "refuses it"


class Ability(Record):
    """The abilities of one client."""

    asks: AskingParty
    contains: Containing
    redacts: Redacting
    crash: Failing
    """Left to itself, where the hook crashes. The registered command makes it a refusal in every client."""
    hang: Failing
    """Left to itself, where the hook does not answer in time. The gate's own deadline comes first."""


_ALL, _ERRORS = Redacting.RESULTS, Redacting.RESULTS_AND_ERRORS
_RUNS, _REFUSES = Failing.RUNS, Failing.REFUSES
ABILITIES: Mapping[str, Ability] = {
    "claude-code": Ability(AskingParty.DIALOG, Containing.ALWAYS, _ALL, _RUNS, _RUNS),
    "codex": Ability(AskingParty.ELSEWHERE, Containing.WITHOUT_SANDBOX, _ERRORS, _RUNS, _RUNS),
    "gemini-cli": Ability(AskingParty.ELSEWHERE, Containing.ALWAYS, _ERRORS, _RUNS, _RUNS),
    "copilot-cli": Ability(AskingParty.DIALOG, Containing.ALWAYS, _ALL, _REFUSES, _RUNS),
    "opencode": Ability(AskingParty.ELSEWHERE, Containing.ALWAYS, _ALL, _REFUSES, _REFUSES),
    "cursor": Ability(AskingParty.ELSEWHERE, Containing.BY_SOURCES, Redacting.SERVERS, _REFUSES, _REFUSES),
    "pi": Ability(AskingParty.DIALOG, Containing.ALWAYS, _ERRORS, _REFUSES, _REFUSES),
    "kilo": Ability(AskingParty.ELSEWHERE, Containing.ALWAYS, _ALL, _REFUSES, _REFUSES),
    "cline": Ability(AskingParty.NOBODY, Containing.ALWAYS, _ERRORS, _REFUSES, _REFUSES),
    "qwen-code": Ability(AskingParty.DIALOG, Containing.CALLED_AGAIN, _ALL, _RUNS, _RUNS),
    "kimi-code": Ability(AskingParty.NOBODY, Containing.CALLED_AGAIN, Redacting.NOTHING, _RUNS, _RUNS),
}
"""By the client's name. What fails closed in OpenCode, Kilo, pi, Cline and Cursor is a part of what is installed."""
_HEADS = ("client", "deny", "ask", "contain", "redact", "a hook that crashes", "a hook that hangs")


def table() -> str:
    """The facts as a table in Markdown."""
    rows = [_HEADS, ("---",) * len(_HEADS)]
    for client, can in ABILITIES.items():
        rows.append((client, "yes", *map(str, (can.asks, can.contains, can.redacts, can.crash, can.hang))))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
