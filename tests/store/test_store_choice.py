"""The store that a person has chosen is used: what somebody writes, takes away or puts back is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from adapters.payloads import tool
from hook.process import HOOK, run
from lockgate.cli.main import cli
from lockgate.core.errors import StoreError
from lockgate.store import administration
from lockgate.store.administration import use_own, use_shared
from lockgate.store.files import read_key
from lockgate.store.opening import open_existing, open_store, read_chosen
from lockgate.store.sqlite.rollback import OutsideHead
from lockgate.store.sqlite.store import SqliteStore

A, B = "postgresql:///lockgate?host=/a", "postgresql:///lockgate?host=/b"
WRITTEN, OTHER, GONE = "written by something else", "another store than was chosen last", "store.json is gone"


def _own(state: Path) -> None:
    SqliteStore.open(str(state)).close()


def _shared(state: Path) -> None:
    _own(state)
    use_shared(str(state), A, "laptop")


def _back(state: Path) -> None:
    _shared(state)
    _keep(state)
    use_own(str(state))


def _other(state: Path) -> None:
    _shared(state)
    _keep(state)
    use_shared(str(state), B, "")


def _older(state: Path) -> None:
    _own(state)
    _write(url=A, gate="laptop")(state)


def _nothing(state: Path) -> None:
    state.mkdir(mode=0o700)


def _file(state: Path) -> Path:
    return state / "store.json"


def _keep(state: Path) -> None:
    (state.parent / "kept").write_bytes(_file(state).read_bytes())


def _put_back(state: Path) -> None:
    _file(state).write_bytes((state.parent / "kept").read_bytes())


def _untouched(_: Path) -> None:
    """Nobody does anything."""


def _write(**said: str) -> Callable[[Path], None]:
    return lambda state: (_file(state).write_text(json.dumps(said)), _file(state).chmod(0o600))[1]


def _change(**said: str) -> Callable[[Path], None]:
    return lambda state: _write(**{**json.loads(_file(state).read_text()), **said})(state)


def _of_another_installation(state: Path) -> None:
    other = state.parent / "other"
    _shared(other)
    _file(state).write_bytes(_file(other).read_bytes())


def _notes(state: Path) -> list[Path]:
    return [Path(f"{place}.store") for place in OutsideHead(str(state), read_key(str(state))).places]


def _without_notes(state: Path) -> None:
    for note in _notes(state):
        note.unlink()


def _with_notes(text: bytes) -> Callable[[Path], None]:
    return lambda state: [note.write_bytes(text) for note in _notes(state)].clear()


def _note_of_the_head(state: Path) -> None:
    for note in _notes(state):
        note.write_bytes(note.with_suffix("").read_bytes())


def _remove(state: Path) -> None:
    _file(state).unlink()


class Case(NamedTuple):
    """What was chosen, what somebody does, and the store that is used; or why none is."""

    before: Callable[[Path], None]
    act: Callable[[Path], object]
    url: str = ""
    refused: str = ""


CASES = {
    "its own": Case(_own, _untouched),
    "nothing yet": Case(_nothing, _untouched),
    "a shared one": Case(_shared, _untouched, url=A),
    "its own again": Case(_back, _untouched),
    "another shared one": Case(_other, _untouched, url=B),
    "a file is written": Case(_own, _write(url=B), refused=WRITTEN),
    "a file is written where nothing is": Case(_nothing, _write(url=B), refused=WRITTEN),
    "a file is written with no seal": Case(_own, _write(url=B, seal=""), refused=WRITTEN),
    "a file is written with a seal": Case(_own, _write(url=B, seal="0" * 64), refused=WRITTEN),
    "a file of another installation": Case(_own, _of_another_installation, refused=WRITTEN),
    "the address is changed": Case(_shared, _change(url=B), refused=WRITTEN),
    "the gate's name is changed": Case(_shared, _change(gate="desk"), refused=WRITTEN),
    "an older version's file": Case(_older, _untouched, refused=WRITTEN),
    "the file is taken away": Case(_shared, _remove, refused=GONE),
    "the file of before is put back": Case(_back, _put_back, refused=OTHER),
    "the file of before, in the place of another": Case(_other, _put_back, refused=OTHER),
    "what is kept is taken away": Case(_shared, _without_notes, url=A),
    "what is kept is emptied": Case(_shared, _with_notes(b""), url=A),
    "what is kept is overwritten": Case(_shared, _with_notes(b"{}\n"), refused=OTHER),
    "what is kept is the head": Case(_shared, _note_of_the_head, refused=OTHER),
    "what is kept is overwritten, and the file gone": Case(
        _shared, lambda state: (_with_notes(b"x")(state), _remove(state)), refused=GONE
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_which_store_is_used(tmp_path: Path, name: str) -> None:
    case, state = CASES[name], tmp_path / "state"
    case.before(state)
    case.act(state)
    if not case.refused:
        found = read_chosen(str(state))
        assert (found.url if found else "") == case.url
        return
    for opened in (read_chosen, open_store, open_existing):
        with pytest.raises(StoreError, match=case.refused) as refused:
            opened(str(state))
        assert "lockgate store use sqlite" in str(refused.value)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].refused])
@pytest.mark.parametrize("url", [A, ""])
def test_a_person_chooses_anew(tmp_path: Path, name: str, url: str) -> None:
    state = tmp_path / "state"
    CASES[name].before(state)
    CASES[name].act(state)
    if url:
        use_shared(str(state), url, "")
    else:
        use_own(str(state))
    found = read_chosen(str(state))
    assert (found.url if found else "") == url


def test_looking_makes_nothing(tmp_path: Path) -> None:
    assert read_chosen(str(tmp_path / "state")) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("url", [B, ""])
def test_a_process_that_is_killed_while_it_chooses(
    tmp_path: Path, url: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one store or the other is used, and none is refused."""
    state = tmp_path / "state"
    _shared(state)
    put, told = OutsideHead.put_stores, []

    def killed(outside: OutsideHead, seals: set[str]) -> None:
        told.append(seals)
        if len(told) == 2:
            raise KeyboardInterrupt
        put(outside, seals)
        if not goes_on:
            raise KeyboardInterrupt

    monkeypatch.setattr(administration.OutsideHead, "put_stores", killed)
    with pytest.raises(KeyboardInterrupt):
        use_shared(str(state), url, "") if url else use_own(str(state))
    found = read_chosen(str(state))
    assert (found.url if found else "") == (url if goes_on else A)


def test_a_hook_refuses_a_store_that_nobody_has_chosen(tmp_path: Path) -> None:
    state = tmp_path / "state"
    _own(state)
    words = ["claude-code", "--home", str(tmp_path), "--state", str(state), "--config", str(tmp_path / "config")]
    command, push = [sys.executable, "-I", "-S", HOOK, *words], tool("PreToolUse", "Bash", {"command": "ls"})
    assert run(command, push).code == 0
    _write(url=B)(state)
    told = run(command, push)
    assert told.code == 2
    assert WRITTEN in told.stderr
    _remove(state)
    assert run(command, push).code == 0


def test_status_and_doctor_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    state = tmp_path / ".local" / "state" / "lockgate"
    state.parent.mkdir(parents=True)
    _shared(state)
    _remove(state)
    for words in (["store", "status"], ["status"], ["doctor"]):
        told = CliRunner().invoke(cli, words)
        assert told.exit_code != 0
        assert GONE in " ".join(told.output.split()), words
