"""Writes counts and gauges in Prometheus' text format (the extra ``observability``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lockgate.core.version import __version__
from lockgate.service.observability.counters import METRICS, Counts, Metric
from lockgate.service.observability.gauges import Chain, Gauges

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

_GATE_GAUGES = {
    # Our name, help, what the gate calls it, and how much one of it is.
    "gate_memory_bytes": ("Memory that the resident gate holds.", "memory_mb", 1e6),
    "gate_connections": ("Hooks that are connected to the resident gate.", "connections", 1),
    "gate_waiting": ("Requests that wait for a judge or a person.", "waiting_for_others", 1),
    "gate_p50_seconds": ("Median time of the resident gate's last 2000 answers.", "p50_ms", 1e-3),
    "gate_p99_seconds": ("99th percentile of the time of the resident gate's last 2000 answers.", "p99_ms", 1e-3),
    "gate_start_time_seconds": ("When the resident gate started.", "started_at", 1),
}
_GATE_COUNTERS = {
    "gate_answered": ("Requests that the resident gate answered since it started.", "answered"),
    "gate_declined": ("Requests that it left to the hook since it started.", "declined"),
    "gate_failed": ("Requests that it could not decide since it started, and so denied.", "failed"),
}


def exposition(counts: Counts, gauges: Gauges, chain: Chain | None) -> bytes:
    """Everything, as the text format that Prometheus reads.

    Raises:
        ImportError: The library is not installed.
    """
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    class Everything(Collector):
        def collect(self) -> Iterator[Family]:
            yield from _count_families(counts)
            yield from _gauge_families(gauges, chain)

    # A registry of its own: the library's global one tells of this process.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Everything())
    text: bytes = generate_latest(registry)
    return text


def _count_families(counts: Counts) -> Iterator[Family]:
    from prometheus_client.core import CounterMetricFamily

    for name, metric in METRICS.items():
        if metric.buckets:
            yield _histogram(counts, name, metric)
            continue
        family = CounterMetricFamily(f"lockgate_{name}", metric.help, labels=metric.labels)
        beginning = {(value,): [0.0] for value in metric.values} if metric.labels else {(): [0.0]}
        for labels, numbers in sorted((beginning | counts.values[name]).items()):
            family.add_metric(labels, numbers[0])
        yield family


def _histogram(counts: Counts, name: str, metric: Metric) -> Family:
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(f"lockgate_{name}", metric.help, labels=metric.labels)
    for labels, (*filled, total) in sorted(counts.values[name].items()):
        bounds = [*map(str, metric.buckets), "+Inf"]
        sums = [sum(filled[: place + 1]) for place in range(len(filled))]
        family.add_metric(labels, list(zip(bounds, sums, strict=True)), total)
    return family


def _gauge_families(gauges: Gauges, chain: Chain | None) -> Iterator[Family]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    def gauge(name: str, text: str, value: float) -> Family:
        return GaugeMetricFamily(f"lockgate_{name}", text, value=value)

    info = GaugeMetricFamily("lockgate_info", "This version of Lockgate.", labels=("version",))
    info.add_metric((__version__,), 1)
    yield info
    yield gauge("store_up", "Whether the store can be read.", gauges.up)
    yield gauge("gate_up", "Whether a resident gate answers.", gauges.gate_up)
    if gauges.up:
        sessions = GaugeMetricFamily("lockgate_sessions", "Open sessions by their labels.", labels=("labels",))
        for labels, number in gauges.sessions.items():
            sessions.add_metric((labels,), number)
        yield sessions
        yield gauge("questions_open", "Questions that wait for a person elsewhere.", gauges.questions)
        yield gauge("audit_first_record", "Number of the first record of the audit that is kept.", gauges.first)
        yield gauge("audit_last_record", "Number of the audit's last record.", gauges.last)
        yield gauge("audit_cut_timestamp_seconds", "When the audit was last shortened; 0 for never.", gauges.cut_at)
    if chain is not None:
        yield gauge("audit_chain_holds", "Whether the audit chain verified when it was last checked.", chain.holds)
        yield gauge("audit_chain_checked_timestamp_seconds", "When that was.", chain.at)
    for name, (text, key, unit) in _GATE_GAUGES.items():
        value = (gauges.gate or {}).get(key)
        if isinstance(value, int | float):
            yield gauge(name, text, value * unit)
    for name, (text, key) in _GATE_COUNTERS.items():
        value = (gauges.gate or {}).get(key)
        if isinstance(value, int | float):
            yield CounterMetricFamily(f"lockgate_{name}", text, value=value)
