"""``lockgate bench``: what the gate costs, as ratios from one interleaved run on this machine."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import TextIO

import click

from lockgate.core.errors import LockgateError


@click.command()
@click.option("--rounds", default=40, show_default=True, type=click.IntRange(3, 2000), help="Interleaved rounds.")
@click.option(
    "--seconds",
    default=3.0,
    show_default=True,
    type=click.FloatRange(0.1, 600.0),
    help="How long a resident gate is put under load.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--plot",
    metavar="FILE.svg",
    type=click.File("w", encoding="utf-8", lazy=False),  # what cannot be written is told before anything is measured
    help="Also draw the ratios.",
)
def bench(rounds: int, seconds: float, as_json: bool, plot: TextIO | None) -> None:
    """Measure what the gate costs, in one interleaved run.

    Ratios are to the bare interpreter (python -I -S -c pass) and to /bin/true, round by round. So they mean the same on
    a slow machine; those of processor time mean the same on a busy one. All gates and hooks are run in a folder that is
    thrown away, and ended.
    """
    from lockgate.cli.bench.run import gates, inside, processes, resident
    from lockgate.cli.bench.run.report import draw_ratios, report_of, table

    with (
        tempfile.TemporaryDirectory(prefix="lockgate-bench-") as folder,
        click.progressbar(
            length=rounds + 8, label="measuring", file=sys.stderr, hidden=not sys.stderr.isatty()
        ) as progress,
    ):
        try:
            where = gates.folders_in(os.path.join(folder, "gate"))
            gates.prepare(where)
            found = processes.measure(folder, where, rounds, progress.update)
            told = resident.measure(where, seconds, progress.update)
            found += inside.measure(where, rounds)
        except (LockgateError, TimeoutError) as error:
            raise click.ClickException(str(error)) from error
        progress.update(1)
    report = report_of(found, told, rounds)
    if plot:
        plot.write(draw_ratios(report))
    click.echo(json.dumps(report, indent=2) if as_json else "\n".join(table(report)))
