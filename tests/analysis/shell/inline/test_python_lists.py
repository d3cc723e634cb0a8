"""What the knowledge of Python calls harmless is harmless in Python itself."""

import json
import subprocess
import sys
from pathlib import Path

from lockgate.shell.inline.data import language


def test_nothing_on_the_lists_runs_a_program_or_opens_a_socket(tmp_path):
    command = [sys.executable, "-I", Path(__file__).with_name("audited_calls.py")]
    table = json.dumps({key: language("python")[key] for key in ("modules", "attributes", "builtins")})
    done = subprocess.run(command, input=table, capture_output=True, text=True, timeout=90, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_a_forbidden_name_is_on_no_list():
    table = language("python")
    listed = {word for words in table["modules"].values() for word in words.split()} | {*table["builtins"].split()}
    assert not listed & {"eval", "exec", "getattr", "setattr", "globals", "locals", "vars", "open", "type", "help",
                         "attrgetter", "methodcaller", "__import__", "breakpoint"}  # fmt: skip
