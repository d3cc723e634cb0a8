"""Tables of inline code, one file a language: the name of the file says how the code is run."""

import shlex
import sys
from pathlib import Path

import pytest

from lockgate.shell import analyse_shell
from lockgate.shell.inline.data import build, language
from lockgate.shell.inline.python import program as inline_python
from support import tables

HERE = Path(__file__).parent
AROUND = {
    "python": ["python3 -c {}", "python3 <<< {}"],
    "perl": [
        "perl -ne {} a.txt",
        "perl -lanE {}",
        "perl -0777pe {} src/*.txt",
        "perl -F: -lane {}",
        "perl -pi.bak -e {} src/a.txt",
    ],
    "javascript": ["node -e {}", "node -p {}", "node <<< {}", "deno eval {}"],
    "awk": ["awk {} a", "gawk -e {} a"],
    "sqlite": ["sqlite3 a.db {}", "sqlite3 a.db <<< {}", "sqlite3 -cmd {} a.db 'select 1'"],
    "psql": ["psql -c {}", "psql app me <<< {}"],
    "mysql": ["mysql -e {}", "mysql app <<< {}", "mysql --init-command={} -e 'select 1'"],
}


def rows():
    for table in sorted(HERE.glob("*.yaml")):
        sections = tables.read(table)
        for section, codes in sections.items():
            for code, effects in codes.items():
                yield pytest.param(table.stem, code, effects, id=f"{table.stem}, {section}: {code[:60]!r}")


def effects_of(command, around):
    found = analyse_shell(command, "/work/project", around).effects
    return {effect.kind.value.replace("_", "-") for effect in found}


@pytest.mark.parametrize(("language", "code", "effects"), list(rows()))
def test_code_has_its_effects(language, code, effects, around):
    for command in AROUND[language]:
        assert effects_of(command.format(shlex.quote(code)), around) == set(effects.split()) - {"local"}, command


@pytest.mark.parametrize("table", build.tables(), ids=lambda table: table.stem)
def test_examples_of_the_knowledge_hold(table, around):
    for code, effects in build.load(table).get("examples", {}).items():
        found = effects_of(AROUND[table.stem][0].format(shlex.quote(code)), around)
        assert found == set(effects.split()) - {"local"}, code


@pytest.mark.parametrize("table", build.tables(), ids=lambda table: table.stem)
def test_compiled_table_is_fresh(table):
    assert table.with_suffix(".json").read_text(encoding="ascii") == build.compile_table(table)


NEWER = [
    ((3, 12), "def first[T](values: list[T]) -> T: return values[0]\nprint(first([1]))", set()),
    ((3, 12), "type Pair = tuple[int, int]\nprint(1)", set()),
    ((3, 12), "def f[T: eval('1')](): pass", {"execute"}),
    ((3, 12), "import os\ntype A = os.system('git push')", {"egress"}),
    ((3, 12), "import os\nprint(f'{os.system('git push')}')", {"egress"}),
    ((3, 14), "x = 1\nprint(t'{x}')", set()),
    ((3, 14), "t'{eval('1')}'", {"execute"}),
    ((3, 14), "import os\nt'{os.system('git push')}'", {"egress"}),
    ((3, 14), "t'{type(1)}'.values[0]('X', (), {})", {"execute"}),
    ((3, 14), "import os\ntry: pass\nexcept ValueError, OSError: os.system('git push')", {"egress"}),
    ((3, 15), "import os\n[*os.popen('git push') for x in [1]]", {"egress"}),
    ((3, 15), "lazy import socket", {"execute"}),
    ((4, 0), "print('what nobody can read yet') ?", {"execute"}),
]


@pytest.mark.parametrize(("since", "code", "effects"), NEWER)
def test_what_this_python_cannot_read_is_not_seen_through(since, code, effects, around):
    readable = sys.version_info >= since
    assert effects_of(f"python3 -c {shlex.quote(code)}", around) == (effects if readable else {"execute"})


def test_a_node_that_is_not_known_is_not_seen_through(around, monkeypatch):
    known = language("python")
    less = {**known, "syntax": known["syntax"].replace(" Lambda ", " ")}
    monkeypatch.setattr(inline_python, "language", lambda _: less)
    assert effects_of("python3 -c 'print(1)'", around) == set()
    assert effects_of("python3 -c 'print((lambda: 1)())'", around) == {"execute"}


@pytest.mark.parametrize("program", ["python2", "python2.7", "ipython"])
def test_another_language_is_not_read(program, around):
    assert effects_of(f"{program} -c 'print(1)'", around) == {"execute"}


@pytest.mark.parametrize(
    ("command", "effects"),
    [
        ("python3 - <<'E'\n# coding: utf-7\n#+AAo-import os\nE", {"execute"}),
        ("python3 - <<'E'\n\n# -*- coding: utf_7 -*-\nE", {"execute"}),
        ("python3 - <<'E'\n# -*- coding: utf-8 -*-\nprint(1)\nE", set()),
        ("git() { :; }; python3 -c 'import os; os.system(\"git push\")'", {"egress"}),
        ('git() { :; }; python3 -c \'import subprocess; subprocess.run(["git", "push"])\'', {"egress"}),
        ("git() { :; }; node -e 'child_process.execSync(\"git push\")'", {"egress"}),
        ("python3 -m json.tool a.json", set()),
        ("python3 -m json.tool --indent 2 a.json b.json", set()),
        ("python3 -m json.tool a.json ~/.bashrc", {"persist"}),
        ("python3 -m json.tool ~/.aws/credentials", {"read-secret"}),
        ("sed ':a;N;$!ba;s/x/y/' f", set()),
        ("sed -e ':a' -e 'N;ba' f", set()),
        ("sed ': x e frob' f", {"execute"}),
        ("sed ':x\te frob' f", {"execute"}),
        ("sed 'v 4.2 e frob' f", {"execute"}),
        ("perl -pe s/a/b/ 'frob|'", {"execute"}),
        ("perl -pe s/a/b/ '| frob'", {"execute"}),
        ("perl -pe s/a/b/ ' >x'", {"execute"}),
        ("perl -pe s/a/b/ *", {"execute"}),
        ("perl -pe s/a/b/ *.py", {"execute"}),
        ("perl -pe s/a/b/ ./*.py", set()),
        ("git ls-files | xargs perl -pi -e s/a/b/", {"execute"}),
        ("perl -pi -e s/a/b/ ~/.bashrc", {"persist"}),
        ("perl -ne print -e '$x = 4' -e '/ system(1) / 2'", {"execute"}),
        ("perl -F'/x/,system(1)' -ane print", {"execute"}),
        ("perl -F'/,/' -ane print", set()),
        ("perl -Mx -ne print", {"execute"}),
        ("perl -lx -ne print", {"execute"}),
        ("gawk -e 'BEGIN { x = 4' -e '/ system(\"frob\") / 2 }'", {"execute"}),
        ("psql -S -c 'select 1'", {"execute"}),
        ("psql -v x='1; load' <<< 'select 1'", {"execute"}),
        ("psql -v ON_ERROR_STOP=1 <<< 'select 1'", set()),
        ("mysql --delimiter=x -e 'select 1 x system frob'", {"execute"}),
        ("mysql app < a.sql", {"execute"}),
        ("psql -o '|git push' -c 'select 1'", {"egress"}),
        ("python3 -c 'import sys; open(sys.argv[1], \"w\")' a.txt", set()),
        ("python3 -c 'import sys; open(sys.argv[1], \"w\")' /home/user/.bashrc", {"persist"}),
        ("python3 - /home/user/.bashrc <<'E'\nimport sys\nopen(sys.argv[1], 'w')\nE", {"persist"}),
        ("python3 -c 'import sys; print(open(sys.argv[1]).read())' ~/.ssh/id_rsa", {"read-secret"}),
        ("python3 -c 'import sys\nfor f in sys.argv: open(f).read()' ~/.ssh/id_rsa", {"read-secret"}),
        ('python3 -c \'import sys; sys.argv[1] = "x"; open(sys.argv[1], "w")\' a', {"execute"}),
    ],
)
def test_what_the_command_line_adds(command, effects, around):
    assert effects_of(command, around) == effects
