"""Tables of hooks in a TOML file: there and back."""

from __future__ import annotations

import tomllib

import pytest

from lockgate.clients.install import toml_hooks
from lockgate.core.errors import InstallError

ENTRY = {"event": "PreToolUse", "command": "'/x/lockgate/hook.py' \"kimi\" \\ ü😀", "timeout": 600}
OTHER = '[[hooks]]\nevent = "Stop"\ncommand = "say done"\n'
TEXTS = [
    "",
    "\n",
    'a = 1\r\n[b]\r\nc = """\n[[hooks]]\n"""',
    OTHER,
    f"# mine\n{OTHER}[models.m]\np = 1",
    "[a]\n[[b]]\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_there_and_back(text: str) -> None:
    installed = toml_hooks.put_in(text, [ENTRY, ENTRY])
    assert toml_hooks.hooks_in(installed)[-2:] == [ENTRY, ENTRY]
    assert toml_hooks.put_in(installed, [ENTRY, ENTRY]) == installed
    renewed = toml_hooks.put_in(installed, [{**ENTRY, "timeout": 1}])
    assert toml_hooks.put_in(renewed, [ENTRY, ENTRY]) == installed
    assert toml_hooks.take_out(installed) == text


def test_what_was_added_behind_stays() -> None:
    installed = toml_hooks.put_in("a = 1\n", [ENTRY])
    assert toml_hooks.take_out(f"{installed}[b]\nc = 2\n") == "a = 1\n[b]\nc = 2\n"


def test_what_the_client_wrote_anew_is_known_by_its_program() -> None:
    own = "".join(line for line in toml_hooks.put_in("", [ENTRY]).splitlines(True) if not line.startswith("#"))
    text = f"a = 1\n{OTHER}{own}[b]\nc = 2\n"
    assert toml_hooks.put_in(text, [ENTRY]) == text
    rest = tomllib.loads(toml_hooks.take_out(text))
    assert rest == tomllib.loads(f"a = 1\n{OTHER}[b]\nc = 2\n")


@pytest.mark.parametrize(
    "text",
    ["a = ", "hooks = []", 'hooks = [{event = "Stop", command = "x"}]', "[hooks]\na = 1", "a = 1\na = 2"],
)
def test_what_no_table_can_be_put_behind_is_left(text: str) -> None:
    with pytest.raises(InstallError):
        toml_hooks.put_in(text, [ENTRY])


def test_hooks_that_cannot_be_told_from_the_rest_are_left() -> None:
    text = 'hooks = [{event = "Stop", command = "/x/lockgate/hook.py"}]\n'
    with pytest.raises(InstallError, match="by hand"):
        toml_hooks.take_out(text)
