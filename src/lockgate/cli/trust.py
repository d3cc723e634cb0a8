"""``lockgate trust`` and ``untrust``: decide whether a project's configuration and patterns may loosen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from lockgate.cli.common.set_up import require_approver_once_guarded
from lockgate.cli.common.state import make_state, record_act
from lockgate.configuration.layers.files import LayerPlace, digest_of, may_be_in_fleet, read_file, trust_name
from lockgate.configuration.load import find_workspace, places
from lockgate.configuration.pattern_library.layers import gather_layers, is_patterns, pattern_places, read_shipped_layer
from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError
from lockgate.core.record import Record
from lockgate.patterns.library import merging
from lockgate.patterns.library.loading import load, real_checks
from lockgate.policy.lockbox.merging import LockboxLayer, merge
from lockgate.policy.report import loosenings
from lockgate.policy.validation import Parsed, parse
from lockgate.system.folders import folders

_DEEPEST = 4
"""How far below its project's root a file is, with the root itself: ``.claude/hooks/patterns``."""


@click.command(short_help="Let a project's configuration loosen.")
@click.argument("where", metavar="[PATH]", type=click.Path(), default="")
@click.option("--yes", is_flag=True, help="Do not ask. It takes your terminal all the same.")
def trust(where: str, yes: bool) -> None:
    """Let a project's configuration and pattern files loosen what Lockgate does, as long as no byte of them changes.

    PATH is the project's folder or one of its files; without it, the project around the current folder.

    Only a person at a terminal of their own can do this, once a client has hooks or a session was recorded. Before that
    a script that sets a machine up can, with --yes.

    Exit status: 0 trusted; 1 not valid, nothing to trust, not confirmed, or not a person's terminal; 2 usage; 3 state
    not writable.
    """
    require_approver_once_guarded("trust a project's configuration")
    found = _find_files(_project_places(where))
    if not found:
        raise click.ClickException("there is no project configuration to trust here")
    for line in _list_loosenings(found, *_read(found)):
        click.echo(line)
    if may_be_in_fleet(folders().state):
        click.echo("what the fleet's policy fixes is not loosened by that (`lockgate policy status`)")
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("this asks a person: run it in a terminal, or give --yes")
        click.confirm("Trust exactly this content?", default=False, abort=True)
    _record({place.path: digest_of(data) for place, data in found})
    click.echo("trusted, until any byte of it changes")


def trust_all(root: str) -> list[str]:
    """Trust what configuration and pattern files a project has now. Returns their paths.

    Only for a caller that knows where they come from.

    Args:
        root: The project's root.

    Raises:
        ClickException: One is not valid.
    """
    found = _find_files(_places_below(root))
    _read(found)
    _record({place.path: digest_of(data) for place, data in found})
    return [place.path for place, _ in found]


def _find_files(among: Sequence[LayerPlace]) -> list[tuple[LayerPlace, bytes]]:
    return [(place, data) for place in among if (data := _content(place)) is not None]


def _read(
    found: Sequence[tuple[LayerPlace, bytes]],
) -> tuple[list[tuple[LayerPlace, bytes]], list[Parsed], PatternLayers]:
    """Files of configuration with what they say, and what the pattern files say. Raises where one is not valid."""
    files = [(place, data) for place, data in found if not is_patterns(place.path)]
    parsed = [parse(data, place.path) for place, data in files]
    ours = patterns_layers([(place, data) for place, data in found if is_patterns(place.path)])
    _refuse_invalid([*(problem for one in parsed for problem in one.problems), *ours.problems])
    return files, parsed, ours


def _refuse_invalid(problems: Sequence[ConfigError]) -> None:
    for problem in problems:
        click.echo(visible(str(problem), 1000), err=True)
    if problems:
        raise click.ClickException("nothing was trusted: the configuration is not valid")


def _content(place: LayerPlace) -> bytes | None:
    try:
        return read_file(place.path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise click.ClickException(f"{visible(place.path, 300)} cannot be read: {reason}") from error


def _project_places(where: str) -> list[LayerPlace]:
    """The places of a project's files: of the folder, or the one that is named."""
    home = folders().home
    if not where:
        return _places_below(find_workspace(os.getcwd(), home))
    if os.path.isdir(where):
        return _places_below(os.path.abspath(where))
    folder, name = os.path.split(os.path.abspath(where))
    folder = wanted = os.path.realpath(folder)
    for _ in range(_DEEPEST):
        found = [place for place in _places_below(folder) if place.path == os.path.join(wanted, name)]
        if found:
            return found
        folder = os.path.dirname(folder)
    raise click.UsageError(
        f"{visible(where)!r} is no project configuration: name a folder, its .claude/lockbox.json, lockgate.yaml, "
        ".lockgate.yaml, or one of its pattern files (`lockgate config path`)"
    )


def _places_below(root: str) -> list[LayerPlace]:
    where = folders()
    found = (*places(where.home, where.config, root), *pattern_places(where, root))
    return [place for place in found if place.project]


def _list_loosenings(
    found: Sequence[tuple[LayerPlace, bytes]],
    files: Sequence[tuple[LayerPlace, bytes]],
    parsed: Sequence[Parsed],
    ours: PatternLayers,
) -> Iterator[str]:
    """What the files would loosen against the user's own configuration."""
    for place, data in found:
        yield f"{visible(place.path, 300)}  (SHA-256 {digest_of(data)})"
    below = _own_layers()
    layers = [
        LockboxLayer(place.name, one.value or {}, project=True) for (place, _), one in zip(files, parsed, strict=True)
    ]
    before, after = merge(below), merge([*below, *layers])
    lines = [visible(line, 300) for line in (*loosenings(before, after), *ours.loosenings)]
    yield "it would loosen:" if lines else "it loosens nothing: it holds already, and needs no trust"
    yield from (f"  {line}" for line in lines)


def _own_layers() -> list[LockboxLayer]:
    """The layers below a project's, as they stand; what is not valid is left out."""
    where = folders()
    layers = []
    for place in places(where.home, where.config, ""):
        try:
            data = read_file(place.path)
        except (OSError, ValueError):
            continue
        value = parse(data, place.path).value if data is not None else None
        if value is not None:
            layers.append(LockboxLayer(place.name, value))
    return layers


@click.command(short_help="Take trust in a project back.")
@click.argument("where", metavar="[PATH]", type=click.Path(), default="")
def untrust(where: str) -> None:
    """Take trust in a project's configuration files back: they can only tighten again.

    Exit status: 0 not trusted (any more), 2 usage, 3 state not writable.
    """
    _record({place.path: None for place in _project_places(where)})
    click.echo("not trusted: these files can only tighten")


def _record(digests: Mapping[str, str | None]) -> None:
    """Keep which contents are trusted, and write the act into the audit."""
    with make_state() as store, store.transaction() as tx:
        for path, digest in digests.items():
            before = tx.setting(trust_name(path))
            if before != digest:
                tx.put_setting(trust_name(path), digest)
                event = "untrust" if digest is None else "trust"
                record_act(tx, store.clock(), event, {"file": path, "sha256": digest or before})


class PatternLayers(Record):
    """A project's pattern files."""

    problems: tuple[ConfigError, ...]
    loosenings: tuple[str, ...]
    """What they say that holds only if they are trusted."""


def patterns_layers(found: Sequence[tuple[LayerPlace, bytes]]) -> PatternLayers:
    """Check a project's pattern files against the person's own layers.

    Args:
        found: The files and their contents.
    """
    if not found:
        return PatternLayers((), ())
    checks = real_checks()
    problems: list[ConfigError] = []
    layers = [read_shipped_layer(), *gather_layers(folders(), checks)]
    for place, data in found:
        loaded = load(data, place.path, checks)
        problems += loaded.problems
        if loaded.document is not None:
            layers.append(merging.PatternLayer(place.name, place.path, loaded.document, may_loosen=False))
    return PatternLayers(tuple(problems), tuple(merging.merge(layers).notes))
