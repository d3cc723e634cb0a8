"""Real bash with real wrappers, and stubs for every other program: which programs does a text execute?

The texts never meet this machine: bubblewrap gives them a root folder with bash, its libraries, a few programs that run
others (``env``, ``xargs``, ``find``, ``sh``), no network and no processes but their own. Every other program is a stub
that writes its name and its words down. Each text gets a shell and a project folder of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.bash_oracle import Command

BATCH = 250
"""How many texts one sandbox runs."""

_REAL = """
    bash sh dash env xargs find timeout nice nohup stdbuf setsid cat head tail tee tr cut sort seq basename dirname
    date sed awk grep ls mkdir touch cp expr uniq wc
"""
REAL = tuple(_REAL.split())
"""Programs that are the system's own. Those that run others really do."""
CANARIES = tuple(f"c{number}" for number in range(1, 10))
"""Programs that nobody knows. They print names of others; ``c2`` fails."""
KNOWN = ("git", "curl", "rm", "ssh", "pip", "npm", "wget", "scp", "docker", "make")
"""Names that the analysis knows; here they are stubs too."""

_STUB = r"""#!/usr/bin/dash
printf '%s\0' "$#" "$0" "$@" >>/log/now
case $0 in
  */c2) exit 1 ;;
  */c3) echo 5 c9 ;;
  */c4) echo A=1 c9 ;;
  */c5) printf 'c8\nc9\n' ;;
  */c*) echo c8 c9 ;;
esac
"""

_HANDLER = """() { builtin printf '%s\\0' "$(($# - 1))" "$@" >>/log/now
}"""

_DRIVER = r"""
readonly PATH=/usr/bin
alone() { local all=(/proc/[0-9]*); ((${#all[@]} <= 1)); }
shopt -s nullglob dotglob
mapfile -d '' texts
for case in "${!texts[@]}"; do
    : >/log/now
    env -i PATH=/usr/bin HOME=/home/user FUNCNEST=30 LC_ALL=C.UTF-8 "$HANDLER" \
        timeout -s KILL 3 bash --norc --noprofile -c "${texts[case]}" </dev/null >/dev/null 2>&1
    for ((tries = 0; tries < 30; tries++)); do alone && break; read -rt 0.01 <> <(:); done
    alone || { kill -KILL -1; read -rt 0.01 <> <(:); }
    mapfile -d '' fields </log/now
    printf '%s\0' "${#fields[@]}" "${fields[@]}"
    files=(/work/project/* /home/user/* /tmp/*)
    if [[ ${files[*]} != "$fresh" ]]; then
        find /work/project /home/user /tmp -mindepth 1 -delete
        echo text >/work/project/a.txt
    fi
done
"""


def executed(texts: list[str]) -> list[list[Command]]:
    """Run texts and give, for each, what was executed: stubs, and names that no program has. In order."""
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        _programs(Path(folder))
        return [result for results in pool.map(lambda batch: _run(batch, folder), batches) for result in results]


def _programs(folder: Path) -> None:
    """Make the folder of programs."""
    stub = folder / "stub"
    stub.write_text(_STUB)
    stub.chmod(0o755)
    for name in CANARIES + KNOWN:
        (folder / name).hardlink_to(stub)
    for name in REAL:
        real = shutil.which(name)
        if real is None:
            pytest.fail(f"{name} is not installed")
        shutil.copy2(os.path.realpath(real), folder / name)


def _run(texts: list[str], programs: str) -> list[list[Command]]:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        pytest.fail("bubblewrap is not installed: run scripts/setup_system.sh")
    libraries = [part for path in ("/lib", "/lib64", "/usr/lib") for part in ("--ro-bind-try", path, path)]
    command = [bwrap, "--unshare-all", "--clearenv", "--die-with-parent", "--new-session", "--as-pid-1", *libraries]
    command += ["--ro-bind", programs, "/usr/bin", "--symlink", "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev"]
    for writable in ("/tmp", "/work/project", "/home/user", "/log"):
        command += ["--tmpfs", writable]
    command += ["--setenv", "HANDLER", f"BASH_FUNC_command_not_found_handle%%={_HANDLER}"]
    command += ["--setenv", "LC_ALL", "C.UTF-8", "--setenv", "fresh", "/work/project/a.txt"]
    command += ["--remount-ro", "/", "--chdir", "/work/project"]
    command += ["/usr/bin/bash", "--norc", "--noprofile", "-c", "echo text >a.txt\n" + _DRIVER]
    records = b"".join(os.fsencode(text) + b"\0" for text in texts)
    done = subprocess.run(command, input=records, capture_output=True, timeout=600, check=False)
    if done.returncode != 0 or b"bwrap:" in done.stderr:
        pytest.fail(f"bash did not run in bubblewrap (scripts/setup_system.sh): {done.stderr.decode()[:400]}")
    fields = iter(done.stdout.split(b"\0"))
    return [_commands([next(fields) for _ in range(int(next(fields)))]) for _ in texts]


def _commands(fields: list[bytes]) -> list[Command]:
    """The records of one text; what was not written to its end (its writer was killed) is left out."""
    found: list[Command] = []
    while fields and fields[0].isdigit():
        end = int(fields[0]) + 2
        if len(fields) < end:
            break
        found.append(Command(tuple(map(os.fsdecode, fields[1:end]))))
        fields = fields[end:]
    return found
