"""Walks through folders that the gate's state lies below: what leaves it out, and what only looks as if."""

from __future__ import annotations

import pytest

from lockgate.core.model import Effect, EffectKind
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell

STATE = "/home/user/.local/state/lockgate"
LINKS = {"/home/user/work/home": "/home/user"}
AROUND = HostView(
    home="/home/user",
    workspace="/home/user/work",
    own_paths=(STATE,),
    state_paths=(STATE,),
    realpath=lambda path: LINKS.get(path, path),
)


def tampers(command: str, around: HostView = AROUND) -> list[Effect]:
    found = analyse_shell(command, "/home/user/work", around)
    return [effect for effect in found.effects if effect.kind is EffectKind.TAMPER]


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn x ~ --exclude-dir=lockgate",
        "grep -rn x ~ --exclude-dir lockgate/",
        "grep -rn x ~ --exclude-dir=.local",
        "grep -rn --exclude-dir='.l*' x ~",
        "grep -rn x ~ --exclude-dir={.cache,.local}",
        "cd ~ && grep -rn x . --exclude-dir=lockgate",
        "cd ~ && grep -rn x --exclude-dir=lockgate",
        "rgrep x / --exclude-dir=lockgate",
        "grep -rn x ~ src --exclude-dir=lockgate",
        "grep -rn left-pad ~ --include=package.json",
        "grep -rn x / --include='*.py' --include='*.pyi' --exclude='test_*'",
        "rg x ~",
        "rg -n x ~ -g '!*.py'",
        "rg x ~ -g '*.py'",
        "rg x ~ -g '!lockgate'",
        "rg x ~ --glob='!.local/'",
        "rg x ~ -g '!*.pyc' -g '!state'",
        "tar czf /tmp/x.tgz --exclude=lockgate ~",
        "tar czf /tmp/x.tgz --exclude .local/state/lockgate -C ~ .",
        "tar czf /tmp/x.tgz --exclude='.local/*/lockgate' ~",
        "tar czf /tmp/x.tgz --exclude=/home/user/.local/state /home/user",
    ],
)
def test_a_walk_that_leaves_the_state_out(command: str) -> None:
    assert not tampers(command)


@pytest.mark.parametrize(
    "command",
    [
        # Other names, and names of files.
        "grep -rn x ~ --exclude-dir=lockgat",
        "grep -rn x ~ --exclude-dir=state/lockgate",
        "grep -rn x ~ --exclude=lockgate",
        "grep -rn x ~ --exclude-dir=user",
        # What is only known when it runs.
        'grep -rn x ~ --exclude-dir="$X"',
        "grep -rn x ~/$X --exclude-dir=lockgate",
        "grep -rn x ~/.lo* --exclude-dir=lockgate",
        # The state itself, by its name or through a link.
        "grep -rn x ~/.local/state/lockgate --exclude-dir=lockgate",
        "grep -rn x ~ ~/.local/state/lockgate --exclude-dir=lockgate",
        "grep -Rn x ~ --exclude-dir=lockgate",
        "rg -L x ~ -g '!lockgate'",
        "tar chzf /tmp/x.tgz --exclude=lockgate ~",
        "grep -rn x home --exclude-dir=lockgate",
        # Taken in again, or counted from elsewhere.
        "rg x ~ -g '!lockgate' -g lockgate",
        "rg --hidden x ~ -g '!.local/state'",
        "rg -. x ~",
        "rg -uu x ~",
        "rg -un x ~",
        "rg -L x ~",
        "rg --unlisted x ~",
        "rg x ~ -g lockgate",
        # What follows an operand is for those behind it.
        "tar czf /tmp/x.tgz ~ --exclude=lockgate",
        "tar czf /tmp/x.tgz --exclude=lockgate ~ --exclude=lockgate",
        "tar czf /tmp/x.tgz --exclude=/home/user/lockgate ~",
        "tar czf /tmp/x.tgz --exclude=/home/user/.local -C ~ .",
        "tar czf /tmp/x.tgz --exclude=/home/user/ ~",
        "tar czf /tmp/x.tgz --exclude=lockgate/ ~",
        "tar czf /tmp/x.tgz --anchored --exclude=lockgate ~",
        # Names that a file of the state has, or may have.
        "grep -rn x ~ --include='*.json'",
        "grep -rn x ~ --include='*'",
        "grep -rn x ~ --include=key",
        "grep -rn x ~ --include='*.py' --include='open*'",
        "grep -rn x ~ --exclude=a --include='*.py'",
        'grep -rn x ~ --include="$X"',
        "grep -Rn x ~ --include='*.py'",
        "rg x ~ -g '*.db'",
        "rg x ~ -g '.local/**'",
        "rg x ~ --iglob KEY",
        "rg x ~ --iglob='*.JSON'",
        # For some such a pattern is a regular expression, or one that leaves out.
        "ugrep -r x ~ --include='!frob'",
        "pcregrep -r x ~ --include=..y",
        "pcre2grep -r x ~ --include=..y",
        "rg x ~ -g '{key,a}'",
        "rg x ~ -g '/.local/'",
        "rg x ~ -g 'ke\\y'",
        "rg x ~ -g 'lock*'",
        "rg x ~ -g '*.py' -g 'k*'",
        "rg --hidden x ~ -g '!*.py'",
        "grep -rn x ~ --frob --exclude-dir=lockgate",
    ],
)
def test_a_walk_that_may_meet_the_state(command: str) -> None:
    assert tampers(command)


def test_each_folder_of_the_state_must_be_left_out() -> None:
    around = AROUND._replace(state_paths=(STATE, "/home/user/.gate"), own_paths=(STATE, "/home/user/.gate"))
    assert tampers("grep -rn x ~ --exclude-dir=lockgate", around)
    assert not tampers("grep -rn x ~ --exclude-dir=lockgate --exclude-dir=.gate", around)


@pytest.mark.parametrize(
    ("command", "how"),
    [
        ("grep -rn x ~", "`--exclude-dir=lockgate` leaves it out"),
        ("rg --hidden x ~", "`--glob '!lockgate'` leaves it out"),
        ("tar cf /tmp/a.tar ~", "`--exclude=lockgate` leaves it out"),
    ],
)
def test_a_refusal_says_how_to_leave_it_out(command: str, how: str) -> None:
    assert all(how in effect.because for effect in tampers(command))


@pytest.mark.parametrize("command", ["grep -rn x ~ --exclude-dir=lockgate", "tar cf /tmp/a.tar --exclude=lockgate ~"])
def test_what_else_a_walk_meets_counts_as_ever(command: str) -> None:
    kinds = {effect.kind for effect in analyse_shell(command, "/home/user/work", AROUND).effects}
    assert kinds == {EffectKind.READ_SECRET, EffectKind.INGEST}
