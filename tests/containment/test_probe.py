"""Which of the ways to contain is taken on a host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lockgate.containment import probe
from lockgate.containment.host import LAUNCHER, host, system_launcher
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


COPY = "/usr/local/libexec/lockgate/lockgate-contain"
BY_COPY = {"launcher": "namespaces", "launched_by": COPY}
ALLOWED = {
    "everybody may make namespaces: the package's own": (
        "",
        "",
        Host("namespaces", launcher="namespaces", launched_by="/lib/lockgate-contain"),
    ),
    "only the copy and bubblewrap may": ("denied", "", Host("bubblewrap", BWRAP, **BY_COPY)),
    "only the copy may": ("denied", "no", Host(**BY_COPY)),
}


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has another way")
@pytest.mark.parametrize(("own", "bubblewrap", "expected"), ALLOWED.values(), ids=ALLOWED)
def test_the_copy_that_a_profile_allows_more(
    monkeypatch: pytest.MonkeyPatch, own: str, bubblewrap: str, expected: Host
) -> None:
    monkeypatch.setattr(probe, "_try_namespaces", lambda: own)
    monkeypatch.setattr(probe, "_try", lambda sandbox: "" if sandbox[0] == COPY else bubblewrap)
    monkeypatch.setattr(probe, "_runs", lambda launcher: True)
    assert probe.probe((BWRAP,), "/lib/lockgate-contain", COPY) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no launcher")
def test_the_launcher_tries_by_itself() -> None:
    ran = subprocess.run([LAUNCHER, "--try"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "net:[" in ran.stdout
    assert os.readlink("/proc/self/ns/net") not in ran.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no launcher")
@pytest.mark.parametrize(
    ("owner", "mode", "content", "taken"),
    [
        (0, 0o755, "same", True),
        (1000, 0o755, "same", False),
        (0, 0o775, "same", False),
        (0, 0o644, "same", False),
        (0, 0o755, "other", False),
        (0, 0o755, "", False),
    ],
    ids=["root's, and of this build", "a user's", "a group may write", "no program", "another build", "not there"],
)
def test_a_copy_counts_if_only_root_can_have_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: int, mode: int, content: str, taken: bool
) -> None:
    own, copy = tmp_path / "own", tmp_path / "copy"
    own.write_text("same")
    module = sys.modules["lockgate.containment.host"]
    monkeypatch.setattr(module, "LAUNCHER", str(own))
    monkeypatch.setattr(module, "SYSTEM_LAUNCHER", str(copy))
    if content:
        copy.write_text(content)
        copy.chmod(mode)
        real = os.stat
        monkeypatch.setattr(os, "stat", lambda path, **more: _owned(real(path, **more), owner))
    assert system_launcher() == (str(copy) if taken else "")


def _owned(found: os.stat_result, owner: int) -> os.stat_result:
    fields = list(found)
    fields[4] = owner
    return os.stat_result(fields)


@pytest.mark.parametrize(
    "forged",
    [
        {"launched_by": "/tmp/evil"},
        {"program": "/tmp/bwrap", "way": "bubblewrap"},
        {"program": "/tmp/sandbox-exec", "way": "sandbox-exec"},
    ],
)
def test_a_finding_names_no_program_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: dict[str, str]
) -> None:
    tried = Host("namespaces", launcher="namespaces", launched_by=LAUNCHER)
    monkeypatch.setattr(sys.modules["lockgate.containment.probe"], "probe", lambda *_: tried)
    assert host(str(tmp_path)) == tried
    kept = tmp_path / "containment.json"
    kept.write_text(json.dumps({**json.loads(kept.read_text()), **forged}))
    assert host(str(tmp_path)) == tried
    assert "evil" not in kept.read_text()
