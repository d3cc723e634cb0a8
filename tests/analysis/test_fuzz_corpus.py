"""What fuzzing has once found, and its seeds: for each input the laws hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.loading import module_at

_FUZZ = Path(__file__).parents[2] / "evals/fuzz"
_CORPUS = sorted((_FUZZ / "corpus").glob("*/*"))


_TARGETS = module_at(_FUZZ / "targets.py", "fuzz_targets").TARGETS


def test_each_target_has_seeds() -> None:
    assert {file.parent.name for file in _CORPUS} == set(_TARGETS)


@pytest.mark.parametrize("file", _CORPUS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_the_laws_hold(file: Path) -> None:
    _TARGETS[file.parent.name](file.read_bytes())


@pytest.mark.parametrize("name", _TARGETS)
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf\r\n", "\u202e\u2028\u00a0".encode()])
def test_the_laws_hold_for_odd_bytes(name: str, data: bytes) -> None:
    _TARGETS[name](data)
