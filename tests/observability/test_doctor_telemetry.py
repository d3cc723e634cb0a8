"""``lockgate doctor`` on metrics, traces and logs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lockgate.cli.doctor.optional import telemetry
from lockgate.service.observability.process import only_exporter
from lockgate.store.sqlite.store import SqliteStore


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


def says(project: Path, observability: str) -> list[tuple[str, str]]:
    folder = project / ".config" / "lockgate"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lockgate.yaml").write_text(f"observability: {observability}\n")
    return [(status, detail) for status, detail, _ in telemetry(str(project), str(project / "state"))]


METRICS = "{metrics: {listen: '127.0.0.1:9464'}}"


def test_it_speaks_only_of_what_is_configured(project: Path) -> None:
    assert says(project, "{}") == []
    assert says(project, METRICS) == [("warn", "it is configured, and no exporter runs")]
    assert not (project / "state").exists()


def test_it_sees_the_exporter(project: Path) -> None:
    SqliteStore.open(str(project / "state")).close()
    assert says(project, METRICS)[0][0] == "warn"
    with only_exporter(str(project / "state")) as mine:
        assert mine
        assert says(project, METRICS) == [("ok", "an exporter runs")]


@pytest.mark.parametrize(
    ("observability", "missing"),
    [(METRICS, "prometheus_client"), ("{otlp: {endpoint: 'http://127.0.0.1:1'}}", "opentelemetry")],
)
def test_it_names_the_extra(project: Path, observability: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> object:
        return None if name == missing else sys

    monkeypatch.setattr("lockgate.cli.doctor.optional.find_spec", find_spec)
    assert says(project, observability) == [("warn", "the libraries for it are not installed")]
