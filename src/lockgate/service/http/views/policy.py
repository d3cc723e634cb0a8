"""A workspace's policy for the API: tables, settings, and the pattern library with its matches so far."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lockgate.configuration.layers.files import LayerState
from lockgate.configuration.load import find_workspace, load_for_cli
from lockgate.configuration.pattern_library.layers import gather_for_cli
from lockgate.core.errors import ConfigError
from lockgate.core.model import Verdict
from lockgate.core.record import Record
from lockgate.patterns.library.merging import FALLBACKS
from lockgate.patterns.model import RuleGroup
from lockgate.policy.profiles import COLUMNS, Profile
from lockgate.policy.report import values
from lockgate.service.http.problems import RequestRefused
from lockgate.service.http.schemas.policy import (
    Cell,
    FileProblem,
    GroupInfo,
    LayerShown,
    Patterns,
    PolicyInfo,
    Row,
    RuleInfo,
    SettingInfo,
    TableInfo,
)
from lockgate.service.http.views import record_values
from lockgate.store.protocol import Transaction
from lockgate.store.rows import AuditQuery
from lockgate.system.folders import Folders

_TABLE = "table."
_WINDOW = 20_000


def workspaces(tx: Transaction | None) -> list[str]:
    """The folders that can be asked about: those that sessions have worked in, the last one first.

    No other can, so that nobody finds out by asking what is in a folder that no agent was ever in.
    """
    rows = tx.sessions() if tx is not None else []
    return list(dict.fromkeys(row.workspace or row.cwd for row in rows if os.path.isabs(row.workspace or row.cwd)))


def folder_of(where: Folders, wanted: str, known: Sequence[str]) -> str:
    """The folder to look at: the home folder where none is named.

    Raises:
        RequestRefused: No session has worked there.
    """
    if wanted and wanted not in known:
        raise RequestRefused(404, "no session has worked in this folder")
    return wanted if wanted and os.path.isdir(wanted) else where.home


# -- tables


def policy(where: Folders, wanted: str, known: Sequence[str]) -> PolicyInfo:
    """What holds in a workspace.

    Raises:
        RequestRefused: No session has worked there.
        StoreError: The state cannot be read.
    """
    configuration = load_for_cli(folder_of(where, wanted, known))
    first = configuration.compiled[0]
    notes = [f"{rule}: {problem}" for rule, problem in first["notes"]]
    return PolicyInfo(
        workspace=wanted,
        workspaces=list(known),
        tables=list(map(_table, configuration.compiled)),
        settings=[
            SettingInfo(key=value.key, value=value.value, layer=value.layer)
            for value in values(first)
            if not value.key.startswith(_TABLE)
        ],
        layers=_layers(configuration.layers),
        problems=_problems(configuration.problems),
        notes=notes,
    )


def _table(compiled: Mapping[str, Any]) -> TableInfo:
    profile = Profile.from_json(compiled["profile"])
    layers = {value.key: value.layer for value in values(compiled) if value.key.startswith(_TABLE)}
    return TableInfo(
        profile=profile.name,
        shadow=profile.shadow.name if profile.shadow else None,
        rows=[Row(row=row, cells=[_cell(profile, row, column, layers) for column in COLUMNS]) for row in profile.table],
    )


def _cell(profile: Profile, row: str, column: Any, layers: Mapping[str, str]) -> Cell:
    chain = profile.cell(row, column)
    words: list[Any] = [verdict.word for verdict in chain]
    flagged: Any = profile.when_flagged(row, column).word if Verdict.JUDGE in chain else None
    return Cell(column=column, verdicts=words, flagged=flagged, layer=layers.get(f"{_TABLE}{row}.{column.value}", ""))


def _layers(layers: Iterable[LayerState]) -> list[LayerShown]:
    return [
        LayerShown(name=layer.name, path=layer.path, state=layer.state, sha256=layer.digest or None) for layer in layers
    ]


def _problems(problems: Iterable[ConfigError]) -> list[FileProblem]:
    return [FileProblem(file=each.file, line=each.line, key=each.key, problem=each.problem) for each in problems]


# -- patterns


class Tally:
    """Counts the matches of each rule of the pattern library. It reads each audit record once."""

    def __init__(self) -> None:
        """Count nothing yet."""
        self._lock = threading.Lock()
        self._upto = 0
        self.hits: Counter[str] = Counter()
        self.last: dict[str, float] = {}

    def count(self, tx: Transaction) -> None:
        """Read what came since the last time."""
        with self._lock:
            head = tx.audit_head().seq
            if head < self._upto:  # another store: the state folder was moved aside
                self._upto, self.hits, self.last = 0, Counter(), {}
            while self._upto < head:
                upper = min(self._upto + _WINDOW, head)
                for row in tx.find_audit(AuditQuery(matched=True), after=self._upto, before=upper + 1):
                    self._add(row.body, row.at)
                self._upto = upper

    def _add(self, body: str, at: float) -> None:
        found = record_values.rows(record_values.part(record_values.body_of(body).get("guardrail")).get("matches"))
        for rule in {record_values.text(match.get("rule")) for match in found}:
            self.hits[rule] += 1
            self.last[rule] = max(at, self.last.get(rule, 0.0))


class RuleFilter(Record):
    """Selects rules: those that match every field that is not empty."""

    group: str = ""
    severity: str = ""
    text: str = ""
    """Stands in id, type, provider or group."""
    found: bool = False
    """Whether it has found something."""
    limit: int = 100
    offset: int = 0

    def has(self, rule: RuleInfo) -> bool:
        """Whether a rule is one of them."""
        fields = (rule.id, rule.type, rule.provider, rule.group)
        return (
            (not self.group or rule.group == self.group)
            and (not self.severity or rule.severity == self.severity)
            and (not self.found or rule.hits > 0)
            and (not self.text or any(self.text.lower() in field.lower() for field in fields))
        )


def patterns(where: Folders, workspace: str, known: Sequence[str], tally: Tally, wanted: RuleFilter) -> Patterns:
    """The pattern library as it holds in a workspace.

    Raises:
        RequestRefused: No session has worked there.
        StoreError: The state cannot be read.
    """
    folder = folder_of(where, workspace, known)
    gathered = gather_for_cli(where, find_workspace(folder, where.home))
    library = gathered.linked.library
    rules = list(_rules(gathered.linked, tally))
    hits = Counter[str]()
    for rule in rules:
        hits[rule.group] += rule.hits
    chosen = sorted(filter(wanted.has, rules), key=lambda rule: (-rule.hits, rule.group, rule.id))
    end = wanted.offset + wanted.limit
    return Patterns(
        version=str(library.version),
        workspace=workspace,
        groups=[_group(group, hits[group.id]) for group in library.groups],
        rules=chosen[wanted.offset : end],
        total=len(chosen),
        next=end if end < len(chosen) else None,
        layers=_layers(gathered.layers),
        problems=_problems(gathered.problems),
        notes=list(gathered.notes),
    )


def _group(group: RuleGroup, hits: int) -> GroupInfo:
    return GroupInfo(
        id=group.id,
        name=group.name,
        side=group.side.value,
        mode=group.mode.word,
        kind=group.kind.value,
        timeout_ms=group.timeout_ms,
        fallback=FALLBACKS[group.fallback.rank],
        rules=len(group.rules),
        hits=hits,
    )


def _rules(linked: Any, tally: Tally) -> Iterator[RuleInfo]:
    """Each rule once, in the group that it was written in and in that beside it."""
    for group in linked.library.groups:
        for index in group.rules:
            rule, origin = linked.library.rules[index], linked.origins[index]
            if rule.group == group.id.partition("@")[0]:
                name = f"{rule.group}/{rule.id}"  # as the audit writes it
                yield RuleInfo(
                    id=rule.id,
                    group=group.id,
                    type=rule.type,
                    severity=rule.severity.word,
                    mode=rule.action or group.action or group.mode.word,
                    layers=list(origin.layers),
                    provider=origin.provider or "",
                    source=origin.source or "",
                    hits=tally.hits[name],
                    last_at=record_values.moment(tally.last.get(name)),
                )
