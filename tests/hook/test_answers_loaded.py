"""What spells a client's answer is loaded before a person is waited for."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lockgate.clients.hook import local


def _client(folder: Path, name: str, answers: str | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("")
    if answers is not None:
        (package / "answers.py").write_text(answers)
    monkeypatch.syspath_prepend(str(folder))
    return SimpleNamespace(__name__=f"{name}.adapter")


def test_a_client_without_answers_of_its_own_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local._load_answers(_client(tmp_path, "client_without_answers", None, monkeypatch))
    assert "client_without_answers" in sys.modules


def test_answers_that_miss_a_library_are_told_before_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = _client(tmp_path, "client_that_misses", "import a_library_that_is_not_there\n", monkeypatch)
    with pytest.raises(ModuleNotFoundError, match="a_library_that_is_not_there"):
        local._load_answers(client)
