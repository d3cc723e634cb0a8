"""Which of the ways to contain is taken on a host."""

from __future__ import annotations

import sys

import pytest

from lockgate.containment import probe
from lockgate.containment.host_facts import Host

BWRAP = "/usr/bin/bwrap"

WAYS = {
    "both work: the kernel's own namespaces": ((BWRAP,), "", "", Host("namespaces")),
    "no bubblewrap is installed": ((), "", "", Host("namespaces")),
    "only bubblewrap may make namespaces": ((BWRAP,), "denied", "", Host("bubblewrap", BWRAP)),
    "nothing works": ((BWRAP,), "denied", "no", Host(problem=f"{BWRAP}: no; denied")),
    "nothing is there": ((), "denied", "", Host(problem="bubblewrap is not installed, and denied")),
}


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has another way")
@pytest.mark.parametrize(("bubblewraps", "own", "other", "expected"), WAYS.values(), ids=WAYS)
def test_the_way_that_is_taken(
    monkeypatch: pytest.MonkeyPatch, bubblewraps: tuple[str, ...], own: str, other: str, expected: Host
) -> None:
    monkeypatch.setattr(probe, "_try_namespaces", lambda: own)
    monkeypatch.setattr(probe, "_try", lambda sandbox: other)
    assert probe.probe(bubblewraps) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has another way")
@pytest.mark.parametrize(("own", "way"), [("", "namespaces"), ("denied", "bubblewrap")])
def test_the_launcher_builds_it_in_the_same_way(monkeypatch: pytest.MonkeyPatch, own: str, way: str) -> None:
    monkeypatch.setattr(probe, "_try_namespaces", lambda: own)
    monkeypatch.setattr(probe, "_try", lambda sandbox: "")
    monkeypatch.setattr(probe, "_runs", lambda launcher: True)
    assert probe.probe((BWRAP,), "/lib/lockgate-contain").launcher == way
