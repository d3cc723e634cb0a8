"""``lockgate ci report``: tells reviewers what a job's agent did, and what was refused.

What it tells of calls was written by an agent that may have read strangers' words. In the summary each character that
could mean something to Markdown or HTML is written by its number; in annotations and lines of the log nothing can begin
a command of the service.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click

from lockgate.cli.audit.export_records import private, write_chain
from lockgate.cli.ci.job import log_text
from lockgate.cli.ci.plan import PLAN_FILE
from lockgate.cli.common.state import WRONG, look_at_state
from lockgate.cli.scan.findings import file_uri, sarif_log
from lockgate.core.display_text import visible
from lockgate.core.model import Label, ToolCall, Verdict
from lockgate.core.version import __version__
from lockgate.gate.messages.calls import call_text
from lockgate.gate.session import jobs
from lockgate.store.audit.bodies import body_of, items, part

_JOB, _DECISION = "ci_job", "decision"
_PATHS = ("file_path", "path", "filePath", "notebook_path", "absolute_path")
"""Parameters of the clients' tools that name the file of a call."""
_MOST_ROWS = 100
"""Calls in the summary, which may have a megabyte."""
_MOST_NOTES = 10
"""Annotations of a kind that GitHub shows of one step."""
_CALL, _WHY = 300, 300
_ANNOTATION = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_ANNOTATION, ":": "%3A", ",": "%2C"}
"""How a command's value is written. Source: the toolkit of GitHub's actions, which its runner reads."""


class RefusedCall(NamedTuple):
    """A call that was refused."""

    said: str
    """Tool and call, in one line."""
    why: str
    rules: tuple[str, ...]
    file: str
    """The file of the checkout that it is about, from its root; empty for none."""


class JobReport(NamedTuple):
    """The audit's records of this job."""

    facts: Mapping[str, Any]
    """The facts that ``lockgate ci`` has recorded; empty where it did not run."""
    sessions: int
    verdicts: Mapping[str, int]
    refused: tuple[RefusedCall, ...]
    planned_with_secret: bool = False
    """Whether there is a plan, and a session could have put a secret into it, in whatever form."""

    @property
    def problem(self) -> str:
        """Why the job must not go on; empty where its agent was guarded, and has planned without a secret."""
        if not self.facts:
            return "lockgate ci did not run in this job, or in another run of it"
        if not self.sessions:
            return "no hook has run since: if an agent ran in this job, it was not guarded"
        return "a session that planned outputs had read a secret" if self.planned_with_secret else ""


@click.command(short_help="Tell what a job's agent did.")
@click.option("--sarif", "sarif_file", type=click.Path(dir_okay=False), help="File to write a SARIF 2.1.0 log to.")
@click.option("--audit", "audit_file", type=click.Path(dir_okay=False), help="File to write the whole record to.")
def report(sarif_file: str | None, audit_file: str | None) -> None:
    """Tell what the agent of this CI job did, and what was refused. Run it after the agent, whatever became of it.

    It adds to the job's summary (GITHUB_STEP_SUMMARY, or prints it), and annotates the files that refused calls were
    about.

    Exit status: 0 told; 1 no hook has run, a plan may hold a secret, or a file cannot be written; 2 usage; 3 state not
    readable.
    """
    found = _read_report(os.getcwd(), jobs.run_of(os.environ))
    _add_summary("\n".join(_summary(found)) + "\n")
    for line in _annotations(found):
        click.echo(line)
    if sarif_file:
        with private(sarif_file) as file:
            json.dump(_sarif(found), file, indent=2)
    if audit_file:
        write_chain(audit_file)
    if found.problem:
        click.echo(f"lockgate: {found.problem}", err=True)
        raise click.exceptions.Exit(WRONG)


def _read_report(root: str, run: str) -> JobReport:
    facts: Mapping[str, Any] = {}
    sessions: set[str] = set()
    verdicts: Counter[str] = Counter()
    refused: list[RefusedCall] = []
    secret = False
    with look_at_state() as tx:
        for row in tx.audit() if tx is not None and run else ():
            body = body_of(row.body)
            if body.get("run") != run or body.get("trial"):
                continue
            if body.get("event") == _JOB:
                facts = body
                continue
            sessions.add(str(body.get("session", "")))
            secret = secret or Label.SECRET in items(body.get("labels"))
            if body.get("event") == _DECISION:
                verdicts[str(body.get("verdict"))] += 1
                if body.get("verdict") == Verdict.DENY.word:
                    refused.append(_read_refusal(body, root))
    return JobReport(
        facts, len(sessions), verdicts, tuple(refused), secret and os.path.lexists(os.path.join(root, PLAN_FILE))
    )


def _read_refusal(body: Mapping[str, Any], root: str) -> RefusedCall:
    call = ToolCall(str(body.get("tool")), part(body.get("input")))
    reasons = [part(reason) for reason in items(body.get("reasons"))]
    why = "; ".join(dict.fromkeys(str(reason.get("because")) for reason in reasons))
    rules = tuple(dict.fromkeys(str(reason.get("rule")) for reason in reasons))
    named = next((call.tool_input[name] for name in _PATHS if isinstance(call.tool_input.get(name), str)), "")
    return RefusedCall(call_text(call, _CALL), visible(why, _WHY), rules, _path_in_checkout(named, root))


def _path_in_checkout(named: str, root: str) -> str:
    """The path of a file from the checkout's root; empty where it lies elsewhere, or in no file that git has."""
    path = os.path.relpath(os.path.join(root, named), root) if named and "\0" not in named else ".."
    return "" if path.split(os.sep)[0] in ("..", ".", ".git") else path


# ---------------------------------------------------------------- the job's summary
def _summary(found: JobReport) -> Iterator[str]:
    yield "## Lockgate"
    yield ""
    if found.problem:
        yield f"**{_markdown(found.problem[:1].upper() + found.problem[1:])}.**"
    if not found.facts:
        return
    strangers = str(found.facts.get("strangers", ""))
    begun = f"untrusted, since the prompt can hold words of others: {_code(strangers)}" if strangers else "clean"
    yield f"Sessions began {begun}. Base commit: {_code(str(found.facts.get('base')))}."
    yield ""
    told = ", ".join(f"{count} {_markdown(verdict)}" for verdict, count in sorted(found.verdicts.items()))
    yield f"{found.sessions} session(s), calls: {told or 'none'}."
    if not found.refused:
        return
    yield ""
    yield "| refused | why |"
    yield "| --- | --- |"
    for call in found.refused[:_MOST_ROWS]:
        yield f"| {_code(call.said)} | {_markdown(call.why)} |"
    if len(found.refused) > _MOST_ROWS:
        yield ""
        yield f"{len(found.refused) - _MOST_ROWS} more are in the audit."


def _markdown(text: str) -> str:
    """A text in which no character has a meaning in Markdown or HTML, and no name or address becomes a link."""
    shown = visible(text, 2 * _WHY)
    return "".join(each if each.isalnum() or each == " " else f"&#{ord(each)};" for each in shown)


def _code(text: str) -> str:
    return f"<code>{_markdown(text)}</code>"


def _add_summary(text: str) -> None:
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        click.echo(text, nl=False)
        return
    with private(file, add=True) as summary:
        summary.write(text)


# ---------------------------------------------------------------- annotations
def _annotations(found: JobReport) -> Iterator[str]:
    if found.problem:
        yield _annotation("error", "", found.problem)
    for path in map(str, items(found.facts.get("files"))[:_MOST_NOTES]):
        yield _annotation("notice", path, "The agent had this file as the base commit has it, and not as changed here.")
    for call in found.refused[:_MOST_NOTES]:
        yield _annotation("warning", call.file, f"Refused to the agent: {call.said}. Why: {call.why}")


def _annotation(kind: str, file: str, text: str) -> str:
    place = f"file={_replace_marks(log_text(file), _PROPERTY)},line=1," if file else ""
    return f"::{kind} {place}title=Lockgate::{_replace_marks(log_text(text, 2 * _WHY), _ANNOTATION)}"


def _replace_marks(text: str, marks: Mapping[str, str]) -> str:
    return "".join(marks.get(each, each) for each in text)


# ---------------------------------------------------------------- SARIF
def _sarif(found: JobReport) -> Mapping[str, Any]:
    ids = list(dict.fromkeys(rule for call in found.refused for rule in call.rules[:1]))
    rules = [{"id": rule, "shortDescription": {"text": "refused to the agent"}} for rule in ids]
    results = [_sarif_result(call, ids) for call in found.refused if call.rules]
    notes = [{"level": "error", "message": {"text": found.problem}}] if found.problem else []
    return sarif_log(rules, results, notes, __version__)


def _sarif_result(call: RefusedCall, ids: Sequence[str]) -> dict[str, Any]:
    location = {"artifactLocation": {"uri": file_uri(call.file or _workflow())}, "region": {"startLine": 1}}
    return {
        "ruleId": call.rules[0],
        "ruleIndex": ids.index(call.rules[0]),
        "level": "warning",
        "message": {"text": f"{call.said}: {call.why}"},
        "locations": [{"physicalLocation": location}],
    }


def _workflow() -> str:
    """The workflow's file. It stands for calls that name no file of the checkout."""
    path = os.environ.get("GITHUB_WORKFLOW_REF", "").partition("@")[0].split("/", 2)[2:]
    return path[0] if path else ".github/workflows"
