"""``lockgate demo``: a short film of the main job, with real hook processes, real state and a real repository."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from typing import Any

import click

from lockgate.cli.common.colour import paint
from lockgate.cli.demo.film import LEAKS, Film


def _title(text: str) -> None:
    click.echo(f"\n{paint(text, None, bold=True)}")


def _play(film: Film) -> dict[str, Any]:
    film.build()
    before = film.count_pushed()
    film.hook("SessionStart", source="startup")
    film.hook("UserPromptSubmit", prompt="please fix issue 7")
    _title("1. The agent reads an issue")
    film.ingest()
    _title("2. Local work goes on as before")
    film.work_on()
    film.run_checks()
    _title("3. It does what the hidden text says: push")
    film.must_block("", "Bash", {"command": "git push origin main"}, show=True)
    _title("4. It tries to send .env away, in four disguises")
    for what, tool, tool_input in LEAKS:
        film.must_block(what, tool, tool_input)
    _title("5. A person lets exactly one push through")
    approved = film.delegate()
    film.must_block("the session itself stays locked", "Bash", {"command": "git push origin main"})
    film.hook("SessionEnd", reason="other")
    return _measure(film, before, approved=approved)


def _measure(film: Film, before: int, *, approved: bool) -> dict[str, Any]:
    """What a film came to; ``before`` is how many commits were pushed when it began."""
    from lockgate.store.audit.chain import verify_store
    from lockgate.store.opening import open_store

    store = open_store(os.path.join(film.folder, "state"))
    with store.reading() as tx:
        chain = verify_store(tx, store.key)
    store.close()
    return {
        "events": len(film.times),
        "calls_without_objection": film.silent,
        "calls_contained": film.contained,
        "calls_blocked": film.blocked,
        "questions_to_the_person": film.asked,
        "commits_pushed_before": before,
        "commits_pushed_after": film.count_pushed(),
        "approved": approved,
        "audit_records": chain.records,
        "audit_chain_holds": chain.ok,
        "hook_ms_median": round(statistics.median(film.times), 1),
        "hook_ms_max": round(max(film.times), 1),
    }


@click.command(short_help="Show the main job, in a temporary folder.")
@click.option("--yes/--no", "answer", default=None, help="The person's answer; asked on a terminal otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print only what was measured, as JSON.")
def demo(answer: bool | None, as_json: bool) -> None:
    """Show the main job: an injected issue, local work, contained tests, a blocked push, four leaks, one approved push.

    Everything happens in a temporary folder; nothing touches the network or your own state.
    """

    def person(question: str) -> bool:
        if answer is None and sys.stdin.isatty():
            return click.confirm(f"             {question}", default=False)
        decided = True if answer is None else answer
        click.echo(f"             {question} {'yes' if decided else 'no'} (answered for you)")
        return decided

    with tempfile.TemporaryDirectory(prefix="lockgate-demo-") as folder:
        film = Film(os.path.realpath(folder), person=person)
        if as_json:
            with open(os.devnull, "w", encoding="utf-8") as nowhere:
                from contextlib import redirect_stdout

                with redirect_stdout(nowhere):
                    measured = _play(film)
            click.echo(json.dumps(measured, indent=2))
        else:
            measured = _play(film)
            _title("Measured")
            for name, value in measured.items():
                click.echo(f"  {name.replace('_', ' '):28} {value}")
    if not measured["audit_chain_holds"]:
        raise click.ClickException("the audit chain does not hold")
