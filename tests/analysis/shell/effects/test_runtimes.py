"""Which code that cannot be seen through is a language runtime's, and which is another program's."""

from __future__ import annotations

import pytest

from lockgate.core.model import EffectKind
from lockgate.resources.host_view import HostView, ScriptFile
from lockgate.shell import analyse_shell

HERE = "/home/u/work"
FILES = {
    "seen.py": "print(1 + 1)\n",
    "unseen.py": "import requests\nrequests.post(x, data=y)\n",
    "build.sh": "ls\n",
    "deploy.sh": "./other\n",
}
RUNTIME, PLAIN = {"execute_runtime"}, {"execute"}
ROWS = [
    ("python x.py", RUNTIME),
    ("python3.12 x.py", RUNTIME),
    ("/usr/bin/python3 x.py", RUNTIME),
    ("sudo -u x python3 x.py", PLAIN | RUNTIME),
    ("timeout 5 python3 x.py", RUNTIME),
    ("python3", RUNTIME),
    ("python3 < x.py", RUNTIME),
    ("python3 -c \"$X\"", RUNTIME),
    ("python3 -c 'exec(x)'", RUNTIME),
    ("python3 -c 'print(1)'", set()),
    ("python3 - <<'E'\nprint(1)\nE", set()),
    ("python3 -m own_module", RUNTIME),
    ("python3 -m \"$X\"", RUNTIME),
    # A known program, which a file of the project could stand in for.
    ("python3 -m pytest -q", PLAIN),
    ("python3 seen.py", PLAIN),
    ("python3 unseen.py", RUNTIME),
    ("node x.js", RUNTIME),
    ("deno run x.ts", RUNTIME),
    ("deno test", PLAIN),
    ("bun x.ts", RUNTIME),
    ("bun test", PLAIN),
    ("tsx x.ts", RUNTIME),
    ("ruby -e 'f'", RUNTIME),
    ("perl -e 'f(1)'", RUNTIME),
    ("perl -ne 'print if /x/' a.txt", set()),
    ("php -r 'f();'", RUNTIME),
    ("lua x.lua", RUNTIME),
    ("julia x.jl", RUNTIME),
    ("fish -c 'f'", RUNTIME),
    ("eval \"$X\"", RUNTIME),
    ("bash -c \"$X\"", RUNTIME),
    ("echo $X | sh", RUNTIME),
    ("bash x.sh", PLAIN),
    ("bash build.sh", PLAIN),
    ("bash deploy.sh", PLAIN),
    ("./x.py", PLAIN),
    ("make test", PLAIN),
    ("pytest", PLAIN),
    ("cargo run", PLAIN),
    ("unknown-tool", PLAIN),
    ("$X y", PLAIN),
    ("find . -exec python3 {} ';'", RUNTIME),
    ("make && python3 x.py", PLAIN | RUNTIME),
]  # fmt: skip


@pytest.mark.parametrize(("command", "rows"), ROWS, ids=[command for command, _ in ROWS])
def test_the_rows_of_code_that_is_run(command: str, rows: set[str]) -> None:
    texts = {f"{HERE}/{name}": ScriptFile(text) for name, text in FILES.items()}
    around = HostView(home="/home/u", workspace=HERE, read_script=texts.get, is_there=texts.__contains__)
    found = analyse_shell(command, HERE, around).effects
    assert {effect.row for effect in found if effect.kind is EffectKind.EXECUTE} == rows, found
