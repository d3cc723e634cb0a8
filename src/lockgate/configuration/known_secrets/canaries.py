"""Stores canaries: one setting for each, with what the index needs, and without the value."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.known_values.values import KnownKind, KnownValue
from lockgate.store.files import Sets

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction


class StoredCanary(Record):
    """A canary that is looked for."""

    name: str
    shape: str
    made: float
    """Seconds since the epoch."""


def name_setting(name: str) -> str:
    """The name of the setting that keeps a canary."""
    return Sets.CANARIES + name


def settings(tx: Transaction) -> dict[str, str]:
    """All settings of canaries: what ``keeping.open_index`` wants."""
    return tx.settings(Sets.CANARIES)


def keep(tx: Transaction, kept: StoredCanary, entry: KnownValue) -> None:
    """Look for a canary from now on.

    Args:
        tx: The step that it is a part of.
        kept: What a person will want to know of it.
        entry: What the index keeps of its value.
    """
    from binascii import b2a_base64

    from lockgate.patterns.engine.known_index import pack_marks

    marks = b2a_base64(pack_marks(entry.marks), newline=False).decode("ascii")
    value = {"shape": kept.shape, "made": kept.made, "marks": marks}
    tx.put_setting(name_setting(kept.name), json.dumps(value))


def read_canaries(told: Mapping[str, str]) -> list[StoredCanary]:
    """All canaries, oldest first.

    Raises:
        StoreError: A setting is damaged.
    """
    found = [_row(setting, text)[0] for setting, text in told.items()]
    return sorted(found, key=lambda kept: (kept.made, kept.name))


def entries_of(told: Mapping[str, str]) -> list[KnownValue]:
    """What the index keeps of all canaries.

    Raises:
        StoreError: A setting is damaged.
    """
    return [_row(setting, told[setting])[1] for setting in sorted(told)]


def _row(setting: str, text: str) -> tuple[StoredCanary, KnownValue]:
    from binascii import a2b_base64

    from lockgate.patterns.engine.known_index import unpack_marks

    name = setting.removeprefix(Sets.CANARIES)
    try:
        row = json.loads(text)
        marks = unpack_marks(a2b_base64(row["marks"]))
        return StoredCanary(name, str(row["shape"]), float(row["made"])), KnownValue(name, KnownKind.CANARY, marks)
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"what is kept of the canary {name} is damaged: revoke it and make another one") from error
