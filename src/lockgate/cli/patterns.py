"""``lockgate patterns``: lists the rules, tests them, and tries them on a text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from lockgate.cli.common.colour import paint
from lockgate.cli.common.state import WRONG, patterns_here
from lockgate.configuration.layers.files import read_file
from lockgate.configuration.pattern_library.layers import Gathered, read_shipped_layer
from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError, PatternError
from lockgate.patterns.library.linking import Linked, link
from lockgate.patterns.library.loading import load, real_checks, schema_text
from lockgate.patterns.library.merging import FALLBACKS, MODES, SEVERITIES, PatternLayer, merge
from lockgate.patterns.model import RuleGroup

_COLOURS = {"block": "red", "ask": "yellow", "warn": "cyan", "off": None}
_WIDEST = 44
_MOST = 10_000_000
"""Bytes of a text that are explained."""


@click.group(short_help="Show, test and explain the pattern library.")
def patterns() -> None:
    """Show, test and explain the pattern library: what must not go into a tool, or come out of one."""


# ---------------------------------------------------------------- list


@patterns.command("list", short_help="List the rules that hold here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Only rules of this group; may be repeated.")
@click.option("--severity", type=click.Choice(SEVERITIES[::-1]), help="Only rules of at least this severity.")
def list_(as_json: bool, groups: tuple[str, ...], severity: str | None) -> None:
    """List the rules that hold here, with the layer that each came from.

    Exit status: 0 listed, 1 listed, but a file is not valid, 2 usage, 3 state not readable.
    """
    gathered = patterns_here()
    known = [group.id for group in gathered.linked.library.groups]
    for name in groups:
        if name not in known:
            raise click.UsageError(f"there is no group {visible(name, 80)!r}; there are: {', '.join(sorted(known))}")
    rows = [
        row
        for row in _rows(gathered.linked)
        if (not groups or row["group"] in groups)
        and (severity is None or SEVERITIES.index(row["severity"]) >= SEVERITIES.index(severity))
    ]
    if as_json:
        found = {
            "version": gathered.linked.library.version,
            "layers": [{**layer._asdict(), "digest": layer.digest or None} for layer in gathered.layers],
            "groups": [_group_json(group) for group in gathered.linked.library.groups],
            "rules": rows,
            "notes": list(gathered.notes),
            "problems": list(map(_problem_json, gathered.problems)),
        }
        click.echo(json.dumps(found, indent=2))
    else:
        for line in _lines(rows, gathered):
            click.echo(line)
    sys.exit(WRONG if gathered.problems else 0)


def _rows(linked: Linked) -> Iterator[dict[str, Any]]:
    """A row for each rule in the group that it was written in, and in that beside it."""
    for group in linked.library.groups:
        for index in group.rules:
            rule, origin = linked.library.rules[index], linked.origins[index]
            if rule.group != group.id.partition("@")[0]:
                continue  # included: shown where it was written
            yield {
                "id": rule.id,
                "group": group.id,
                "type": rule.type,
                "severity": rule.severity.word,
                "mode": rule.action or group.action or group.mode.word,
                "layers": list(origin.layers),
                "provider": origin.provider,
                "source": origin.source,
                "file": "" if origin.file.endswith("shipped.json") else origin.file,
                "line": origin.line,
            }


def _group_json(group: RuleGroup) -> dict[str, Any]:
    return {
        "id": group.id,
        "side": group.side.value,
        "name": group.name,
        "mode": MODES[group.mode],
        "kind": group.kind.value,
        "timeout_ms": group.timeout_ms,
        "fallback": FALLBACKS[group.fallback.rank],
        "rules": len(group.rules),
    }


def _problem_json(error: ConfigError) -> dict[str, Any]:
    return {"file": error.file, "line": error.line, "key": error.key, "problem": error.problem}


def _lines(rows: Sequence[dict[str, Any]], gathered: Gathered) -> Iterator[str]:
    titles = ("id", "group", "type", "severity", "mode", "layer", "provider")
    table = [titles, *((*(row[key] for key in titles[:5]), ", ".join(row["layers"]), row["provider"]) for row in rows)]
    shown = [[visible(cell, _WIDEST) for cell in line] for line in table]
    widths = [max(len(line[column]) for line in shown) for column in range(len(titles))]
    for number, line in enumerate(shown):
        cells = [f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)]
        if number:
            cells[4] = paint(cells[4], _COLOURS.get(line[4]))
        yield "  ".join(cells).rstrip()
    yield f"{len(rows)} rule{'s' if len(rows) != 1 else ''}"
    for title, entries in (("notes", gathered.notes), ("problems", tuple(map(str, gathered.problems)))):
        if entries:
            yield ""
            yield title
            yield from (f"  {visible(entry, 600)}" for entry in entries)


# ---------------------------------------------------------------- test


@patterns.command("test", short_help="Check pattern files and run their examples.")
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def test(files: tuple[str, ...], as_json: bool) -> None:
    """Check pattern files against the schema and run the examples of their rules; without FILES, of all that hold here.

    FILES are laid over what is shipped, in this order.

    Exit status: 0 all hold, 1 problems, 2 usage, 3 state not readable.
    """
    from lockgate.configuration.pattern_library.examples import failures

    if files:
        linked, problems = _link_files(files)
    else:
        gathered = patterns_here()
        linked, problems = gathered.linked, list(gathered.problems)
    own = None if not files else frozenset(files)
    try:
        ran, failed = failures(linked, own)
    except PatternError as error:
        raise click.ClickException(str(error)) from error
    problems += failed
    if as_json:
        found = {"ok": not problems, "examples": ran, "problems": list(map(_problem_json, problems))}
        click.echo(json.dumps(found, indent=2))
    else:
        for problem in problems:
            click.echo(visible(str(problem), 1000))
        if not problems:
            click.echo(f"{ran} examples hold")
    sys.exit(WRONG if problems else 0)


def _link_files(files: Sequence[str]) -> tuple[Linked, list[ConfigError]]:
    layers, problems = [read_shipped_layer()], []
    for file in files:
        try:
            data = read_file(file)
        except (OSError, ValueError) as error:
            problems.append(ConfigError(file, 0, "", f"cannot be read: {getattr(error, 'strerror', None) or error}"))
            continue
        if data is None:
            raise click.UsageError(f"there is no file {visible(file)!r}")
        loaded = load(data, file, real_checks())
        problems += loaded.problems
        if loaded.document is not None:
            layers.append(PatternLayer(file, file, loaded.document))
    state = merge(layers)
    return link(state), [*problems, *state.problems]


# ---------------------------------------------------------------- explain, schema


@patterns.command(short_help="Say what the library makes of a text.")
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--output", is_flag=True, help="As what comes out of a tool, not what goes into one.")
@click.option("--tool", default="", help="As the input or output of this tool.")
def explain(text: str, as_json: bool, output: bool, tool: str) -> None:
    """Say which rules match in TEXT and where, what their validators answer, and what that comes to.

    With `-` as TEXT, standard input is read.

    Exit status: 0 nothing matches, 1 something does, 2 usage, 3 state not readable.
    """
    from lockgate.configuration.pattern_library.examples import explain_text

    written = sys.stdin.buffer.read(_MOST).decode("utf-8", "replace") if text == "-" else text
    try:
        found = explain_text(patterns_here().linked, written, tool, output=output)
    except PatternError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        for line in _explain_lines(found):
            click.echo(line)
    sys.exit(WRONG if found["matches"] else 0)


def _explain_lines(found: dict[str, Any]) -> Iterator[str]:
    for match in found["matches"]:
        where = f"{match['start']}-{match['end']}"
        coded = f", written as {' of '.join(match['encoding'])}" if match["encoding"] else ""
        yield f"{match['rule']}  ({match['severity']}, {match['mode']}: {match['decision']})"
        yield f"  at {where}{coded}: {visible(match['text'], 200)}"
        for name, answer in match["validators"].items():
            yield f"  {name}: {answer}"
    for refused in found["refused"]:
        yield f"{refused['rule']}  does not count"
        yield f"  at {refused['start']}-{refused['end']}: {visible(refused['text'], 200)}"
        yield f"  {refused['because']}"
    decision = found["decision"]
    yield f"{paint(decision, _COLOURS.get(decision))}: {visible(found['reason'] or 'nothing matches', 400)}"


@patterns.command()
def schema() -> None:
    """Print the JSON Schema of pattern files."""
    click.echo(schema_text(), nl=False)
