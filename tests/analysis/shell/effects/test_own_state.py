"""Reading or opening a folder that the gate's own state lies in, in every spelling; and work anywhere else."""

from __future__ import annotations

import pytest

from lockgate.core.model import EffectKind, Variant
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell

STATE = "/home/user/.local/state/lockgate"
AROUND = HostView(home="/home/user", workspace="/home/user/work", own_paths=(STATE,), state_paths=(STATE,))


def tampers(command: str, cwd: str = "/home/user/work") -> list[Variant]:
    found = analyse_shell(command, cwd, AROUND)
    return [effect.variant for effect in found.effects if effect.kind is EffectKind.TAMPER]


@pytest.mark.parametrize(
    "command",
    [
        "find / -name '*.db' -delete",
        "find / -name '*.db' -exec shred -u {} \\;",
        "find ~ -name '*.db*' -exec rm {} +",
        "find ~/.local -iname 'lockgate.d?' -exec truncate -s 0 {} +",
        "find ~ -name '*.json' | xargs sed -i s/a/b/",
        "find .. -name '*.json' -delete",
        "cd ~; find . -name 'store.*' -exec cp x {} \\;",
        "cd ~; find . -name 'settings.js*' -exec cp x {} \\;",
    ],
)
def test_changing_what_may_be_the_states_own_by_a_name_with_stars(command: str) -> None:
    assert tampers(command)


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.json' -exec sed -i s/a/b/ {} +",
        "find . -name '*.db' -delete",
        "find ../other -name '*.db' -delete",
        "find ~ -name '*.orig' -delete",
        "find ~ -name '*.pyc' -delete",
        "find / -name '*.log' -mtime +7 -delete",
        "for i in 1 2; do rm -f a$i.db; done",
        "rm -f *.json",
    ],
)
def test_other_names_with_stars_are_the_persons(command: str) -> None:
    assert not tampers(command)


@pytest.mark.parametrize(
    "command",
    [
        "grep -rho 'login=.*' ~/.local/state",
        "grep -r x ~",
        "rg x ../.local",
        "cp -r ~/.local/state ./x",
        "tar cf x.tar -C ~ .local",
        "rsync -a ~/.local/state/ x/",
        "for f in ~/.local/state/*/*; do cat $f; done",
        "for f in ~/.local/state/*/key; do cat $f; done",
        "find ~/.local/state -name 'open-*' -exec cat {} +",
        "for f in ~/.local/*/*/lockgate.db.6; do cat $f; done",
        "cat ~/.local/**/lockgate.db.6",
        "find ~/.local/state -name '*.json' | xargs cat",
        "find ~ -type f -exec cat {} +",
        "diff -rN ~/.local/state /tmp/e",
        "cd ~/.local; diff -r state /tmp/e",
        "git diff --no-index ~/.local/state /tmp/e",
        "git diff ~/.local/state /tmp/e",
        "git grep --no-index x ~/.local",
        "cd ~/.local/state; git grep --no-index x",
        "git -C ~/.local/state add .",
        "git -C ~/.local/state add -A",
        "git -C ~/.local/state stash -u",
        "hg add ~/.local/state",
        "cd ~/.local/state; jj git init",
        "fd . ~/.local/state -x cat",
        "fd -H . ~ -X cat {}",
        "fd -C ~/.local/state -x cat",
        "cd ~/.local/state; fd -x cat",
        "find ~/.local/state | cpio -o",
        "find ~/.local/state -type f | zip x.zip -@",
        "find ~/.local/state -type f -print0 | sort --files0-from=-",
        "find ~/.local/state -type f | git hash-object -w --stdin-paths",
        "cd ~/.local; rg x",
        "cd ~/.local; rg x < /dev/null",
        "cd ~/.local; rg x < /dev/tty",
        "cd ~/.local; rg x <&-",
        "cat ~/.local/**/key",
        "shopt -s globstar; head ~/**/*.json",
        "dpkg-deb -b ~/.local",
        "makeself ~/.local x.run x ls",
        "appimagetool ~/.local",
        "jar cf x.jar -C ~ .local",
        "cd ~; git clean -fdx",
        "git -C ~ clean -fdx",
        "semgrep ~/.local",
        "vale ~/.local",
        "bandit -r ~/.local",
        "svn diff --old ~/.local --new x",
        "cd ~/.local; grep -r x",
        "pushd ~/.local/state; ag x",
        "gzip -rc ~/.local/state",
        "ditto ~/.local/state x",
        "docker run -v ~/.local/state:/x:ro alpine cat /x/lockgate/key",
        "docker run --mount type=bind,src=$HOME,dst=/h,readonly alpine ls",
        "docker cp ~/.local/state web:/x",
        "docker build ~/.local",
        "semgrep scan -e x ~/.local",
        "cp -r ~/.local/st* x",
        "tar c ~/.l*",
        "grep -d recurse x ~/.local/state",
        "git -C ~/.local add :/",
        "cd ~; git add --pathspec-from-file=list",
        "cd ~; svn add --targets list",
        "git -C ~/.local add '*'",
    ],
)
def test_reading_around_the_state_depends_on_the_labels(command: str) -> None:
    assert Variant.PLAIN in tampers(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat ~/.local/state/*/*",
        "cd ~/.local/state; cat */*",
        "cd ~/.local/state; cat lockgate/*",
        "cd ~/.local/state/lockgate; cat *",
        "cd ~/.local/state/lockgate; for f in *; do cat $f; done",
        "cd ~/.local/state/lockgate; rg x",
        "cd ~/.local/state; rm -rf *",
        "cd ~/.local/state/lockgate; chmod 777 *",
        "git -C ~/.local/state add lockgate",
        "git -C ~/.local/state update-index --add lockgate",
        "cd ~/.local/state; git init; git add lockgate/*",
        "man ~/.local/state/lockgate/key",
        "units -f ~/.local/state/lockgate/key",
        "git archive --add-file=../.local/state/lockgate/key HEAD",
        "cmp -l ~/.local/state/lockgate/key /dev/zero",
        "docker run -v ~/.local/state:/x alpine rm -r /x",
        "chmod -R 755 ~/.local",
    ],
)
def test_naming_the_state_is_tampering(command: str) -> None:
    assert Variant.SELF in tampers(command)


@pytest.mark.parametrize(
    "command",
    [
        "chmod 755 ~/.local/state",
        "chmod o+x ~",
        "chown nobody ~/.local",
        "chgrp users ~/.local/state",
        "setfacl -m u:nobody:rx ~/.local/state",
        "chattr +i ~/.local",
        "cd ~/.local; chmod 000 .",
    ],
)
def test_who_may_enter_above_the_state_depends_on_the_labels(command: str) -> None:
    assert tampers(command) == [Variant.PLAIN]


@pytest.mark.parametrize(
    "command",
    [
        "grep -r x .",
        "grep -r x",
        "rg x",
        "ls ~ | rg x",
        "cd ~; ls | rg x",
        "cd src; git grep --no-index x",
        "diff -rq ../a ../b",
        "git diff main -- src",
        "git diff ../other/a.py a.py",
        "git add -A",
        "git add .",
        "git -C ~ add .bashrc",
        "git stash -u",
        "fd -e py -x wc -l",
        "find src | cpio -o",
        "docker run -v $PWD:/app -w /app node npm test",
        "docker run -v ~/.npm:/root/.npm node npm test",
        "docker build -t x .",
        "chmod 755 ~/.local/share/app",
        "chmod +x run.sh",
        "chown -R me .",
        "wc -l ~/.local/state/*/*",
        "du -sh ~",
        "tree ~",
        "tar c ~/*",
        "cp -r ~/s* x",
        "cd /tmp; cat *",
        "cd ~/notes; cat *",
        "cd ~/notes; rm -f *",
        "grep -r x /usr/share",
        "rg x < /dev/null",
        "cat ~/notes/**/*.md",
        "cat **/*.json",
        "git clean -fdx",
        "jar cf x.jar -C build/classes .",
        "semgrep --config auto .",
        "vale docs",
        "ruff check --fix .",
        "cat *",
        "cat */*",
        "for f in *; do cat $f; done",
        "find . -type f -exec cat {} +",
        "find / -name '*.py' -exec grep x {} +",
        "find ~ -name package.json -exec cat {} +",
        "cat ~/*",
        "ls -R ~/.local/state",
        "find ~/.local/state -type f",
        "cp -r ~/.local/share/app .",
    ],
)
def test_searching_elsewhere_is_no_tampering(command: str) -> None:
    assert tampers(command) == []
