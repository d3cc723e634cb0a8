"""Profiles: tables of verdicts, by what a call can do and what its subject has been exposed to.

The source is ``profiles.yaml``, which also documents the format. A process that decides reads the compiled
``profiles.json`` beside it, or gets its profile from the cached configuration and reads neither.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from lockgate.core.model import LabelState, Verdict
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

Chain = tuple[Verdict, ...]
"""Verdicts from lenient to strict; the first that the host can do is taken."""

COLUMNS: tuple[LabelState, ...] = tuple(LabelState)
LOCKBOX, ALL = "lockbox", "all"
"""What ``unknown_services`` of a profile can be."""
FIXED_ROWS = frozenset({"local", "tamper_self"})
"""Rows that no configuration changes."""
FINAL = frozenset({Verdict.ALLOW, Verdict.ASK, Verdict.DENY})
"""What every host can do; a chain ends in one of these. An ``ask`` before the end takes a person proven to be there."""
FALLS_BACK = {
    "execute_runtime": "execute",
    "execute_unlisted": "execute",
    "execute_installed": "execute",
    "destroy_remote": "destroy",
    "fetch_packages": "fetch",
}
"""Rows that are a kind of another row: that one says what they do not say themselves."""
FLOOR = {"egress_secret": "egress", "egress_shell": "egress", "execute_download": "execute"}
"""Rows that ask in every session. Where a table does not have one, the other row says it, and it asks at least."""
DEFAULT = "quarantine"
STRICT = "quarantine-strict"
"""The default of a machine with a ``~/.claude/lockbox.json``: it refuses as Lockbox does, whoever sits in front."""
PAUSED = "paused"
"""The name of the profile that decides while a person has paused the gate."""
_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Profile(Record):
    """A table of verdicts."""

    name: str
    table: Mapping[str, Mapping[LabelState, Chain]]
    """By row (``Effect.row``) and column. A row that is not there is denied, but for those in ``FALLS_BACK``."""
    flagged: Mapping[str, Mapping[LabelState, Verdict]] = {}
    """What a call gets that the judge has flagged; ``deny`` where nothing is said."""
    shadow: Profile | None = None
    """The profile whose verdict is recorded beside this one's."""
    unknown_services: str = LOCKBOX
    """What a service is of which nothing is declared: ``lockbox`` (source and sink) or ``all`` (all four flags)."""

    def cell(self, row: str, column: LabelState) -> Chain:
        """The chain for a row and a column: ``(DENY,)`` where the table does not have it."""
        said = self.table.get(row, {}).get(column)
        if said is None and row in FALLS_BACK:
            return self.cell(FALLS_BACK[row], column)
        if said is None and row in FLOOR:
            return _raise_to_ask(self.cell(FLOOR[row], column))
        return said or (Verdict.DENY,)

    def when_flagged(self, row: str, column: LabelState) -> Verdict:
        """What a call gets in this cell once the judge has flagged it."""
        said = self.flagged.get(row, {}).get(column)
        if said is None and row in FALLS_BACK:
            return self.when_flagged(FALLS_BACK[row], column)
        return Verdict.DENY if said is None else said

    def says(self, verdict: Verdict) -> bool:
        """Whether any cell names a verdict, wherever it stands in its chain."""
        return any(verdict in chain for cells in self.table.values() for chain in cells.values())

    def with_cells(self, cells: Mapping[str, Mapping[LabelState, Chain]]) -> Profile:
        """The same profile with some cells replaced. Its shadow stays as it is.

        What is said about a row also holds for the rows that fall back to it, unless something is said about those.
        """
        if not cells:
            return self
        table = dict(self.table)
        for row, columns in cells.items():
            for kind, general in FALLS_BACK.items():
                if general == row and kind in table:
                    table[kind] = {**table[kind], **columns}
        for row, columns in cells.items():
            table[row] = {**table.get(row, {}), **columns}
        return self._replace(table=table)

    def to_json(self) -> dict[str, Any]:
        """A value that JSON can hold and :meth:`from_json` reads back."""
        return {
            "name": self.name,
            "table": {
                row: [[verdict.word for verdict in self.cell(row, column)] for column in COLUMNS] for row in self.table
            },
            "flagged": {row: {c.value: v.word for c, v in cells.items()} for row, cells in self.flagged.items()},
            "shadow": self.shadow.to_json() if self.shadow else None,
            "unknown_services": self.unknown_services,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Profile:
        """Read what :meth:`to_json` made."""
        return cls(
            name=value["name"],
            table={row: dict(zip(COLUMNS, map(chain, cells), strict=True)) for row, cells in value["table"].items()},
            flagged={
                row: {LabelState(column): verdict(word) for column, word in cells.items()}
                for row, cells in value["flagged"].items()
            },
            shadow=cls.from_json(value["shadow"]) if value["shadow"] else None,
            unknown_services=value["unknown_services"],
        )


def _raise_to_ask(chain: Chain) -> Chain:
    return tuple(verdict for verdict in chain if verdict >= Verdict.ASK) or (Verdict.ASK,)


def verdict(word: str) -> Verdict:
    """The verdict that a table spells ``word``. Raises ``KeyError``."""
    return Verdict[word.upper()]


def chain(words: Sequence[str] | str) -> Chain:
    """The chain that a table's cell spells.

    Raises:
        KeyError: a word is no verdict.
        ValueError: the chain is empty, does not become stricter, or ends in what not every host can do.
    """
    verdicts = tuple(map(verdict, [words] if isinstance(words, str) else words))
    if not verdicts or any(after <= before for before, after in pairwise(verdicts)):
        raise ValueError("a chain goes from lenient to strict: " + " < ".join(v.word for v in Verdict))
    if verdicts[-1] not in FINAL:
        raise ValueError(f"a chain ends in allow, ask or deny, because not every host can {verdicts[-1].word}")
    return verdicts


@cache
def read_shipped_profiles() -> Mapping[str, Profile]:
    """The profiles of this package, by name."""
    with open(os.path.join(_FOLDER, "profiles.json"), encoding="utf-8") as file:
        return {name: Profile.from_json(value) for name, value in json.load(file).items()}
