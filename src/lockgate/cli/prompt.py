"""``lockgate prompt``: composes a client's prompt of parts, each with its author."""

from __future__ import annotations

import json
import secrets
from typing import Any, TextIO

import click

from lockgate.cli.common.state import make_state, record_act
from lockgate.core.errors import BadInputError
from lockgate.core.events import PromptPart
from lockgate.gate.monitor.prompt_parts import register

_FIELDS = {"author", "text", "source"}


@click.command(short_help="Compose a prompt, and say whose words it is.")
@click.argument("parts", type=click.File(encoding="utf-8"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def prompt(parts: TextIO, *, as_json: bool) -> None:
    """Compose a client's prompt of PARTS, a JSON file (`-` for standard input), and print it.

    PARTS is an array of objects: "author" is person, stranger or program; "text" is the text; "source" says where a
    stranger's words come from. What a stranger wrote makes the session untrusted. Give the client the whole text, from
    its first line on. The parts count for one session, within a day.

    Exit status: 0 composed, 1 these are no parts, 2 usage, 3 state not writable.
    """
    try:
        said = json.load(parts)
        given = [_part(each) for each in said] if isinstance(said, list) else []
        with make_state() as store, store.transaction() as tx:
            text = register(tx, given, secrets.token_hex(16), store.clock())
            record_act(tx, store.clock(), "prompt_composed", {"parts": [part.author for part in given]})
    except (ValueError, RecursionError) as error:
        raise click.ClickException(f"this is no JSON: {type(error).__name__}") from None
    except BadInputError as error:
        raise click.ClickException(str(error)) from None
    click.echo(json.dumps({"prompt": text}) if as_json else text)


def _part(said: Any) -> PromptPart:
    if not isinstance(said, dict) or not {"author", "text"} <= set(said) <= _FIELDS:
        raise BadInputError('a part is an object with "author", "text" and, for a stranger, "source"')
    values = [said["author"], said["text"], said.get("source", "")]
    if not all(isinstance(value, str) for value in values):
        raise BadInputError("author, text and source of a part are strings")
    return PromptPart(*values)
