from __future__ import annotations

import click
import pytest

from lockgate.cli.common import person


@pytest.mark.parametrize(
    ("environ", "variable"),
    [
        ({"CLAUDECODE": "1"}, "CLAUDECODE"),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, "CLAUDE_CODE_ENTRYPOINT"),
        ({"CLAUDECODE": ""}, ""),
        ({"PATH": "/usr/bin"}, ""),
    ],
)
def test_an_agent_s_shell(environ: dict[str, str], variable: str) -> None:
    assert person.inside_agent(environ) == variable


def test_outside_of_one_nothing_is_asked() -> None:
    person.require_person("approve", {})


def test_without_a_terminal_it_is_a_no() -> None:
    with pytest.raises(click.ClickException, match=r"CLAUDECODE is set.*only a person may approve"):
        person.require_person("approve", {"CLAUDECODE": "1"})


@pytest.mark.parametrize("answer", [True, False])
def test_in_a_terminal_the_person_decides(monkeypatch: pytest.MonkeyPatch, answer: bool) -> None:
    class Terminal:
        @staticmethod
        def isatty() -> bool:
            return True

    monkeypatch.setattr(person.sys, "stdin", Terminal)
    monkeypatch.setattr(person.sys, "stdout", Terminal)
    monkeypatch.setattr(person.click, "confirm", lambda *_, **__: answer)
    if answer:
        person.require_person("approve", {"CLAUDECODE": "1"})
    else:
        with pytest.raises(click.ClickException, match="nothing was changed"):
            person.require_person("approve", {"CLAUDECODE": "1"})
