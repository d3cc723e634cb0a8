"""Tables of commands: what must stay local, and what must not."""

from pathlib import Path

import pytest

from lockgate.core.model import Category
from lockgate.shell import analyse_shell
from support import tables

HERE = Path(__file__).parent
LOCAL, ACTING = (list(tables.commands(HERE / name, shown=50)) for name in ("local.yaml", "acting.yaml"))


@pytest.mark.parametrize("command", LOCAL)
def test_everyday_command_is_local(command, around):
    analysis = analyse_shell(command, "/work/project", around)
    assert [(effect.kind.value, effect.rule, effect.because) for effect in analysis.effects] == []
    assert analysis.category is Category.SAFE


@pytest.mark.parametrize("row", ACTING)
def test_command_has_its_effects(row, around):
    analysis = analyse_shell(row["run"], "/work/project", around)
    kinds = {effect.kind.value for effect in analysis.effects}
    expected = set(row["effects"].split())
    assert expected <= kinds if row.get("loose") else kinds == expected, analysis.effects
    if "programs" in row:
        assert list(analysis.programs) == row["programs"]
    if "category" in row:
        assert analysis.category == row["category"]


@pytest.mark.parametrize("rows", tables.sections(HERE / "acting.yaml"))
def test_every_effect_is_explained(rows, around):
    for row in rows:
        for effect in analyse_shell(row["run"], "/work/project", around).effects:
            told = f"{row['run']!r}: {effect}"
            assert ":" in effect.rule, told
            assert effect.because, told
            assert effect.because[0] in "`$" or not effect.because[0].isupper(), told
            assert not effect.because.endswith("."), told
            assert not set("\x00\x01\x02") & set(effect.what + effect.because), told
