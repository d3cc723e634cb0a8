"""A star is what it stands for on the disk, as long as nothing on the line can have changed that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import normpath

import pytest

from lockgate.core.model import EffectKind
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell

PROJECT = "/home/u/p"
GUARDED = {EffectKind.TAMPER, EffectKind.PERSIST, EffectKind.READ_SECRET, EffectKind.INGEST, EffectKind.EXECUTE}
ORDINARY = {
    "": ("src", "setup.py", "docs", "migrations", "Makefile", ".eslintrc", ".editorconfig", ".mycache", "a.txt")
}


def look(folders: Mapping[str, tuple[str, ...]]) -> Callable[[str], tuple[str, ...] | None]:
    """Tell the names in the project's folders, by paths from its root; nobody knows those elsewhere."""

    def names(folder: str) -> tuple[str, ...] | None:
        return folders.get(folder[len(PROJECT) + 1 :], ()) if f"{folder}/".startswith(f"{PROJECT}/") else None

    return names


def leading(name: str) -> Callable[[str], str]:
    """Resolve links on a disk where one of the project leads to a key."""
    link = f"{PROJECT}/{name}"
    return lambda path: "/home/u/.ssh/id_rsa" if normpath(path) == link else path


def guarded(command: str, folders: Mapping[str, tuple[str, ...]] = ORDINARY, **facts: object) -> set[EffectKind]:
    around = HostView(home="/home/u", workspace=PROJECT, names_in=look(folders))._replace(**facts)
    return GUARDED & {effect.kind for effect in analyse_shell(command, PROJECT, around).effects}


HARMLESS = [
    pytest.param("rm -rf s*", id="a-beginning"),
    pytest.param("rm -rf m* d*", id="two-words"),
    pytest.param("rm -rf .*cache", id="a-hidden-name"),
    pytest.param("rm -rf ./s* build*", id="from-the-folder-itself"),
    pytest.param("rm -rf {s,d}*", id="braces"),
    pytest.param("cat .e*", id="read"),
    pytest.param("head -3 .e* | sort", id="read-in-a-pipeline"),
    pytest.param("sed -i s/a/b/ d*/*.md", id="edited"),
    pytest.param("cd src && ls && rm -rf s*", id="another-folder"),
    pytest.param("test -d src && { rm -rf s*; echo done; }", id="grouped"),
    pytest.param("rm -rf docs; rm -rf s*", id="after-removing"),
    pytest.param('rm -rf "$HOME/.cache/a" s*', id="beside-a-quoted-value"),
    pytest.param("cp -r s* /tmp/x", id="copied"),
    pytest.param("mv s* d* out/", id="moved"),
    pytest.param("chmod -R a+r s*", id="given-other-rights"),
    pytest.param("set -e; echo x > /dev/null; rm -rf s*", id="after-writing-nowhere"),
    pytest.param("rm -rf s* && touch x", id="before-something-is-made"),
]
FOLDERS = {**ORDINARY, "src": ("main.py", "sub"), "docs": ("a.md",)}


@pytest.mark.parametrize("command", HARMLESS)
def test_what_stands_for_ordinary_names_is_harmless(command):
    assert not guarded(command, FOLDERS)


@pytest.mark.parametrize("command", ["rm -rf s*", "rm -rf .*cache", "cat .e*"])
def test_where_nobody_knows_the_disk_the_letters_count(command):
    assert guarded(command, names_in=lambda _: None)


@pytest.mark.parametrize(
    ("command", "folders", "kind"),
    [
        pytest.param("cat .e*", {"": (".env", ".eslintrc")}, EffectKind.READ_SECRET, id="a-secret-among-others"),
        pytest.param("cat .E*", {"": (".env",)}, EffectKind.READ_SECRET, id="a-disk-or-shell-that-heeds-no-case"),
        pytest.param("rm -rf .c*", {"": (".claude", ".cache")}, EffectKind.TAMPER, id="settings"),
        pytest.param("rm -rf *claude", {"": (".claude",)}, EffectKind.TAMPER, id="a-shell-that-shows-hidden-names"),
        pytest.param("sed -i s/a/b/ .cl*/s*", {"": (".claude",), ".claude": ("settings.json",)}, EffectKind.TAMPER,
                     id="two-stars"),
        pytest.param("cd .claude; rm s*", {"": ("src",), ".claude": ("settings.json",)}, EffectKind.TAMPER,
                     id="the-folder-that-was-entered"),
        pytest.param("cp s* out/", {"": ("src", "sitecustomize.py")}, EffectKind.PERSIST, id="copied"),
        pytest.param("chmod -R 777 .c*", {"": (".claude",)}, EffectKind.TAMPER, id="all-below"),
    ],
)  # fmt: skip
def test_what_stands_for_a_guarded_place_counts(command, folders, kind):
    assert kind in guarded(command, folders)


def test_a_link_is_what_it_leads_to():
    assert not guarded("cat .e*", {"": (".elink",)})
    assert EffectKind.READ_SECRET in guarded("cat .e*", {"": (".elink",)}, realpath=leading(".elink"))


MADE = [
    pytest.param("mv a.txt sx; rm -rf s*", id="a-name-was-made"),
    pytest.param("git checkout other; rm -rf s*", id="by-a-program"),
    pytest.param("frob; rm -rf s*", id="by-one-that-nobody-knows"),
    pytest.param("mkdir .claude; cat .e*", id="a-folder-was-made"),
    pytest.param("echo x > y; cat .e*", id="by-a-redirection"),
    pytest.param("frob & rm -rf s*", id="at-the-same-time"),
    pytest.param("cat .e* | xargs -I{} mv {} x", id="by-what-reads-from-the-pipe"),
    pytest.param("{ sleep 1; rm -rf s*; } | frob", id="by-the-other-end-of-the-pipe"),
    pytest.param("rm -rf s* $(git checkout other)", id="in-a-later-word"),
    pytest.param("rm -rf s* <(git checkout other)", id="beside-the-word"),
    pytest.param("while :; do rm -rf s*; git checkout other; done", id="in-an-earlier-round"),
    pytest.param("f() { rm -rf s*; git checkout other; }; f; f", id="in-an-earlier-call"),
    pytest.param("sh -c 'rm -rf s*'", id="another-shell"),
    pytest.param("cd -P docs/.. && cat .e*", id="a-folder-behind-a-link"),
    pytest.param("set -P; cd docs; cd ..; cat .e*", id="above-a-link"),
    pytest.param("trap 'rm -rf s*' EXIT", id="later"),
    pytest.param("shopt -s extglob; rm -rf s*", id="stars-are-read-otherwise"),
    pytest.param("source x.sh; rm -rf s*", id="by-what-is-taken-in"),
    pytest.param("rm -rf $OUT s*", id="beside-a-value-with-stars-of-its-own"),
]


@pytest.mark.parametrize("command", MADE)
def test_where_names_can_have_been_made_the_letters_count(command):
    assert guarded(command)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("cp -r x d*", id="into-a-folder-that-somebody-makes-meanwhile"),
        pytest.param("cp x/* .claude/", id="under-names-that-somebody-gives-meanwhile"),
        pytest.param("cp s* .claude/", id="into-a-folder-that-matters"),
        pytest.param("cp s* ~/.config/x/", id="at-home"),
        pytest.param("cp s* $X/", id="into-a-folder-that-nobody-knows"),
        pytest.param("cp a.txt .cl*/s*", id="nothing-has-such-a-name"),
        pytest.param("rm -rf 's'*'*'", id="a-star-that-is-no-star"),
        pytest.param('x=s; rm -rf "$x"*', id="a-value"),
        pytest.param("rm -rf [s]*", id="a-class"),
        pytest.param("rm -rf **/s*", id="any-depth-in-some-shells"),
        pytest.param("rm -rf ../p/s*", id="from-above"),
        pytest.param("git rm -r .*cache.x", id="looked-for-by-the-program"),
    ],
)
def test_other_words_are_taken_by_their_letters(command):
    assert guarded(command) or guarded(command, {**ORDINARY, "x": ("a",)})


def test_a_name_that_begins_like_a_home_folder_is_none():
    assert not guarded("cat *i*", {"": ("~i1",)})
    assert EffectKind.READ_SECRET in guarded("cat *i*", {"": ("~i1",)}, realpath=leading("~i1"))


def test_more_names_than_can_be_followed():
    many = tuple(f"s{number}" for number in range(65))
    assert guarded("rm -rf s*", {"": many})
    assert not guarded("rm -rf s*", {"": many[:64]})


FIND = "find . -name config.toml -exec sed -i s/a/b/ {} +"


@pytest.mark.parametrize(
    ("command", "there", "kinds"),
    [
        pytest.param(FIND, ["app/config.toml"], set(), id="ordinary-files"),
        pytest.param("find . -name config.toml -delete", ["app/config.toml"], set(), id="removed"),
        pytest.param("find src -name settings.json -exec sed -i s/a/b/ {} \\;", [], set(), id="none"),
        pytest.param(FIND, ["config.toml", "a/.codex/config.toml"], {EffectKind.TAMPER}, id="settings-of-an-agent"),
        pytest.param(FIND, None, {EffectKind.TAMPER}, id="nobody-knows"),
        pytest.param(f"git checkout x; {FIND}", [], {EffectKind.TAMPER, EffectKind.EXECUTE}, id="made-before"),
        pytest.param(f"cp a b; {FIND}", [], {EffectKind.TAMPER}, id="written-before"),
        pytest.param(f"frob & {FIND}", [], {EffectKind.TAMPER, EffectKind.EXECUTE}, id="made-meanwhile"),
    ],
)
def test_what_a_search_finds_is_what_is_there(command, there, kinds):
    def found(folder: str, name: str) -> tuple[str, ...] | None:
        return None if there is None else tuple(f"{PROJECT}/{path}" for path in there if path.endswith(name))

    assert guarded(command, find_below=found) == kinds


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("find . -type d -exec sort -o {}/settings.json a.txt \\;", id="sort"),
        pytest.param("find . -type d -exec uniq a.txt {}/settings.json \\;", id="uniq"),
        pytest.param("find . -type d -exec tree -o {}/settings.json \\;", id="tree"),
        pytest.param("find . -type d -exec time -o {}/settings.json true \\;", id="time"),
        pytest.param("find . -type d | xargs -I{} sort -o {}/config.toml a.txt", id="xargs"),
    ],
)
def test_a_new_file_in_each_folder_is_found_in_none(command):
    assert EffectKind.TAMPER in guarded(command, find_below=lambda *_: ())


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("cp x l*/settings.json", id="copied-to"),
        pytest.param("echo x > l*/settings.json", id="redirected-to"),
        pytest.param("mkdir q; tee l*/settings.json < x", id="after-something-is-made"),
        pytest.param("rm -f ./l*/settings.json", id="removed"),
    ],
)
def test_a_star_that_a_link_answers_to_leads_where_the_link_leads(command):
    def through(path: str) -> str:
        return normpath(path).replace(f"{PROJECT}/lnk/", f"{PROJECT}/.claude/")

    folders = {"": ("lnk", "lib")}
    assert EffectKind.TAMPER in guarded(command, folders, realpath=through)
    assert not guarded(command, folders)


def test_a_project_behind_a_link_has_the_same_names():
    def elsewhere(path: str) -> str:
        return normpath(path).replace(PROJECT, "/mnt/project")

    folders = {"": (".claude", ".env", "src")}
    assert not guarded("cat *; cp x */settings.json", folders, realpath=elsewhere)


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        pytest.param("shopt -s dotglob; cp x */settings.json", True, id="bash"),
        pytest.param("bash -O dotglob -c 'cp x */settings.json'", True, id="as-an-option"),
        pytest.param("GLOBIGNORE=a; cp x */settings.json", True, id="by-a-variable"),
        pytest.param("zsh -c 'setopt GLOB_DOTS; cp x */settings.json'", True, id="zsh"),
        pytest.param("set -o globdots; cp x */settings.json", True, id="zsh-as-an-option"),
        pytest.param("set -4; cp x */settings.json", True, id="zsh-as-a-letter"),
        pytest.param("set -e4; cp x */settings.json", True, id="zsh-as-one-of-two-letters"),
        pytest.param("zsh -4 -c 'cp x */settings.json'", True, id="zsh-started-so-by-a-letter"),
        pytest.param("zsh -c4 'cp x */settings.json'", True, id="zsh-started-so-by-two-letters"),
        pytest.param("zsh -o Glob_Dots -c 'cp x */settings.json'", True, id="zsh-started-so"),
        pytest.param("zsh +o noglobdots -c 'cp x */settings.json'", True, id="zsh-started-without-its-opposite"),
        pytest.param("zsh --glob-dots -c 'cp x */settings.json'", True, id="zsh-started-so-by-a-long-option"),
        pytest.param("zsh -c 'unsetopt NO_GLOB_DOTS; cp x */settings.json'", True, id="zsh-without-its-opposite"),
        pytest.param("zsh -c 'unsetopt globdots; ls *'", False, id="zsh-without"),
        pytest.param("zsh -c 'setopt noglobdots; ls *'", False, id="zsh-with-its-opposite"),
        pytest.param("zsh -o pipefail -ec 'ls * | tail -4'", False, id="zsh-with-others"),
        pytest.param("set -- -4; ls *", False, id="a-number-among-the-parameters"),
        pytest.param("shopt -s globstar nullglob; ls **/*.py", False, id="others"),
        pytest.param("bash -O globstar -c 'ls **/*.py'", False, id="others-as-an-option"),
        pytest.param("set -euo pipefail; ls *", False, id="an-ordinary-option"),
    ],
)
def test_stars_that_stand_for_hidden_names_too_count_as_code(command, runs):
    assert (EffectKind.EXECUTE in guarded(command)) is runs


def test_names_of_a_folder_come_from_the_project_only(tmp_path):
    from lockgate.gate.host.project_files import MOST_NAMES, names_in

    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    (project / "out").symlink_to(tmp_path)
    assert sorted(names_in(str(project), str(project)) or ()) == ["a", "out", "sub"]
    assert names_in(str(project / "sub"), str(project)) == ()
    assert names_in(str(project / "a"), str(project)) == ()
    assert names_in(str(project / "missing"), str(project)) == ()
    assert names_in(str(project / "out"), str(project)) is None
    assert names_in(str(tmp_path), str(project)) is None
    assert names_in(str(project), "") is None
    for number in range(MOST_NAMES + 1):
        (project / "sub" / str(number)).touch()
    assert names_in(str(project / "sub"), str(project)) is None


def test_a_search_looks_at_the_whole_project_or_tells_nothing(tmp_path, monkeypatch):
    from lockgate.gate.host import project_files as scripts

    project = tmp_path / "project"
    (project / "a" / ".codex").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for place in ("Config.toml", "a/config.toml", "a/.codex/config.toml", "a/b.toml"):
        (project / place).touch()
    (project / "inside").symlink_to(project / "a")

    def found(folder: object = project, workspace: str = str(project)) -> list[str] | None:
        paths = scripts.find_below(str(folder), "config.toml", workspace)
        return None if paths is None else sorted(path[len(str(project)) + 1 :] for path in paths)

    assert found() == ["Config.toml", "a/.codex/config.toml", "a/config.toml"]
    assert found(project / "a") == ["a/.codex/config.toml", "a/config.toml"]
    assert found(tmp_path) is None
    assert found(project / "missing") is None
    assert found(workspace="") is None
    (project / "out").symlink_to(tmp_path / "other")
    assert found() is None
    monkeypatch.setattr(scripts, "MOST_ENTRIES", 2)
    assert found(project / "a") is None


MAYBE = "shell:unlisted-target"


def rules_of(command: str, workspace: str = PROJECT, cwd: str = PROJECT) -> dict[str, EffectKind]:
    around = HostView(home="/home/u", workspace=workspace, names_in=look(ORDINARY))
    return {effect.rule: effect.kind for effect in analyse_shell(command, cwd, around).effects}


@pytest.mark.parametrize(
    "command", ["cp -r x d*", 'for f in s*; do rm -rf "$f"; done', "touch y; sed -i s/a/b/ d*", "tee s* < a"]
)
def test_what_may_stand_for_a_trusted_file_as_for_any_other_is_left_to_a_sandbox(command: str) -> None:
    found = rules_of(command)
    assert found[MAYBE] is EffectKind.EXECUTE
    assert EffectKind.PERSIST not in found.values()


@pytest.mark.parametrize(
    "command", ["cp x .github/workflows/*", "cp x .git/hooks/p*", "cp x ~/.b*", "cp x /etc/c*", "cp x ../s*"]
)
def test_what_names_trusted_files_whatever_its_stars_stand_for_is_meant(command: str) -> None:
    assert EffectKind.PERSIST in rules_of(command).values()


def test_in_a_home_folder_that_is_the_project_it_is_meant() -> None:
    assert EffectKind.PERSIST in rules_of("cp x .b*", "/home/u", "/home/u").values()
