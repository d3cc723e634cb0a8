"""A guard that lives longer than a hook sees what changes under it, and loads nothing anew that has not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.configuration.pattern_library.library import PatternGuard
from lockgate.configuration.pattern_library.opening import open_library, refresh
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.store.opening import open_store
from lockgate.store.protocol import Store
from lockgate.system import caller
from lockgate.system.folders import Folders
from lockgate.system.ttl_cache import TtlCache
from support.acme import KEY, PATTERNS
from support.prepared import give_state

SECRET = "Zt7-wQ9x_Lm2Kp4Rv8Bn6Yd1"


@pytest.fixture
def where(tmp_path: Path) -> Folders:
    give_state(tmp_path / "state")
    (tmp_path / "config").mkdir()
    (tmp_path / "project").mkdir()
    return Folders(str(tmp_path), str(tmp_path / "state"), str(tmp_path / "config"))


@pytest.fixture
def store(where: Folders) -> Iterator[Store]:
    opened = open_store(where.state)
    yield opened
    opened.close()


def rules(guard: PatternGuard, where: Folders, text: str) -> list[str]:
    project = f"{where.home}/project"
    context = Context("claude-code", Subject("s"), project, project)
    found = guard.check_input(context, ToolCall("Bash", {"command": f"echo {text}"}, project))
    return [match.rule for match in found.pattern_matches]


def test_a_secret_that_is_new_is_known(where: Folders, store: Store) -> None:
    guard = PatternGuard(store, where, 30.0, cache=TtlCache(0.0))
    assert rules(guard, where, SECRET) == []
    Path(where.home, "project", ".env").write_text(f"DATABASE_PASSWORD={SECRET}\n")
    assert rules(guard, where, SECRET)


def test_a_hook_looks_once(where: Folders, store: Store) -> None:
    """The control: what the other test finds is found because the guard looks again."""
    guard = PatternGuard(store, where, 30.0)
    assert rules(guard, where, SECRET) == []
    Path(where.home, "project", ".env").write_text(f"DATABASE_PASSWORD={SECRET}\n")
    assert rules(guard, where, SECRET) == []


def test_the_library_is_loaded_again_only_where_it_changed(
    where: Folders, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lockgate.configuration.pattern_library import opening

    loads: list[str] = []
    load = opening.load
    monkeypatch.setattr(opening, "load", lambda *given, **more: (loads.append("load"), load(*given, **more))[1])
    guard = PatternGuard(store, where, 30.0, cache=TtlCache(0.0))
    for _ in range(3):
        assert "acme_secrets/acme_key" not in rules(guard, where, KEY)
    assert loads == ["load"]
    Path(where.config, "patterns.yaml").write_text(PATTERNS)
    for _ in range(3):
        assert "acme_secrets/acme_key" in rules(guard, where, KEY)
    assert loads == ["load", "load"]


def test_what_is_open_is_given_again_while_nothing_changes(where: Folders, store: Store) -> None:
    first = refresh(open_library(store, where, "", 30.0), store, where, "", 30.0)  # the index was new before
    again = refresh(first, store, where, "", 30.0)
    assert again.scanner is first.scanner
    Path(where.home, ".netrc").write_text(f"machine example.com login ann password {SECRET}\n")
    changed = refresh(again, store, where, "", 30.0)
    assert changed.scanner is not first.scanner
    assert changed.matcher is first.matcher
    assert rules(PatternGuard(store, where, 30.0), where, SECRET)


def test_each_caller_has_the_secrets_of_its_own_environment(where: Folders, store: Store) -> None:
    guard = PatternGuard(store, where, 30.0)
    for number, environ in enumerate(({"HOME": where.home}, {"HOME": where.home, "SERVICE_TOKEN": SECRET})):
        token = caller.stand_in_for(caller.Caller(environ, 1, 1, mark=number + 1))
        try:
            assert bool(rules(guard, where, SECRET)) is ("SERVICE_TOKEN" in environ)
        finally:
            caller.reset(token)
