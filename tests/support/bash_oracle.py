"""Real bash as the judge of what a text runs.

The texts never meet this machine: bubblewrap gives bash a root folder with nothing in it but bash and its libraries, an
empty ``PATH``, no network, no environment and no processes but its own. Every command that bash looks up and does not
find (that is, every command but builtins and functions) is recorded with its arguments, and nothing else happens.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

import pytest

BATCH = 200
"""How many texts one bash reads; each of them in a subshell of its own."""

_DRIVER = r"""
PATH=/nonexistent
readonly PATH FUNCNEST=30
command_not_found_handle() {
    # A file for each command: bash writes line by line, and commands run at the same time.
    builtin printf '%s\0' "$#" "$@" >"/tmp/$__case-$EPOCHREALTIME-$BASHPID"
    builtin printf 'x\n' >>"/tmp/count-$__case"
    builtin mapfile __seen <"/tmp/count-$__case"
    ((${#__seen[@]} > 100)) && builtin kill -KILL "$__pid"
    return 0
}
mapfile -d '' __texts
for __case in "${!__texts[@]}"; do
    (
        __pid=$BASHPID
        readonly __case __pid
        ulimit -t 1 -c 0
        eval "${__texts[__case]}"
    ) </dev/null >/dev/null 2>&1
done
__alone() { local __all=(/proc/[0-9]*); ((${#__all[@]} <= $1)); }
__count=0
until __alone 2 || ((__count++ > 200)); do read -rt 0.01 <> <(:); done
shopt -s nullglob
for __case in "${!__texts[@]}"; do
    __files=("/tmp/$__case"-*)
    printf '%s\0' "${#__files[@]}"
    for __file in "${__files[@]}"; do
        mapfile -d '' __fields <"$__file"
        printf '%s\0' "${#__fields[@]}" "${__fields[@]}"
    done
done
"""

_SYNTAX = r"""
mapfile -d '' __texts
for __case in "${!__texts[@]}"; do
    /sandbox/bash --norc --noprofile -nc "${__texts[__case]}" >/dev/null 2>&1 </dev/null && echo 1 || echo 0
done
"""


class Command(NamedTuple):
    """A command that bash tried to run."""

    argv: tuple[str, ...]


def _sandbox(driver: str, texts: list[str]) -> bytes:
    bwrap, bash = shutil.which("bwrap"), shutil.which("bash")
    if bwrap is None or bash is None:
        pytest.fail("bubblewrap or bash is not installed: run scripts/setup_system.sh")
    libraries = [
        part for path in ("/lib", "/lib64", "/usr/lib", "/usr/lib64") for part in ("--ro-bind-try", path, path)
    ]
    command = [bwrap, "--unshare-all", "--clearenv", "--die-with-parent", "--new-session", *libraries]
    command += ["--ro-bind", os.path.realpath(bash), "/sandbox/bash", "--proc", "/proc", "--dev", "/dev"]
    command += ["--tmpfs", "/tmp", "--chdir", "/tmp", "--setenv", "LC_ALL", "C.UTF-8"]
    command += ["--setenv", "HOME", "/home/nobody", "--remount-ro", "/"]
    command += ["/sandbox/bash", "--norc", "--noprofile", "-c", driver]
    records = b"".join(os.fsencode(text) + b"\0" for text in texts)
    done = subprocess.run(command, input=records, capture_output=True, timeout=300, check=False)
    if done.returncode != 0 or b"bwrap:" in done.stderr:
        pytest.fail(f"bash did not run in bubblewrap (scripts/setup_system.sh): {done.stderr.decode()[:400]}")
    return done.stdout


def run(texts: list[str]) -> list[list[Command]]:
    """Run texts in bash and give, for each, the commands that it looked for, in the order in which it did."""
    results: list[list[Command]] = []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        fields = iter(_sandbox(_DRIVER, batch).split(b"\0"))
        for _ in batch:
            records = [[next(fields) for _ in range(int(next(fields)))] for _ in range(int(next(fields)))]
            results.append([Command(tuple(map(os.fsdecode, words[1:]))) for words in records if _whole(words)])
    return results


def _whole(words: list[bytes]) -> bool:
    """Whether a record was written to its end: a text that runs for too long is killed."""
    return bool(words) and int(words[0]) == len(words) - 1


def accepts(texts: list[str]) -> list[bool]:
    """Tell for each text whether bash finds no error in its syntax."""
    results: list[bool] = []
    for start in range(0, len(texts), BATCH):
        results += [answer == b"1" for answer in _sandbox(_SYNTAX, texts[start : start + BATCH]).split()]
    return results
