from __future__ import annotations

import pytest
from click.testing import CliRunner

from lockgate.cli.main import cli


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_asks_the_program(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"_LOCKGATE_COMPLETE={shell}_complete" in result.output


def test_the_program_answers() -> None:
    environ = {"_LOCKGATE_COMPLETE": "zsh_complete", "COMP_WORDS": "lockgate do", "COMP_CWORD": "1"}
    result = CliRunner().invoke(cli, [], prog_name="lockgate", env=environ)
    assert "doctor" in result.output
