"""``lockgate config``: shows the effective configuration with its sources, and checks it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import click

from lockgate.cli.common.colour import paint
from lockgate.cli.common.state import WRONG, patterns_here, unreadable
from lockgate.configuration.layers.files import LayerState, read_file
from lockgate.configuration.load import Configuration, load_for_cli
from lockgate.configuration.pattern_library.layers import is_patterns
from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError, StoreError
from lockgate.policy.report import Value, values
from lockgate.policy.validation import parse, schema_text

_STATE_COLOURS = {
    "valid": "green",
    "untrusted": "yellow",
    "bound": "yellow",
    "last good": "yellow",
    "invalid": "red",
    "locked": "red",
}


@click.group()
def config() -> None:
    """Show and check the configuration."""


# ---------------------------------------------------------------- show


@config.command(short_help="Show every value and the layer it came from.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(as_json: bool) -> None:
    """Show every value that holds here, with the layer that it came from.

    Exit status: 0 shown, 1 shown, but a file is not valid, 3 state not readable.
    """
    configuration = _load()
    if as_json:
        click.echo(json.dumps(_to_json(configuration), indent=2))
    else:
        for line in _lines(configuration):
            click.echo(line)
    sys.exit(WRONG if configuration.problems else 0)


def _load() -> Configuration:
    try:
        return load_for_cli(os.getcwd())
    except StoreError as error:
        raise unreadable(error) from error


def _to_json(configuration: Configuration) -> dict[str, Any]:
    first, *further = configuration.compiled
    shown = set(map(_text, values(first)))
    return {
        "layers": list(map(_layer_json, configuration.layers)),
        "problems": list(map(_problem_json, configuration.problems)),
        "notes": _notes(configuration),
        "values": [value._asdict() for value in values(first)],
        "tightening": [[v._asdict() for v in values(other) if _text(v) not in shown] for other in further],
    }


def _layer_json(layer: LayerState) -> dict[str, Any]:
    return {"name": layer.name, "path": layer.path, "state": layer.state, "sha256": layer.digest or None}


def _notes(configuration: Configuration) -> list[str]:
    held_back = [
        f"{layer.name}: it can only tighten until you trust it (`lockgate trust`)"
        for layer in configuration.layers
        if layer.state == "untrusted"
    ]
    return [f"{rule}: {problem}" for rule, problem in configuration.compiled[0]["notes"]] + held_back


def _text(value: Value) -> tuple[str, str, str]:
    """A value in words, without anything that could move a cursor."""
    written = value.value if isinstance(value.value, str) else json.dumps(value.value)
    if isinstance(value.value, list):
        written = " else ".join(value.value)
    return visible(value.key, 200), visible(written, 300), value.layer


def _lines(configuration: Configuration) -> Iterator[str]:
    yield "layers, from the lowest"
    for layer in configuration.layers:
        state = paint(f"{layer.state:<10}", _STATE_COLOURS.get(layer.state))
        yield f"  {layer.name:<24}{state}{visible(layer.path, 300)}"
    first, *further = configuration.compiled
    yield ""
    yield "values (table: clean | untrusted | secret | both)"
    rows = _rows(values(first))
    yield from _table(rows)
    for other in further:
        yield ""
        yield "a layer that may only tighten says also (a call gets the stricter verdict of both)"
        yield from _table([row for row in _rows(values(other)) if row not in rows])
    for title, entries in (("notes", _notes(configuration)), ("problems", map(str, configuration.problems))):
        lines = [f"  {visible(entry, 600)}" for entry in entries]
        if lines:
            yield ""
            yield title
            yield from lines


def _rows(shown: Iterable[Value]) -> list[tuple[str, str, str]]:
    """Values in words, with the cells of one row of the table in one line: clean, untrusted, secret, both."""
    rows: list[tuple[str, str, str]] = []
    for key, cells in groupby(shown, lambda value: _row_of(value.key)):
        words = list(map(_text, cells))
        if key.startswith("table."):
            layers = dict.fromkeys(layer for *_, layer in words)
            rows.append((key, " | ".join(text for _, text, _ in words), ", ".join(layers)))
        else:
            rows += words
    return rows


def _row_of(key: str) -> str:
    return key.rpartition(".")[0] if key.startswith("table.") else key


def _table(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    key_width = min(max((len(key) for key, _, _ in rows), default=0), 60)
    value_width = min(max((len(value) for _, value, _ in rows), default=0), 60)
    for key, value, layer in rows:
        yield f"  {key:<{key_width}}  {value:<{value_width}}  {layer}"
    if not rows:
        yield "  nothing else"


# ---------------------------------------------------------------- check, schema, path


@config.command(short_help="Check configuration files.")
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(files: tuple[str, ...], as_json: bool) -> None:
    """Check configuration and pattern files; without FILES, all that hold here.

    A file named lockbox.json is checked as Lockbox's, one whose name ends in patterns.yaml as patterns, any other as
    lockgate.yaml; the ending .json means JSON.

    Exit status: 0 all valid, 1 problems, 2 usage, 3 state not readable.
    """
    notes: list[str] = []
    checked = list(files)
    if files:
        problems = [problem for file in files for problem in _check_file(file)]
    else:
        configuration, patterns = _load(), patterns_here()
        problems = [*configuration.problems, *patterns.problems]
        notes = [*_notes(configuration), *patterns.notes]
        checked = [layer.path for layer in (*configuration.layers, *patterns.layers) if layer.state != "absent"]
    if as_json:
        found = {"valid": not problems, "problems": list(map(_problem_json, problems)), "notes": notes}
        click.echo(json.dumps(found, indent=2))
    else:
        for problem in problems:
            click.echo(visible(str(problem), 1000))
        for note in notes:
            click.echo(f"note: {visible(note, 1000)}")
        if not problems:
            click.echo(_all_valid(checked))
    sys.exit(WRONG if problems else 0)


def _all_valid(files: Sequence[str]) -> str:
    names = ", ".join(visible(file, 300) for file in files)
    return f"valid: {names}" if names else "there are no configuration files here (`lockgate config path`)"


def _check_file(file: str) -> tuple[ConfigError, ...]:
    try:
        data = read_file(file)
    except (OSError, ValueError) as error:
        return (ConfigError(file, 0, "", f"cannot be read: {getattr(error, 'strerror', None) or error}"),)
    if data is None:
        raise click.UsageError(f"there is no file {visible(file)!r}")
    if is_patterns(file):
        from lockgate.patterns.library.loading import load, real_checks

        return load(data, file, real_checks()).problems
    return parse(data, file).problems


def _problem_json(error: ConfigError) -> dict[str, Any]:
    return {"file": error.file, "line": error.line, "key": error.key, "problem": error.problem}


@config.command()
@click.argument("which", type=click.Choice(["lockgate", "lockbox"]), default="lockgate")
def schema(which: str) -> None:
    """Print the JSON Schema of lockgate.yaml, or of Lockbox's files."""
    click.echo(schema_text(which), nl=False)


@config.command(short_help="Print where configuration files are looked for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def path(as_json: bool) -> None:
    """Print where configuration and pattern files are looked for, from the lowest layer to the highest.

    Exit status: 0 printed, 3 state not readable.
    """
    layers = (*_load().layers, *patterns_here().layers)
    if as_json:
        click.echo(json.dumps(list(map(_layer_json, layers)), indent=2))
        return
    width = max(len(layer.name) for layer in layers) + 2
    for layer in layers:
        click.echo(f"{layer.name:<{width}}{layer.state:<10}{visible(layer.path, 1000)}")
