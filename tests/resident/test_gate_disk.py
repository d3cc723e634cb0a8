"""A full disk, and one that can no longer be written to: nothing is answered that was not recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_TESTS = str(Path(__file__).parents[1])
_STORY = """
import os, shutil, sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from resident.machine import Machine
from resident.test_gate_killed import read_event, push_event

root = Path({root!r})
state = str(root / "state")
machine = Machine(root)
kept = root / "kept"
os.rename(state, kept)
os.mkdir(state, 0o700)
assert os.system("mount -t tmpfs -o size=64m,mode=700 none " + state) == 0
shutil.copytree(kept, state, dirs_exist_ok=True)
machine.start()
try:
    def session(number):
        for event in ("PreToolUse", "PostToolUse"):
            yield machine.hook(read_event(event, number))
        yield machine.hook(push_event(number))

    *_, push = session(1)
    assert push.refuses and push.code == 0, push
    answered = machine.facts["answered"]
    assert answered == 3
    {break_it}
    for number in range(2, 6):
        read, result, push = session(number)
        # A read whose label cannot be kept must not run; then the push is as refused as everything.
        assert (read.refuses and read.code == 2) or push.refuses, (read, result, push)
        assert push.refuses, push
        assert "Traceback" not in push.stderr + push.stdout
    {mend_it}
    machine.comes_up()
    *_, push = session(6)
    assert push.refuses and push.code == 0, push
    calls = [body["call"] for body in machine.audit() if "verdict" in body]
    assert calls[-1] == "toolu_p0006", calls
    assert machine.verified().ok
finally:
    machine.end()
print("told")
"""
_FILL = """
    with open(os.path.join(state, "filler"), "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(65536))
        except OSError:
            pass
""".strip()
# A gate that fails three times in a row ends.
_UNFILL = 'os.unlink(os.path.join(state, "filler")); machine.start()'
# It cannot become so under a process that has files open to write.
_READ_ONLY = 'machine.end(); assert os.system("mount -o remount,ro " + state) == 0'
_WRITABLE = 'assert os.system("mount -o remount,rw " + state) == 0; machine.start()'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("break_it", "mend_it"),
    [pytest.param(_FILL, _UNFILL, id="full"), pytest.param(_READ_ONLY, _WRITABLE, id="read-only")],
)
def test_a_disk_that_takes_no_more(tmp_path: Path, break_it: str, mend_it: str) -> None:
    """In a mount namespace, where the state folder is a small file system of its own."""
    story = textwrap.dedent(_STORY).format(tests=_TESTS, root=str(tmp_path), break_it=break_it, mend_it=mend_it)
    program = tmp_path / "story.py"
    program.write_text(story)
    command = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), sys.executable, str(program)]
    environment = {**os.environ, "LOCKGATE_RESIDENT": "", "PYTHONPATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout[-5:]) == (0, "told\n"), done.stdout + done.stderr
