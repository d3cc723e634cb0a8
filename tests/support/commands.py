"""Commands in the process of the tests."""

from __future__ import annotations

from click.testing import CliRunner, Result

from lockgate.cli.main import cli


def invoked(*arguments: str, code: int = 0) -> Result:
    """Run ``lockgate``, and hold its exit status."""
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, (result.output, result.exception)
    return result
