"""Reading files of which it cannot be told before it runs which they are; and everyday work that knows its own."""

from __future__ import annotations

import pytest

from lockgate.core.model import EffectKind, Label
from lockgate.shell import analyse_shell
from support.analysed import AROUND, PROJECT, kinds


@pytest.mark.parametrize(
    "command",
    [
        "head $(<list)",
        'head "$(cat list)"',
        'while read f; do head "$f"; done < list',
        'cat < "$f"',
        'read f < list; wc -c < "$f"',
        "f=$(sed -n 1p list); head $f",
        "xargs head < list",
        "xargs -I{} head {} < list",
        "mapfile -t a < list; head ${a[0]}",
        "head $UNSET/home/user/.local/state/lockgate/key",
        "for f in {1..40} ~/.ssh/id_rsa; do head $f; done",
        "for f in {1..40} ../../.ssh/id_rsa; do head ./$f; done",
        "cd $(cat list); head key",
        "read d < list; cd $d && head key",
        "sort --files0-from=list",
        "find -files0-from list -exec cat {} +",
        "cpio -o < list",
        "zip x.zip -@ < list",
        "7z a x.7z @list",
        "git hash-object -w --stdin-paths < list",
        "rsync -a --files-from=list / out",
        "ar rcs x.a @list",
        "qpdf @list",
        "genisoimage -path-list list -o x.iso",
        "ffmpeg -f concat -safe 0 -i list.txt x.mp4",
        "gcc -E a.c",
        "cpp a.c",
        "gcc -fsyntax-only a.c",
        "gcc -c a.s -o a.o",
        "nasm -f elf64 a.asm",
        "as -al a.s",
        "pdflatex a.tex",
        "groff -Tutf8 a.ms",
        "xgettext -f list -o -",
        "jq -nf a.jq",
        "jsonnet a.jsonnet",
        "nickel export a.ncl",
        "bsdtar cf x @mtree",
        "tar cf x -T list",
        "locate id_rsa | xargs cat",
        "git ls-files --format=/home/user/.ssh/id_rsa | xargs head",
        "find . -maxdepth 0 -printf '/home/user/.ssh/id_rsa\\n' | xargs head",
        "find /tmp/x -type f -printf '/%P\\n' | xargs head",
        "head $(fd --format /home/user/.ssh/id_rsa a)",
        "echo x | grep -l --label=/home/user/.ssh/id_rsa x | xargs head",
        "git diff --name-only --line-prefix=/home/user/.ssh/ | xargs head",
        "git log --name-only | xargs head",
        "git log --name-only --format=%s | xargs head",
        "head $(ls -l --time-style=+/home/user/.ssh/id_rsa)",
        "head $(rg -l x --path-separator=/home/)",
        "head $(pgrep -fa x)",
        "python3 -c \"print(open(open('list').read().strip()).read())\"",
        "python3 -c \"from pathlib import Path; print(Path('XhomeXuser'.replace('X', '/')).read_text())\"",
        "python3 -c \"class W:\n  def glob(s, x): return [open('l').read()]\nfor f in W().glob('*'): open(f).read()\"",
        "python3 -c \"import glob\na = glob.glob('*')\na.append(open('l').read())\nfor f in a: print(open(f).read())\"",
        "node -e \"const fs = require('fs'); console.log(fs.readFileSync(fs.readFileSync('list', 'utf8')))\"",
        "find / -wholename /home/user/.local/share/x -exec cat {} +",
        "find / -regex '.*/key' -exec cat {} +",
        "find ~ -path '*/x/*' -exec cat {} +",
        "cat /proc/1234/cwd/x",
        "cat /proc/$$/cwd/../x",
        "exec 3< ~/.local/state; cat /proc/self/fd/3/lockgate/key",
        "exec 3< ~/.local/state; cat /dev/fd/3/lockgate/key",
        "cd /proc/1/cwd; cat key",
    ],
)
def test_what_could_be_any_file_is_read_only_contained(command: str) -> None:
    assert EffectKind.EXECUTE in kinds(command)


@pytest.mark.parametrize(
    "command",
    [
        'for f in *.py; do head "$f"; done',
        'for f in src/*.py tests/*.py; do wc -l < "$f"; done',
        'git ls-files | while read f; do head "$f"; done',
        "git ls-files '*.py' | while read -r f; do wc -l \"$f\"; done",
        "while IFS= read -r f; do wc -l < \"$f\"; done < <(git ls-files '*.py')",
        "git ls-files | grep -E 'ya?ml$' | xargs grep -n runs-on",
        "git ls-tree -r --name-only HEAD | xargs wc -l",
        "git diff --name-only main | xargs head -5",
        "find . -name '*.py' -printf '%s %p\\n' | sort -n | head -3 | xargs head",
        "git log --name-only --pretty=format: -5 | sort -u | xargs wc -l",
        "git diff --name-only -z | xargs -0 head",
        "git diff-tree --no-commit-id --name-only -r HEAD | xargs wc -l",
        "find . -name '*.py' | while read -r f; do head \"$f\"; done",
        "find . -path '*/src/*' -exec cat {} +",
        "find . -name config -exec cat {} +",
        "find ~ -name package.json -exec cat {} +",
        "find ~ -name '*.md' -exec cat {} +",
        "for d in ~/*/; do cat $d/package.json; done",
        "find . -regex '.*\\.\\(py\\|md\\)' -exec head {} +",
        'grep -rl foo src | while read f; do head "$f"; done',
        "head $(rg -l foo)",
        "head -20 $(ls -t logs/*.log | head -1)",
        'f=$(find . -name app.py | head -1); cat "$f"',
        'find src -type f | sort | while read f; do echo "== $f"; cat "$f"; done',
        'for f in a.py b.py c.py d.py e.py f.py g.py h.py i.py j.py k.py l.py m.py n.py; do head -5 "$f"; done',
        'f=src/a.py; head "$f"',
        'f=$(basename x.py); head "$f"',
        'git diff "$(git merge-base main HEAD)"..HEAD --stat',
        "git show $REVISION --stat",
        "git archive --format=tar HEAD src",
        "git archive --prefix=app/ -o app.tgz v1.2",
        "while IFS=, read -r a b; do echo $a; done < x.csv",
        "cat $HOME/notes/a.md",
        "cat $TMPDIR/x",
        "cat /proc/self/cwd/README.md",
        "grep x /proc/self/cwd/src/a.py",
        "cat /proc/self/status /proc/cpuinfo",
        "ls -l /proc/1234/cwd",
        "cat /dev/fd/3",
        "git ls-files | cpio -o",
        "gcc -E -dM - < /dev/null",
        "gcc a.o b.o -o a",
        "gcc -dM -E -x c /dev/null",
        "git add --pathspec-from-file=list",
        "python3 -c \"import glob\nfor f in sorted(glob.glob('src/**/*.py', recursive=True)): print(open(f).read())\"",
        "python3 -c \"import os\nfor r, d, fs in os.walk('.'):\n  for f in fs: print(open(f'{r}/{f}').read())\"",
        'python3 -c "import sys\nfor f in sys.argv[1:]: print(open(f).read())" a.txt *.md',
        "python3 -c 'a = {}; print(a.copy())'",
        "node -e \"const fs = require('fs'); fs.readdirSync('src').filter(f => f.endsWith('.js'))"
        ".forEach(f => console.log(fs.readFileSync('src/' + f)))\"",
    ],
)
def test_what_is_known_to_lie_in_the_project_is_read_silently(command: str) -> None:
    assert kinds(command) == set()


@pytest.mark.parametrize(
    "command",
    [
        "cat /proc/[1-9]*/cwd/../.local/state/lockgate/key",
        "cat /proc/$$/cwd/../.local/state/lockgate/key",
        "cat /proc/self/cwd/../.local/state/lockgate/key",
        "cat /proc/self/task/*/cwd/../.local/state/lockgate/key",
        "cat /p*/self/cwd/../.local/state/lockgate/key",
        "cd /proc/$$/root; cat home/user/.local/state/lockgate/key",
        "cd /proc/self/root; cat home/user/.local/state/lockgate/key",
        "cd /proc/self/cwd/..; cat .local/state/lockgate/key",
        "cd /proc/self/cwd; cat ../.local/state/lockgate/key",
        "cp x /proc/self/cwd/../.local/state/lockgate/key",
        "find / -wholename '*/state/lockgate/key' -exec cat {} +",
        "find / -samefile ~/.local/state/lockgate/key -exec cat {} +",
        "find ~ -ipath '*/KEY' -exec cat {} +",
    ],
)
def test_the_folders_of_processes_lead_to_the_state_as_well(command: str) -> None:
    assert EffectKind.TAMPER in kinds(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat /proc/[1-9]*/cwd/../.ssh/id_rsa",
        "cat /proc/self/cwd/../.aws/credentials",
        "find / -wholename '*/.ssh/id_rsa' -exec cat {} +",
        "find / -samefile ~/.ssh/id_rsa -exec cat {} +",
        "git -C ~/.ssh add .",
        "cat <> .env",
        "exec 3<> .env; cat <&3",
        "exec {fd}<> .env; cat <&$fd",
        "while read l; do echo $l; done <> .env",
        "zstdcat -T .env",
        "git archive HEAD .env",
        "echo HEAD:.env | git cat-file --batch",
        "iconv --input=/home/user/.ssh/id_rsa",
        "goaccess -f ~/.ssh/id_rsa",
        "tfsec ~/.aws",
        "git config -f ~/.aws/credentials -l",
        "find ~ -name config -exec cat {} +",
        "find / -name shadow -exec cat {} +",
        "find .. -name 'hosts.*' | xargs head",
        "find ~ -name '*.toml' -exec head {} +",
        "for d in ~/.*/; do head ${d}config; done",
        "for d in ~/.c*/*/; do head ${d}hosts.yml; done",
        "for f in a b c d e f g h i j k l m ~/.ssh/id_rsa; do head $f; done",
        "cat $(find ~ -name id_rsa | head -1)",
        "f=$(find ~ -name hosts.yml | sort | tail -1); cat $f",
    ],
)
def test_secrets_on_such_ways_give_the_label(command: str) -> None:
    assert Label.SECRET in analyse_shell(command, PROJECT, AROUND).gives


@pytest.mark.parametrize(
    "command", ["od -c .env", "hexdump -C .env", "pr -l .env", "fold -s .env", "grep -h -o .env .env"]
)
def test_a_flag_that_another_program_of_the_entry_gives_a_value_hides_no_file(command: str) -> None:
    assert Label.SECRET in analyse_shell(command, PROJECT, AROUND).gives


@pytest.mark.parametrize("command", ["grep -e .env src/a.py", "cut -d . -f 1 a", "column -t -s , a.csv", "head -n 5 a"])
def test_values_of_options_are_no_files(command: str) -> None:
    assert kinds(command) == set()
