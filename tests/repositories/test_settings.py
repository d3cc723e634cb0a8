"""A file of settings is read as git reads it, or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate.gate.host.repositories.settings import settings_in
from support.stress import examples

PIECES = [
    *("[remote ", '"origin"', '"a\\"b"', '"a.b"', '"A\\\\x"', "]", "[core]", "[Remote.Origin]", "[a b]"),
    *('[url "https://github.com/"]', "url", "URL = ", "pushUrl=", "insteadOf = gh:", " = ", "=", "git@github.com:me/x"),
    *("https://e.example/#x", '"', "\\", "\\n", "\\t", "\\q", "\n", "\r\n", "\r", "\t", " ", "; note", "# note", "x"),
    *("a-b", "1", "é", "\\\n", "\ufeff", "\x0c", "\x00"),
    '[remote "origin"]\n\turl = git@github.com:me/x\n',
    "[core]\n\tbare = false\n",
    '[branch "main"]\n\tremote = origin ; x\n',
]


def as_git_reads(folder: Path, text: str) -> list[tuple[str, str | None]] | None:
    file = folder / "config"
    file.write_bytes(text.encode())
    done = subprocess.run(["git", "config", "--file", str(file), "--list", "-z"], capture_output=True, check=False)
    if done.returncode:
        return None
    lines = done.stdout.decode().split("\0")[:-1]
    return [(name, value if found else None) for name, found, value in (line.partition("\n") for line in lines)]


def as_read(text: str) -> list[tuple[str, str | None]] | None:
    try:
        found = settings_in(text)
    except ValueError:
        return None
    return [
        (".".join(part for part in (each.section, each.subsection, each.key) if part), each.value) for each in found
    ]


@given(text=st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=examples(300), deadline=None)
def test_a_random_file(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    mine = as_read(text)
    if mine is not None:
        theirs = as_git_reads(tmp_path_factory.getbasetemp(), text)
        assert theirs is not None, text
        assert list(map(_blank, mine)) == list(map(_blank, theirs)), text


def _blank(setting: tuple[str, str | None]) -> tuple[str, str | None]:
    """Which blank stands inside of a value differs between versions of git."""
    name, value = setting
    return name, value and value.translate({9: " ", 13: " "})


@pytest.mark.parametrize(
    "text",
    [
        "".join(PIECES[-3:]),
        '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n[remote "origin"]\n\turl = https://github.com/me/x.git\n'
        "\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        '[a "b"] c = "d ; e" ; f\n[A.B] G\nh = i \\\n j\n',
        "[a]\r\n\tb = c  d  \r\n",
        '[a] b = "c"d" e "\n',
        "\ufeff[a]b=c",
        "",
    ],
)
def test_an_ordinary_file_is_read(text: str, tmp_path: Path) -> None:
    assert as_read(text) == as_git_reads(tmp_path, text) is not None


NOT = ["[a", "a = b\n", '[a]\nb = "c\n', "[a]\nb = \\q\n", "[a]\n-b = c\n", '[a.b "c"]\nd\n', "[a]\nb c\n", "[a]\nb=\0"]


@pytest.mark.parametrize("text", NOT)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        settings_in(text)
