"""Splits a prompt into parts, each with its author.

A prompt in a hook is one text. Whoever composes it may register its parts before. The text then begins with a line that
names them, and they are told apart by their lengths. Nothing is searched for in it, since a stranger writes there.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.core.errors import BadInputError
from lockgate.core.events import PERSON, PROGRAM, REGISTERED, STRANGER, PromptPart, PromptSubmitted
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.session import jobs
from lockgate.gate.session.sealed_settings import drop_old, seal_setting, unseal_setting
from lockgate.store import chain_links
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from lockgate.store.protocol import Store, Transaction

_SETTING = "prompt:"
"""How the setting is named that holds the parts; the id follows."""
_FIRST_LINE = lazy_re(r"Lockgate prompt [0-9a-f]{32}\b")
"""The first line of a registered prompt. Where it stands elsewhere, it can only make the prompt count for less."""
_MOST_PARTS = 100
_MOST_PROMPTS = 1000
"""Prompts that are kept at a time."""
_SOURCE = 200
"""Most characters of a source."""


def register(tx: Transaction, parts: Sequence[PromptPart], prompt_id: str, now: float) -> str:
    """Keep whose words a prompt is made of, and compose it.

    Args:
        tx: The transaction.
        parts: The parts, in their order. Blanks at the end of the last one are cut off, as shells and clients do.
        prompt_id: A new id that nobody can guess.
        now: Seconds since the epoch.

    Returns:
        The prompt, for the client.

    Raises:
        BadInputError: There is no part, one is of no known author, or one holds the id of a prompt.
    """
    kept = [*check_parts(parts)]
    if any("\ud800" <= character <= "\udfff" for part in kept for character in part.text):
        raise BadInputError("a part holds half a character (a lone surrogate), which no prompt can hold")
    kept[-1] = kept[-1]._replace(text=kept[-1].text.rstrip())
    live = drop_old(tx, chain_links.PURPOSE_PROMPT, _SETTING, now)
    if any(known in part.text for part in kept for known in (*live, prompt_id)):
        raise BadInputError("a part holds the id of a prompt: it repeats what an agent was given; take it out")
    if len(live) >= _MOST_PROMPTS:
        raise BadInputError(f"{_MOST_PROMPTS} prompts are registered already; they are dropped after a day")
    body = "".join(part.text for part in kept)
    lengths = [[part.author, part.source, len(part.text)] for part in kept]
    text = seal_setting(tx, chain_links.PURPOSE_PROMPT, prompt_id, {"at": now, "of": _digest(body), "parts": lengths})
    tx.put_setting(f"{_SETTING}{prompt_id}", text)
    return f"{REGISTERED}{prompt_id}\n{body}"


def check_parts(parts: Sequence[PromptPart]) -> tuple[PromptPart, ...]:
    """The parts, if they can be a prompt's. Raises ``BadInputError``."""
    if not 0 < len(parts) <= _MOST_PARTS:
        raise BadInputError(f"a prompt has between 1 and {_MOST_PARTS} parts")
    for part in parts:
        if part.author not in (PERSON, STRANGER, PROGRAM):
            raise BadInputError(f"a part is the words of a {PERSON}, a {STRANGER} or a {PROGRAM}")
        if part.author == STRANGER and not part.source.strip():
            raise BadInputError("a stranger's part says its source, such as: issue 7")
        if len(part.source) > _SOURCE:
            raise BadInputError(f"a source has at most {_SOURCE} characters")
    return tuple(parts)


def parts_of(store: Store, event: PromptSubmitted, now: float) -> tuple[PromptPart, ...]:
    """The parts of a prompt, each with its author; empty where nobody tells them, and ``event.human`` holds.

    Args:
        store: The store.
        event: The prompt.
        now: Seconds since the epoch.

    Raises:
        BadInputError: The event's own parts do not make up its prompt.
    """
    if event.parts:
        if "".join(part.text for part in event.parts) != event.prompt:
            raise BadInputError("the parts of the prompt do not make it up")
        return check_parts(event.parts)
    if event.prompt.startswith(REGISTERED):
        return _read_registered(store, event, now)
    if event.human and _FIRST_LINE.search(event.prompt):
        # Something was put before it, so that nothing tells its parts apart any more.
        return (_change(event.prompt),)
    if event.context.job and event.human:
        with store.reading() as tx:
            strangers = jobs.strangers_in(tx, event.context, now)
        # Nobody is in front: what no stranger wrote commands nothing by itself, and opens no address.
        return (PromptPart(STRANGER if strangers else PROGRAM, event.prompt, strangers),)
    return ()


def _read_registered(store: Store, event: PromptSubmitted, now: float) -> tuple[PromptPart, ...]:
    prompt_id, _, body = event.prompt.removeprefix(REGISTERED).partition("\n")
    with store.transaction() as tx:
        kept = unseal_setting(tx, chain_links.PURPOSE_PROMPT, prompt_id, tx.setting(f"{_SETTING}{prompt_id}"), now)
        lengths = kept["parts"] if kept else []
        whole = sum(length for _, _, length in lengths)
        if not kept or _digest(body[:whole]) != kept["of"]:
            return (_change(event.prompt),)
        session = event.context.subject.session
        if kept.setdefault("session", session) != session:
            return (PromptPart(STRANGER, event.prompt, "a registered prompt of another session"),)
        tx.put_setting(f"{_SETTING}{prompt_id}", seal_setting(tx, chain_links.PURPOSE_PROMPT, prompt_id, kept))
    found, at = [], 0
    for author, source, length in lengths:
        found.append(PromptPart(author, body[at : at + length], source))
        at += length
    if body[whole:].strip():
        found.append(PromptPart(STRANGER, body[whole:], "what follows the registered prompt"))
    return tuple(found)


def _change(prompt: str) -> PromptPart:
    return PromptPart(STRANGER, prompt, "a prompt that is not as it was registered")


def _digest(body: str) -> str:
    return sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
