"""The native client as it is built, with sanitizers, and believing to be another user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.loading import module_at

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SANITIZED = ("-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


compiling = module_at(ROOT / "native" / "compile.py", "lockgate_native_compile")


def made(target: Path, parts: Sequence[str], flags: Sequence[str]) -> Path:
    """Compile some parts, without a single warning."""
    complaint = compiling.built(target, parts, (*compiling.WARNINGS, *flags))
    assert complaint == ""
    return target


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client as it is installed."""
    target: Path = tmp_path_factory.mktemp("native") / "lockgate-hook"
    compiling.compile_client(target)
    return target


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, which ends where it reads or writes what is not its own, or does what C does not define."""
    return made(tmp_path_factory.mktemp("native") / "sanitized", compiling.PARTS, SANITIZED)


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, believing to be another user than the one it is."""
    parts = (*compiling.PARTS, str(HERE / "another_user.c"))
    return made(tmp_path_factory.mktemp("native") / "foreign", parts, ("-Dgeteuid=another_user",))


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader of replies by itself, with sanitizers."""
    parts = ("reply.c", str(HERE / "read_replies.c"))
    return made(tmp_path_factory.mktemp("native") / "reader", parts, (*SANITIZED, f"-I{ROOT / 'native'}"))
