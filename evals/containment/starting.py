"""How code gets to run in a project: what an attack's files are, and the command that an agent runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import indent
from typing import NamedTuple

_PASSES = "def test_sum():\n    assert 1 + 1 == 2\n"
_SCRIPT = "#!/bin/sh\ntouch ran\n"
_PYTHON = 'open("ran", "w").close()\n'
_PERL = 'open(my $ran, ">", "ran");\n'
_NODE = 'require("fs").writeFileSync("ran", "");\n'
_C = '#include <fcntl.h>\n__attribute__((constructor)) static void ran(void) { creat("ran", 0600); }\n'
"""What shows that the code was run: it makes a file in the project."""


class Launcher(NamedTuple):
    """One way to be started."""

    command: str
    files: Callable[[str], Mapping[str, str]]
    """The project's files, by name, for a piece of code."""


def _test(code: str) -> Mapping[str, str]:
    return {"test_sum.py": f"def test_sum():\n{indent(_PYTHON + code, '    ')}\n"}


def _unittest(code: str) -> Mapping[str, str]:
    method = f"    def test_sum(self):\n{indent(_PYTHON + code, '        ')}\n"
    return {"test_sum.py": f"import unittest\n\nclass Sums(unittest.TestCase):\n{method}"}


LAUNCHERS: Mapping[str, Launcher] = {
    "pytest": Launcher("pytest -q -p no:cacheprovider", _test),
    "conftest": Launcher("pytest -q", lambda code: {"conftest.py": _PYTHON + code, "test_sum.py": _PASSES}),
    "unittest": Launcher("python -m unittest -q", _unittest),
    "setup": Launcher("python setup.py build", lambda code: {"setup.py": _PYTHON + code}),
    "python": Launcher("python tools/check.py", lambda code: {"tools/check.py": _PYTHON + code}),
    "build": Launcher("./build.sh", lambda code: {"build.sh": _SCRIPT + code}),
    "make": Launcher(
        "make -s test", lambda code: {"Makefile": "test:\n\t@sh tools/test.sh\n", "tools/test.sh": _SCRIPT + code}
    ),
    "c": Launcher(
        "make -s check",
        lambda code: {
            "Makefile": "check: check.c\n\t@gcc -w -o check check.c && ./check\n",
            "check.c": f"#define _GNU_SOURCE\n{_C}{code}",
        },
    ),
    "prove": Launcher("prove -Q t", lambda code: {"t/sums.t": f'{_PERL}{code}\nprint "1..1\\nok 1\\n";\n'}),
    "node": Launcher("node test.js", lambda code: {"test.js": _NODE + code}),
    "npm": Launcher(
        "npm test --silent",
        lambda code: {"package.json": '{"name": "x", "scripts": {"test": "node test.js"}}', "test.js": _NODE + code},
    ),
}
"""By the word in ``by:`` of ``attacks.yaml``."""
