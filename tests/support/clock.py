"""A clock that a test sets, for programs that it starts: those that are linked to the system's C library."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SOURCE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void)
{
    char text[32] = {0};
    const char *path = getenv("TESTS_CLOCK");
    int file = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (failed == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += ahead();
    return (int)failed;
}

time_t time(time_t *told)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (told != NULL)
        *told = now.tv_sec;
    return now.tv_sec;
}
"""


class Clock:
    """How far the clock of programs with these variables is ahead, which can be changed while they run."""

    def __init__(self, folder: Path) -> None:
        """Compile what stands between a program and the system's clock.

        Args:
            folder: Where that is kept, made anew.
        """
        folder.mkdir()
        self._file, library = folder / "ahead", folder / "clock.so"
        compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", os.fspath(library)]
        subprocess.run(compiler, input=_SOURCE.encode(), check=True, timeout=60)
        self.environ = {"LD_PRELOAD": os.fspath(library), "TESTS_CLOCK": os.fspath(self._file)}
        self.set(0)

    def set(self, days: float) -> None:
        """Set the clock so many days ahead; back, where they are fewer than none."""
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{days * 86_400:.0f}")
        draft.replace(self._file)
