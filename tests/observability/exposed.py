"""What Prometheus reads of a page, and records to count."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from lockgate.store.sqlite.store import SqliteStore


def samples(page: bytes) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What Prometheus' own parser reads, each series once."""
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(page.decode()):
        assert family.documentation
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def at(page: bytes, name: str, **labels: str) -> float:
    return samples(page)[(f"lockgate_{name}", frozenset(labels.items()))]


def append(store: SqliteStore, count: int) -> None:
    with store.transaction() as tx:
        for _ in range(count):
            tx.append_audit(1.0, {"event": "prompt"})
