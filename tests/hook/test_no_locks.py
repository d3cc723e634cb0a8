"""Hooks whose state lies on a file system without locks name it, with what to do."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.payloads import tool
from hook.process import HOOK, Told, run
from lockgate.clients.hook import turns
from lockgate.clients.wire.resident_files import make_run_folder
from lockgate.configuration.pattern_library import compile as compiling
from lockgate.core.errors import StoreError
from support.prepared import give_state

CALL = tool("PreToolUse", "Bash", {"command": "ls"})
SAYS = "has no locks ({}): set XDG_STATE_HOME to a folder on a disk of this machine"
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

int flock(int file, int how)
{
    errno = REASON;
    return -1;
}

static int answer(const char *name, int file, int what, void *with)
{
    switch (what) {
    case F_GETLK: case F_SETLK: case F_SETLKW: case F_OFD_GETLK: case F_OFD_SETLK: case F_OFD_SETLKW:
        errno = REASON;
        return -1;
    }
    return ((int (*)(int, int, void *))dlsym(RTLD_NEXT, name))(file, what, with);
}

#define ANSWER(name) int name(int file, int what, ...) { \
    va_list rest; va_start(rest, what); void *with = va_arg(rest, void *); va_end(rest); \
    return answer(#name, file, what, with); }
ANSWER(fcntl)
ANSWER(fcntl64)
"""


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with libraries that stand between a program and the locks of its files, one for each error."""
    folder = tmp_path_factory.mktemp("locks")
    for name in ("ENOLCK", "EOPNOTSUPP", "ENOSYS"):
        words = ["cc", "-shared", "-fPIC", f"-DREASON={name}", "-x", "c", "-", "-o", str(folder / name), "-ldl"]
        subprocess.run(words, input=_SOURCE.encode(), check=True, timeout=60)
    return folder


def _ask(home: Path, library: Path, *, native: bool) -> Told:
    client = os.path.join(os.path.dirname(HOOK), "lockgate-hook")
    start = [client, "--python", sys.executable, "--script", HOOK] if native else [sys.executable, "-I", "-S", HOOK]
    words = ["claude-code", "--home", str(home), "--state", str(home / "state"), "--config", str(home / "config")]
    return run([*start, *words], CALL, env={"PATH": os.environ["PATH"], "LD_PRELOAD": str(library)})


@pytest.mark.parametrize("native", [False, True], ids=["python", "native"])
@pytest.mark.parametrize("there", [False, True], ids=["new", "there"])
@pytest.mark.parametrize("name", ["ENOLCK", "EOPNOTSUPP", "ENOSYS"])
def test_the_cause_is_named(tmp_path: Path, libraries: Path, name: str, there: bool, native: bool) -> None:
    if there:
        give_state(tmp_path / "state")
    told = _ask(tmp_path, libraries / name, native=native)
    assert told.code == 2
    assert SAYS.format(os.strerror(getattr(errno, name))) in told.stderr


@pytest.mark.parametrize("reason", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_nobody_waits_for_a_turn_that_there_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def fails(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(fcntl, "flock", fails)
    monkeypatch.setattr(turns.time, "sleep", lambda _: pytest.fail("it waits"))
    make_run_folder(str(tmp_path))
    assert not turns.wait_for_turn(str(tmp_path), turns.time.monotonic() + 60, lambda: False)


@pytest.mark.parametrize("reason", [errno.ENOLCK, errno.EAGAIN])
def test_what_cannot_be_compiled_for_want_of_locks_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def fails(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(StoreError, match="has no locks"), compiling.hold_lock(str(tmp_path), 0.0):
        pytest.fail("it is held")
