"""Files in the working folder that Python would import in place of its own modules."""

from __future__ import annotations

import pytest

from lockgate.core.model import EffectKind
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell

READS_JSON = "python3 -c 'import json; print(json.dumps(1))'"


def effects(command: str, *names: str) -> set[EffectKind]:
    around = HostView(
        home="/home/u",
        workspace="/home/u/p",
        python_files=lambda folder: frozenset(names if folder == "/home/u/p" else ()),
    )
    return {effect.kind for effect in analyse_shell(command, "/home/u/p", around).effects}


@pytest.mark.parametrize(
    ("command", "names"),
    [
        pytest.param(READS_JSON, ["json.py"], id="the-module-itself"),
        pytest.param(READS_JSON, ["re.cpython-311-x86_64-linux-gnu.so"], id="a-module-that-it-imports"),
        pytest.param(READS_JSON, ["enum"], id="a-package"),
        pytest.param("python3 -m json.tool a.json", ["json.py"], id="run-as-a-module"),
        pytest.param("python3 -c 'print(1)'", ["linecache.py"], id="imported-for-the-text-itself"),
        pytest.param("python3 -c '1 / 0'", ["traceback.py"], id="imported-to-tell-of-an-error"),
        pytest.param(READS_JSON, ["_colorize.py"], id="a-newer-library"),
        pytest.param(READS_JSON, ["annotationlib.py"], id="the-newest-library"),
        pytest.param(READS_JSON, ["imp.py"], id="an-older-library"),
        pytest.param(f"echo x > json.py; {READS_JSON}", [], id="written-on-the-way"),
        pytest.param(f"cp x /home/u/p/re.py && {READS_JSON}", [], id="copied-on-the-way"),
    ],
)
def test_a_shadow_runs(command: str, names: list[str]) -> None:
    assert EffectKind.EXECUTE in effects(command, *names)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        pytest.param(READS_JSON, ["main.py", "README.md", "test", "setup.py"], id="ordinary-files"),
        pytest.param("python3 -c 'print(1)'", ["main.py"], id="imports-nothing"),
        pytest.param(f"cd /tmp && {READS_JSON}", ["json.py"], id="another-folder"),
        pytest.param(f"echo x > out.json; {READS_JSON}", [], id="writes-data"),
    ],
)
def test_no_shadow_no_effect(command: str, names: list[str]) -> None:
    assert effects(command, *names) == set()
