"""Reading a folder that the gate's own state lies in, in every spelling; and searching anywhere else."""

from __future__ import annotations

import pytest

from lockgate.analysis.shell import analyse_shell
from lockgate.analysis.surroundings import Surroundings
from lockgate.model import EffectKind, Variant

STATE = "/home/user/.local/state/lockgate"
AROUND = Surroundings(home="/home/user", workspace="/home/user/work", own_paths=(STATE,), state_paths=(STATE,))


def tampers(command: str, cwd: str = "/home/user/work") -> list[Variant]:
    found = analyse_shell(command, cwd, AROUND)
    return [effect.variant for effect in found.effects if effect.kind is EffectKind.TAMPER]


@pytest.mark.parametrize(
    "command",
    [
        "grep -rho 'login=.*' ~/.local/state",
        "grep -r x ~",
        "rg x ../.local",
        "cp -r ~/.local/state ./x",
        "tar cf x.tar -C ~ .local",
        "rsync -a ~/.local/state/ x/",
        "for f in ~/.local/state/*/*; do cat $f; done",
        "for f in ~/.local/state/*/key; do cat $f; done",
        "find ~/.local/state -name 'open-*' -exec cat {} +",
        "find ~/.local/state -name '*.json' | xargs cat",
        "find ~ -type f -exec cat {} +",
    ],
)
def test_reading_around_the_state_depends_on_the_labels(command: str) -> None:
    assert Variant.PLAIN in tampers(command)


@pytest.mark.parametrize(
    "command", ["cat ~/.local/state/*/*", "cd ~/.local/state; cat */*", "cd ~/.local/state; cat lockgate/*"]
)
def test_naming_the_state_is_tampering(command: str) -> None:
    assert Variant.SELF in tampers(command)


@pytest.mark.parametrize(
    "command",
    [
        "grep -r x .",
        "grep -r x /usr/share",
        "cat *",
        "cat */*",
        "for f in *; do cat $f; done",
        "find . -type f -exec cat {} +",
        "find / -name '*.py' -exec grep x {} +",
        "find ~ -name package.json -exec cat {} +",
        "cat ~/*",
        "ls -R ~/.local/state",
        "find ~/.local/state -type f",
        "cp -r ~/.local/share/app .",
    ],
)
def test_searching_elsewhere_is_no_tampering(command: str) -> None:
    assert tampers(command) == []
