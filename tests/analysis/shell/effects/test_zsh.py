"""Commands that bash and zsh read in the same way and run differently."""

import pytest

from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell

BASH = HostView(home="/home/user", workspace="/work/project")
ZSH = BASH._replace(may_be_zsh=True)


def kinds(command, around):
    return {effect.kind.value for effect in analyse_shell(command, "/work/project", around).effects}


@pytest.mark.parametrize(
    "command",
    [
        "path=(/tmp/x $path)\nls",
        "path=/tmp/x; ls",
        "path+=(/tmp/x); ls",
        "for path in /tmp/x; do ls; done",
        "read path <<< /tmp/x; ls",
        "functions[ls]='git push'; ls",
        "aliases[ls]='git push'\nls",
        "galiases[x]='; git push'\necho x",
        "commands[ls]=/tmp/x; ls",
        "chpwd_functions=(f)",
        "zshexit_functions+=(f)",
        "histchars='!^%'\n# ; git push",
        "HISTCHARS='!^%'\n# ; git push",
        "hash ls=/tmp/x; ls",
        "setopt globsubst",
        "setopt GLOB_SUBST",
        "setopt prompt_subst",
        "set -o globsubst",
        "unsetopt noglobsubst",
        "options[globsubst]=on",
        "exit 'path[$(git push)]'",
        "return 'path[$(git push)]'",
        "shift 'path[$(git push)]'",
        "x='path[$(git push)]'; exit x",
        "break 'path[$(git push)]'",
        "repeat 'path[$(git push)]' ls",
        "ulimit -n 'path[$(git push)]'",
        "read -t 'path[$(git push)]' x",
        "print -C 'path[$(git push)]' x",
        "integer x='path[$(git push)]'",
        "float x='path[$(git push)]'",
        "typeset -F x='path[$(git push)]'",
        "typeset -Z 'path[$(git push)]' x",
        "a=(ls x); ${a[0]} git push",
        "a=(git ls); ${a[1]} push",
        "a=(git push); $a",
    ],
)
def test_zsh_runs_more(command):
    assert kinds(command, ZSH)


@pytest.mark.parametrize(
    "command",
    [
        "exit 1",
        "rc=$?; exit $rc",
        'files=(a b); for f in "${files[@]}"; do cat "$f"; done',
        "setopt err_exit nounset no_nomatch; ls",
        "set -euo pipefail; ls",
        "integer x=3; echo $x",
        "read -r -t 5 line; echo $line",
        "export A=1; local b=2; typeset -i c=4",
        "print -l a b",
        "shift 2; return 0",
        "a=(x); echo $a",
    ],
)
def test_everyday_commands_stay_local(command):
    assert kinds(command, ZSH) == set()


@pytest.mark.parametrize("command", ['path=/tmp/x; ls "$path"', "a=(ls x); ${a[0]} a", "functions=3; ls"])
def test_bash_is_not_blamed_for_it(command):
    assert kinds(command, BASH) == set()


@pytest.mark.parametrize(
    "command",
    [
        "zsh -c 'a=(git push); $a'",
        "zsh <<'E'\na=(git push); $a\nE",
        "printf 'a=(git push); $a' | zsh",
        "zsh -c 'trap \"a=(git push); \\$a\" EXIT'",
        "zsh -c 'path=(/tmp/x $path); ls'",
    ],
)
def test_what_a_bash_hands_to_zsh_is_run_by_zsh(command):
    assert kinds(command, BASH)
    assert kinds(command.replace("zsh", "bash"), BASH) == set()


def test_the_second_element_is_the_first_in_zsh():
    command = "u=(https://e.example/ http://localhost/); curl ${u[1]}"
    assert kinds(command, BASH) < kinds(command, ZSH)
