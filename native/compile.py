"""Compiles the native hook client: ``python native/compile.py TARGET``. Needs a C compiler, and nothing else.

A target named ``lockgate-contain`` is the launcher of contained commands; it is for Linux alone.

The build of wheels (``hatch_build.py``) and the tests use it too. See docs/native-client.md.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
LAUNCHER = "lockgate-contain"
ABOUT = "lockgate-hook LOCKGATE3\n"
"""What a client that runs says of itself: its name, and the protocol that it speaks."""
LAUNCHER_ABOUT = f"{LAUNCHER} LOCKGATE3 2\n"
"""The same of the launcher, with the version of the plans that it reads."""

PARTS = ("bytes.c", "gate.c", "hook.c", "local.c", "proof.c", "refusal.c", "reply.c", "request.c")
LAUNCHER_PARTS = (
    *("bytes.c", "confine.c", "contain.c", "gate.c", "known.c", "local.c", "names.c", "namespaces.c", "places.c"),
    *(
        "plan.c",
        "proof.c",
        "refusal.c",
        "reply.c",
        "request.c",
        "room.c",
        "sandbox.c",
        "supervise.c",
        "trial.c",
        "walk.c",
    ),
    "words.c",
)
WARNINGS = (
    *("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow", "-Wcast-qual"),
    *("-Wstrict-prototypes", "-Wmissing-prototypes"),
)
"""For the tests: a compiler that warns of something new keeps nobody from installing."""
_LANGUAGE = ("-std=c11", "-D_DARWIN_C_SOURCE" if sys.platform == "darwin" else "-D_GNU_SOURCE")
_HARDENED = ("-O2", "-fPIE", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")
_LINUX = ("-Wl,-z,relro,-z,now,-z,noexecstack", "-s")
_MACOS = ("-mmacosx-version-min=11.0",)
SECONDS = 120


class Way(NamedTuple):
    """One way to link it."""

    flags: tuple[str, ...]
    static: bool
    """Whether the result needs no library of the system that it runs on."""


# A static program starts sooner, runs with any C library, and LD_PRELOAD means nothing to it.
_WAYS = (
    (Way(("-pie", *_MACOS), static=False),)
    if sys.platform == "darwin"
    else (
        Way(("-static-pie", *_LINUX), static=True),
        Way(("-no-pie", "-static", *_LINUX), static=True),
        Way(("-pie", *_LINUX), static=False),
    )
)


class NotCompiledError(Exception):
    """There is no compiler, or what it makes does not run here."""


def compiler() -> list[str]:
    """The words that start the C compiler: ``$CC``, or the first one in ``PATH``.

    Raises:
        NotCompiledError: There is none.
    """
    chosen = shlex.split(os.environ.get("CC", ""))
    for words in (chosen, ["cc"], ["gcc"], ["clang"]):
        if words and shutil.which(words[0]):
            return words
    raise NotCompiledError("there is no C compiler (cc, gcc or clang)")


def run(words: Sequence[str]) -> tuple[bool, str, str]:
    """Run a program: whether it ends well, and what it says on stdout and stderr."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, "", str(error)
    return done.returncode == 0, done.stdout, done.stderr


def built(target: Path, parts: Sequence[str], flags: Sequence[str]) -> str:
    """Compile some of the files here into a program. Returns what the compiler complains of; empty where it is made."""
    sources = [str(HERE / part) for part in parts]
    well, _, complaint = run([*compiler(), *_LANGUAGE, *flags, *sources, "-o", str(target)])
    return "" if well else complaint or "the compiler fails"


def compile_client(target: Path) -> Way:
    """Compile the hook client.

    Args:
        target: The program's file. It is replaced at once, or stays as it was.

    Raises:
        NotCompiledError: There is no compiler, or the client does not run in any way.
    """
    return _compile(target, PARTS, ABOUT)


def compile_launcher(target: Path) -> Way:
    """Compile the launcher of contained commands; arguments and errors as for the client."""
    if not sys.platform.startswith("linux"):
        raise NotCompiledError("the launcher is for Linux")
    return _compile(target, LAUNCHER_PARTS, LAUNCHER_ABOUT)


def _compile(target: Path, parts: Sequence[str], about: str) -> Way:
    """Compile a program, in the best of the ways in which the result runs on this machine."""
    target.parent.mkdir(parents=True, exist_ok=True)
    complaint = ""
    with tempfile.TemporaryDirectory(prefix=".lockgate-", dir=target.parent) as folder:
        made = Path(folder, target.name)
        for way in _WAYS:
            complaint = built(made, parts, (*_HARDENED, *way.flags))
            if not complaint and run([str(made), "--about"])[:2] == (True, about):
                made.chmod(0o755)
                made.replace(target)
                return way
    raise NotCompiledError(complaint or "it was compiled, and does not run here")


def wheel_tag(way: Way) -> str:
    """The tag of a wheel with a client that was just compiled: which machines it runs on.

    A static program needs no C library. The dependency with the highest demand does: google-re2 1.1.20251105 has wheels
    for glibc 2.27 and later, and none for musl (Alpine).
    """
    machine = platform.machine()
    if sys.platform == "darwin":
        return f"py3-none-macosx_11_0_{machine}"
    if way.static and machine in ("x86_64", "aarch64"):
        return f"py3-none-manylinux_2_27_{machine}"
    return f"py3-none-linux_{machine}"


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    try:
        made = Path(sys.argv[1]).absolute()
        print(wheel_tag((compile_launcher if made.name == LAUNCHER else compile_client)(made)))
    except NotCompiledError as error:
        sys.exit(f"not compiled: {error}")
