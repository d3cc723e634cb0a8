"""``lockgate audit``: show, verify and export the record of decisions."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import click

from lockgate.cli.approvals.find import person
from lockgate.cli.approvals.key import approvers_in_force
from lockgate.cli.audit.export_records import export
from lockgate.cli.audit.keep import archive, prune
from lockgate.cli.common.colour import paint
from lockgate.cli.common.person import require_approver
from lockgate.cli.common.state import WRONG, clients, describe_ways_back, head_anchors, look_at_state, open_state
from lockgate.cli.common.times import clock, iso
from lockgate.core.display_text import visible
from lockgate.core.errors import AuditError
from lockgate.core.model import Tier, ToolCall
from lockgate.gate import contradictions
from lockgate.gate.messages.calls import call_text
from lockgate.store.audit.archives import open_records
from lockgate.store.audit.chain import Verification, items, verify_parts, verify_store
from lockgate.store.protocol import Store, Transaction
from lockgate.store.rows import AuditRow
from lockgate.system.folders import folders

_PAGE = 500
_SHOWN = 5
"""Problems of the state that are told one by one."""
_MEND = "lockgate audit accept"
_UNSAID = frozenset({"event", "schema", "client", "session", "agent", "brief", "call", "digest", "cascade"})
"""Who and what is shown by other words, or only in ``--json``: a line is for a person."""
_LONG = 10_000
"""Milliseconds from which on a time is told in seconds."""
_COLOURS = {"allow": "green", "contain": "cyan", "judge": "cyan", "ask": "yellow", "deny": "red"}


@click.group()
def audit() -> None:
    """Show, verify, export and shorten the record of decisions."""


audit.add_command(archive)
audit.add_command(export)
audit.add_command(prune)


@audit.command()
@click.option("--session", default="", help="Only records of sessions whose id begins so.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The most records to show.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def show(session: str, limit: int, as_json: bool) -> None:
    """Show the newest records, oldest of them first.

    Exit status: 0 shown (also where there are none), 2 usage, 3 state not readable.
    """
    with look_at_state() as tx:
        rows = _newest(tx, session, limit) if tx is not None else []
    if not rows and not as_json:
        click.echo("nothing recorded yet" if not session else "nothing recorded of such a session")
    answers = _answers(rows)
    for row, body in rows:
        click.echo(
            json.dumps({**row._asdict(), "at": iso(row.at), "body": body}) if as_json else _line(row, body, answers)
        )


@audit.command("verify")
@click.argument("files", metavar="[FILE]...", type=click.Path(exists=True, dir_okay=False, allow_dash=True), nargs=-1)
@click.option("--foreign", is_flag=True, help="FILE is another installation's: its seals cannot be checked here.")
@click.option("--then-state", is_flag=True, help="The installation's own records follow those of the FILEs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify_command(files: tuple[str, ...], foreign: bool, then_state: bool, as_json: bool) -> None:
    """Check that no record was changed, removed, added or moved.

    Without FILE the installation's own chain is checked, and the state against it; else an export of it, or an archive.
    Several files, oldest first, are checked as one chain.

    Exit status: 0 the chain and the state hold, 1 they do not, 2 usage, 3 state not readable.
    """
    if (foreign or then_state) and not files:
        raise click.UsageError("--foreign and --then-state need a FILE")
    if foreign and then_state:
        raise click.UsageError("what another installation recorded cannot go on here: say --foreign or --then-state")
    against: list[str] = []
    if files:
        found = _verify_files(files, foreign=foreign, then_state=then_state)
    else:
        found, against = _verify_state()
    sealed = not foreign and (found.records > 0 or found.head.seal != "")
    if as_json:
        click.echo(json.dumps(_verification_json(found, against, sealed=sealed), indent=2))
    elif found.ok:
        click.echo(_holds(found, sealed=sealed))
        if against:
            click.echo(f"{paint('the state is not what the audit tells', 'red')}; look at it, and run: {_MEND}")
        for each in first_of(against):
            click.echo(f"  {each}")
    else:
        click.echo(f"{paint('the audit chain does not hold', 'red')}: {visible(found.problem)}")
        click.echo(f"{found.records} records before that hold")
        for line in () if files else describe_ways_back(folders().state):
            click.echo(line)
    if not found.ok or against:
        raise click.exceptions.Exit(WRONG)


def _newest(tx: Transaction, session: str, limit: int) -> list[tuple[AuditRow, Any]]:
    """The newest records, read backwards in pages, so that a long chain costs nothing."""
    found: list[tuple[AuditRow, Any]] = []
    upper, gone = tx.audit_head().seq, tx.audit_checkpoint().seq
    while upper > gone and len(found) < limit:
        lower = max(upper - _PAGE, 0)
        page = [(row, _body(row)) for row in tx.audit(after=lower, limit=_PAGE) if row.seq <= upper]
        found = [entry for entry in page if _is_of(entry[1], session)] + found
        upper = lower
    return found[-limit:]


def _body(row: AuditRow) -> Any:
    try:
        return json.loads(row.body)
    except (ValueError, RecursionError):
        return {"event": "unreadable"}


def _is_of(body: Any, session: str) -> bool:
    return not session or (isinstance(body, dict) and str(body.get("session", "")).startswith(session))


def _answers(rows: Sequence[tuple[AuditRow, Any]]) -> dict[str, str]:
    """What became of each question to a person, by its id: the record of that stands before the decision's."""
    bodies = (body for _, body in rows if isinstance(body, dict) and body.get("event") == "answered")
    return {str(body.get("approval", "")): str(body.get("state", "")) for body in bodies}


def _line(row: AuditRow, body: Any, answers: Mapping[str, str] = {}) -> str:
    facts = body if isinstance(body, dict) else {}
    verdict = str(facts.get("verdict", ""))
    words = [
        f"{row.seq:>6}",
        clock(iso(row.at)),
        f"{visible(str(facts.get('session', '')), 64)[:8]:8}",
        visible(str(facts.get("event", "")), 30),
        paint(verdict, _COLOURS[verdict]) if verdict in _COLOURS else visible(verdict, 20),
        _describe(facts, answers),
    ]
    return "  ".join(word for word in words if word)


def _describe(facts: dict[str, Any], answers: Mapping[str, str]) -> str:
    said = []
    given = facts.get("input")
    tool = str(facts.get("tool", ""))
    if tool:
        said.append(call_text(ToolCall(tool, given if isinstance(given, dict) else {}), 140))
    if facts.get("outcome"):
        gave = ", ".join(map(str, facts["gave"])) if isinstance(facts.get("gave"), list) else ""
        said.append(visible(f"{facts['outcome']}{f', gave {gave}' if gave else ''}", 80))
    if isinstance(facts.get("whose_words"), str):
        said.append(f"({visible(facts['whose_words'], 140)})")
    reasons = facts.get("reasons")
    if isinstance(reasons, list) and reasons and facts.get("verdict") != "allow":
        said.append(f"[{visible(str(reasons[0].get('rule', '')), 80)}]" if isinstance(reasons[0], dict) else "")
    said.append(_tier_text(facts.get("cascade"), answers))
    if not tool:
        said.append(
            visible(", ".join(_fact(*fact) for fact in facts.items() if fact[0] not in _UNSAID and fact[1]), 140)
        )
    return " ".join(part for part in said if part)


def _tier_text(cascade: Any, answers: Mapping[str, str]) -> str:
    """Which tier decided, in how long, and what the judge said where it was asked: ``by judge in 412 ms (flagged)``."""
    if not isinstance(cascade, dict) or not isinstance(cascade.get("ms"), int | float):
        return ""
    judge = cascade.get("judge")
    said = _judge_text(judge) if isinstance(judge, dict) else ""
    approval = str(cascade.get("approval") or "")
    more = ", ".join(filter(None, (said, f"approval {visible(approval, 40)}" if approval else "")))
    who = f"by {visible(str(cascade.get('tier', '')), 20)}"
    if cascade.get("tier") == Tier.PERSON.value and answers.get(approval) == "expired":
        who = "nobody answered"
    return f"{who} in {_took(cascade['ms'])}" + (f" ({more})" if more else "")


def _took(ms: float) -> str:
    """A time in words: ``4.2 ms``, ``412 ms``, ``300 s``."""
    if ms >= _LONG:
        return f"{ms / 1000:.0f} s"
    return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.1f} ms"


def _judge_text(judge: dict[str, Any]) -> str:
    if judge.get("failed"):
        return f"the judge failed: {visible(str(judge['failed']), 80)}"
    said = f"{visible(str(judge.get('model') or 'the judge'), 60)}: {'' if judge.get('flagged') else 'not '}flagged"
    return f"{said}, answered before" if judge.get("cached") else said


def _fact(name: str, value: Any) -> str:
    if name == "text":
        return str(value)
    if name == "checkpoint" and isinstance(value, dict):
        return f"up to {value.get('seq')}"
    if name == "before" and isinstance(value, (int, float)):
        return f"before {clock(iso(value))}"
    if name.endswith("_at") and isinstance(value, (int, float)):
        return f"{name.removesuffix('_at')} {clock(iso(value))}"
    if name in ("how", "state"):
        return str(value)
    if isinstance(value, dict):
        return f"{name} {' '.join(f'{key} {item}' for key, item in value.items())}"
    if isinstance(value, list):
        return f"{name} {' '.join(str(item) for item in value)}"
    return name if value is True else f"{name} {value}"


def _verify_state() -> tuple[Verification, list[str]]:
    """Whether the chain holds, and what the state says against it, or a place that the machine does not own."""
    with open_state() as store:
        if store is None:
            return Verification(True, 0), []
        with store.reading() as tx:
            found = verify_store(tx, store.key)
            if not found.ok:
                return found, []
    _compare_elsewhere()
    with look_at_state() as tx:
        return found, problems(tx) if tx is not None else []


def _compare_elsewhere() -> None:
    for problem in head_anchors(folders()).compare():
        click.echo(visible(problem.says), err=True)


def _verification_json(found: Verification, against: list[str], *, sealed: bool) -> dict[str, Any]:
    return {
        "ok": found.ok and not against,
        "records": found.records,
        "problem": visible(found.problem) or None,
        "seq": found.seq or None,
        "head": {"seq": found.head.seq, "digest": found.head.digest} if found.head.digest else None,
        "begins_after": found.base.seq,
        "seal_checked": sealed,
        "against": against,
    }


def _verify_files(files: Sequence[str], *, foreign: bool, then_state: bool) -> Verification:
    key = None if foreign else _own_key()
    with ExitStack() as stack:
        parts = [stack.enter_context(open_records(file)) for file in files]
        if then_state:
            tx = stack.enter_context(look_at_state())
            if tx is not None:
                parts.append(items(tx))
        try:
            return verify_parts(parts, key)
        except AuditError as error:
            return Verification(False, 0, str(error))


def _own_key() -> bytes:
    with open_state() as store:
        if store is None:
            raise click.UsageError("there is no key here to check the file's seal with: say --foreign")
        return store.key


def _holds(found: Verification, *, sealed: bool) -> str:
    if not found.head.digest and not found.records:
        return "nothing recorded yet"
    seal = "" if sealed else "; its seals were not checked"
    records = "record" if found.records == 1 else "records"
    begins = f", from {found.first} on, in the place of older ones a checkpoint" if found.first > 1 else ""
    ends = (
        f"head {found.head.seq}:{found.head.digest}" if found.head.digest else "this is an archive: the chain goes on"
    )
    return f"{paint('the audit chain holds', 'green')}: {found.records} {records}{begins}{seal}\n{ends}"


def problems(tx: Transaction) -> list[str]:
    """What the state says against the audit, for a person."""
    return [visible(each.text, 300) for each in contradictions.contradictions(tx, approvers_in_force())]


def first_of(found: Sequence[str]) -> list[str]:
    """The first problems, and how many more there are: who empties a whole list makes a problem of each part of it."""
    if len(found) <= _SHOWN + 1:
        return list(found)
    more = f"and {len(found) - _SHOWN} more of {len(found)}; all of them: lockgate audit verify --json"
    return [*found[:_SHOWN], more]


@audit.command()
@click.option("--yes", is_flag=True, help="Do not ask first.")
def accept(yes: bool) -> None:
    """Mend what `lockgate audit verify` finds of the state against the audit, and record that.

    An answer that was not recorded does not count from then on; a no that was recorded and is kept counts again.

    Exit status: 0 done (also where nothing is wrong), 1 not done, 2 usage, 3 state not readable.
    """
    with open_state() as store:
        if store is not None:
            require_approver("accept the state as it is", clients(store))
            with store.reading() as tx:
                found = problems(tx)
            elsewhere = head_anchors(folders())
            rewound = [each.says for each in elsewhere.problems(time.time()) if each.is_over]
            for each in (*first_of(found), *map(visible, rewound)):
                click.echo(each)
            if found or rewound:
                if not yes:
                    click.confirm("Have you looked at this, and shall it be mended?", abort=True)
                if found:
                    _mend(store, found)
                elsewhere.accept()
                return
    click.echo("the state is what the audit tells: nothing is to be mended")


def _mend(store: Store, found: Sequence[str]) -> None:
    with store.transaction() as tx:
        if not (verified := verify_store(tx, store.key)).ok:
            raise click.ClickException(f"the audit itself does not hold: {visible(verified.problem, 300)}")
        if problems(tx) != found:
            raise click.ClickException("the state has changed meanwhile: look again")
        contradictions.accept_contradictions(
            tx, contradictions.contradictions(tx, approvers_in_force()), by=person(), now=store.clock()
        )
    click.echo(f"mended, and recorded: {len(found)}")
