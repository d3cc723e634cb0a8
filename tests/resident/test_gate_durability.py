"""``store: {durability: power}``: each answer waits until the disk has what it rests on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .machine import Machine
from .test_gate_killed import read_event

_COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int counted(const char *name, int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path);
    if (size > 4 && memcmp(path + size - 4, "-wal", 4) == 0) {
        int log = open(LOG, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (log >= 0) { if (write(log, ".", 1) != 1) _exit(9); close(log); }
    }
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(fd);
}
int fsync(int fd) { return counted("fsync", fd); }
int fdatasync(int fd) { return counted("fdatasync", fd); }
"""
"""A library that counts how often a process syncs a database's log."""
_EVENTS = 6


class SyncCounter:
    """Counts syncs of the log by every process that is started with its library."""

    def __init__(self, folder: Path) -> None:
        source, self.library, self._log = folder / "counter.c", folder / "counter.so", folder / "syncs"
        source.write_text(_COUNTER)
        words = ["cc", "-shared", "-fPIC", f'-DLOG="{self._log}"', "-o", str(self.library), str(source), "-ldl"]
        subprocess.run(words, check=True, timeout=60)

    def count(self) -> int:
        """How many there were."""
        return self._log.stat().st_size if self._log.exists() else 0


@pytest.mark.parametrize("resident", [True, False], ids=["gate", "hook-by-itself"])
@pytest.mark.parametrize("said", ["", "store: {durability: process}", "store: {durability: power}"])
def test_an_answer_waits_for_the_disk_where_the_person_says_so(
    machine: Machine, tmp_path: Path, resident: bool, said: str
) -> None:
    (machine.config / "lockgate.yaml").write_text(said)
    counter = SyncCounter(tmp_path)
    machine.environment |= {"LD_PRELOAD": str(counter.library)}
    machine.environment |= {} if resident else {"LOCKGATE_RESIDENT": "off"}
    if resident:
        machine.start()
    assert not machine.hook(read_event("PreToolUse", 0)).refuses  # the configuration is known from then on
    before = counter.count()
    for number in range(1, _EVENTS + 1):
        assert not machine.hook(read_event("PreToolUse", number)).refuses
    syncs = counter.count() - before
    assert syncs >= _EVENTS if "power" in said else syncs == 0, syncs


def test_a_project_does_not_say_how_the_state_is_kept(machine: Machine, tmp_path: Path) -> None:
    (machine.config / "lockgate.yaml").write_text("store: {durability: power}")
    (machine.project / "lockgate.yaml").write_text("store: {durability: process}")
    counter = SyncCounter(tmp_path)
    machine.environment |= {"LD_PRELOAD": str(counter.library), "LOCKGATE_RESIDENT": "off"}
    before = counter.count()
    assert not machine.hook(read_event("PreToolUse", 0)).refuses
    assert counter.count() > before
