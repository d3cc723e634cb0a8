"""What reading and writing a path means, however it is spelt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.analysis.prompts.prompt import instructions_effects
from lockgate.core.model import EffectKind, Variant
from lockgate.gate.host.host_view import host_view_of
from lockgate.resources.host_view import AnalysisRules, HostView
from lockgate.resources.paths import (
    absolute,
    is_outside_workspace,
    read_effects,
    recursive_read_effects,
    recursive_write_effects,
    replace_effects,
    write_effects,
)
from lockgate.system.folders import Folders

WORK = "/home/user/work"


def reads(path: str, around: HostView, cwd: str = WORK) -> set[str]:
    return {effect.rule for effect in read_effects(path, cwd, around)}


def writes(path: str, around: HostView, cwd: str = WORK) -> set[str]:
    return {effect.rule for effect in write_effects(path, cwd, around)}


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".env", "secret/dotenv"),
        ("./.env", "secret/dotenv"),
        ("sub/../.env", "secret/dotenv"),
        ("/home/user/work//.env", "secret/dotenv"),
        ("/home/user/work/.env/", "secret/dotenv"),
        (".ENV", "secret/dotenv"),
        (".e\u200bnv", "secret/dotenv"),
        ("~/.ssh/id_rsa", "secret/ssh"),
        ("~user/.ssh/id_rsa", "secret/ssh"),
        ("~root/.ssh/id_rsa", "secret/ssh"),
        ("~other/.ssh/id_rsa", "secret/ssh"),
        ("/Users/ann/.ssh/work", "secret/ssh"),
        ("../.ssh/id_rsa", "secret/ssh"),
        ("../../user/.aws/credentials", "secret/cloud"),
        ("//etc/shadow", "secret/system"),
        ("/../etc/shadow", "secret/system"),
        ("/private/etc/master.passwd", "secret/system"),
        ("/System/Volumes/Data/Users/a/.aws/credentials", "secret/cloud"),
        ("/proc/self/root/etc/shadow", "secret/system"),
        ("/proc/1/root/home/user/.ssh/id_rsa", "secret/ssh"),
        ("/proc/self/cwd/.env", "secret/dotenv"),
        ("/proc/thread-self/root/etc/shadow", "secret/system"),
        ("/proc/self/task/1/root/etc/shadow", "secret/system"),
        (".en?", "secret/dotenv"),
        (".e*", "secret/dotenv"),
        (".[e]nv", "secret/dotenv"),
        (".[a-z]nv", "secret/dotenv"),
        ("**/.env", "secret/dotenv"),
        ("config/.env*", "secret/dotenv"),
        ("~/.s?h/id_*", "secret/ssh"),
        ("~/.ssh/*", "secret/ssh"),
        ("~/.s*/*", "secret/ssh"),
        ("/home/*/.ssh/work", "secret/ssh"),
        ("/h*/u*/.ssh/work", "secret/ssh"),
        ("/*/*/.aws/credentials", "secret/cloud"),
        ("/etc/shad[o]w", "secret/system"),
        ("/e?c/shadow", "secret/system"),
        ("*.pem", "secret/private-key"),
        ("certs/*.k*y", "secret/private-key"),
        ("cred*.json", "secret/named-so"),
        ("a\0/../.env", "secret/dotenv"),
    ],
)
def test_secret_in_any_spelling(path, rule, around):
    assert f"place:{rule}" in reads(path, around)


@pytest.mark.parametrize(
    "path",
    [
        "*",
        "*.json",
        "*.md",
        "src/*",
        "src/**/*.py",
        "**/*.ts",
        "?",
        "[a-z]*.py",
        "~/*",
        "/tmp/*",
        "tests/*.y*ml",
        "app/[slug]/*.tsx",
        "docs/*",
        "*/README.md",
        "packages/*/README.md",
        "docs/**/*.md",
    ],
)
def test_everyday_glob_reads_nothing(path, around):
    assert reads(path, around) == set()


@pytest.mark.parametrize(
    "path",
    [
        "node_modules/*/README.md",
        "node_modul*/x/README.md",
        "*/node_modules/*/*.md",
        "vendor/**/*.md",
        "**/vendor/x/*.md",
    ],
)
def test_a_glob_that_names_the_folder_of_packages_reads_their_text(path, around):
    assert "place:vendored/package-text" in reads(path, around)


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".claude/settings.json", "tamper/claude-settings"),
        (".claude/settings.JSON", "tamper/claude-settings"),
        (".claude/SETTINGS.local.json", "tamper/claude-settings"),
        (".claude/x/../settings.json", "tamper/claude-settings"),
        (".clau*/settings.json", "tamper/claude-settings"),
        (".claude/set*", "tamper/claude-settings"),
        ("~/.claude/*.json", "tamper/claude-settings"),
        ("/proc/self/cwd/.claude/settings.json", "tamper/claude-settings"),
        ("/proc/1234/cwd/.claude/settings.json", "tamper/claude-settings"),
        ("~/.claude/\u017fettings.json", "tamper/claude-settings"),
        ("sub/project/.claude/settings.json", "tamper/claude-settings"),
        ("~/.bashr?", "persist/shell-start"),
        (".git/hooks/*", "persist/git"),
        ("/etc/cron.d/job", "persist/scheduled"),
        ("~/tools/git", "persist/programs"),
        ("/dev/sd?", "destroy/device"),
    ],
)
def test_written_place_in_any_spelling(path, rule, around):
    assert f"place:{rule}" in writes(path, around)


@pytest.mark.parametrize(
    ("name", "told", "found"),
    [
        pytest.param("git", True, True, id="a program that is known"),
        pytest.param("my-own-tool", True, False, id="a name of the project's own"),
        pytest.param("my-own-tool", False, True, id="any name where nobody says what is known"),
    ],
)
def test_programs_in_a_folder_of_path_that_is_the_projects(name, told, found, around):
    if not told:
        around = around._replace(is_known_program=HostView().is_known_program)
    assert ("place:persist/programs" in writes(f".venv/bin/{name}", around)) == found


def test_the_machine_around_knows_the_programs_of_the_tables(tmp_path):
    where = Folders(str(tmp_path), f"{tmp_path}/state", f"{tmp_path}/config")
    known = host_view_of(where, str(tmp_path), "", AnalysisRules()).is_known_program
    assert known("git")
    assert not known("my-own-tool")


def test_gates_own_files_are_never_written_and_its_state_never_read(around):
    for path in (
        "~/.local/state/lockgate/state.db",
        "/opt/lockgate/lib/gate.py",
        "~/.local/state/lock*/x",
        "~/.local/state/lockgate",
    ):
        assert {(e.kind, e.variant) for e in write_effects(path, WORK, around)} >= {(EffectKind.TAMPER, Variant.SELF)}
    for path in ("~/.local/state/lockgate/key", "~/.local/state/lockgate/*", "~/.local/state/lock????/state.db"):
        assert {(e.kind, e.variant) for e in read_effects(path, WORK, around)} >= {(EffectKind.TAMPER, Variant.SELF)}
    assert read_effects("/opt/lockgate/lib/gate.py", WORK, around) == ()
    installed = around._replace(own_paths=("/home/user/work/.venv", "/x/lib/python3.12/site-packages/lockgate"))
    for path in (".venv/pyvenv.cfg", "/x/lib/python3.12/site-packages/lockgate/py.typed"):
        assert read_effects(path, WORK, installed) == ()
        assert EffectKind.TAMPER in {e.kind for e in write_effects(path, WORK, installed)}


def test_a_link_is_what_it_leads_to_and_what_it_is_called(around):
    links = {"/home/user/work/notes.txt": "/home/user/.ssh/id_rsa", "/home/user/work/.env": "/home/user/work/plain"}
    linked = around._replace(realpath=lambda path: links.get(path, path))
    assert "place:secret/ssh" in reads("notes.txt", linked)
    assert "place:secret/dotenv" in reads(".env", linked)
    assert "place:persist/remote-login" in writes("notes.txt", linked)


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/proc/77/cwd/config", "secret/cluster"),
        ("/proc/77/task/77/cwd/config", "secret/cluster"),
        ("/dev/fd/5/config", "secret/cluster"),
    ],
)
def test_another_processs_folder_is_looked_up_as_it_is_now(path, rule, around):
    linked = around._replace(realpath=lambda path: "/home/user/.kube/config" if path.endswith("/config") else path)
    assert f"place:{rule}" in reads(path, linked)
    assert f"place:{rule}" not in reads(path, around)


def test_this_processs_folder_is_the_calls_and_not_the_gates(around):
    elsewhere = around._replace(realpath=lambda path: path.replace("/proc/self/cwd", "/home/user/.ssh"))
    assert not reads("/proc/self/cwd/notes", elsewhere)


def test_a_failing_realpath_leaves_the_spelling(around):
    def broken(path: str) -> str:
        raise OSError("too many links")

    assert "place:secret/dotenv" in reads(".env", around._replace(realpath=broken))


def test_an_unknown_folder_may_be_the_home_folder(around):
    assert "place:secret/ssh" in reads(".ssh/id_rsa", around, cwd="")
    assert "place:persist/shell-start" in writes("../.bashrc", around, cwd="")
    assert reads("src/main.py", around, cwd="") == set()
    assert EffectKind.READ_SECRET in {e.kind for e in recursive_read_effects(".", "", around)}


@pytest.mark.parametrize(
    "root",
    ["~", "/", "/home", "/home/user", "~/.ssh", "~/.aws", "~/.config", "..", "../..", "/etc", "~/.docker", "~/.*"],
)
def test_searching_a_home_folder_reads_secrets(root, around):
    assert EffectKind.READ_SECRET in {e.kind for e in recursive_read_effects(root, WORK, around)}


@pytest.mark.parametrize(
    "root",
    [".", "src", "/home/user/work", "~/projects", "node_modules", "/usr/share/doc", "docs/", "~/Documents", "/opt"],
)
def test_searching_a_project_reads_no_secret(root, around):
    assert recursive_read_effects(root, WORK, around) == ()


@pytest.mark.parametrize(
    ("root", "kind"),
    [
        ("~", "tamper"),
        ("/", "tamper"),
        (".claude", "tamper"),
        ("~/.claude", "tamper"),
        ("~/.local/state", "tamper"),
        (".git", "persist"),
        (".github", "persist"),
    ],
)
def test_replacing_a_folder_replaces_what_is_in_it(root, kind, around):
    assert kind in {e.kind.value for e in recursive_write_effects(root, WORK, around)}


@pytest.mark.parametrize("root", ["src", "build", "/tmp/x", "node_modules", "~/projects/old", ".venv", "dist", "docs"])
def test_replacing_an_everyday_folder_is_nothing(root, around):
    assert recursive_write_effects(root, WORK, around) == ()


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        (".claude", {"tamper", "persist"}),
        ("~/.claude", {"tamper", "persist"}),
        ("sub/.codex", {"tamper", "persist"}),
        (".github", {"tamper", "persist"}),
        (".git", {"persist"}),
        (".git/hooks", {"persist"}),
        (".vscode", {"tamper", "persist"}),
        ("~", set()),
        (".", set()),
        ("src", set()),
        ("/tmp", set()),
        ("~/projects", set()),
        ("docs", set()),
    ],
)
def test_putting_a_folder_in_the_place_of_another(path, kinds, around):
    assert {effect.kind.value for effect in replace_effects(path, WORK, around)} == kinds


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        (".clau*", {"tamper", "persist"}),
        ("sub/.clau*", {"tamper", "persist"}),
        (".?laude", {"tamper", "persist"}),
        (".[c]l*[e]", {"tamper", "persist"}),
        (".CLAU*", {"tamper", "persist"}),
        (".curs*", {"tamper", "persist"}),
        (".g*t/hooks", {"persist"}),
        (".hus*", {"persist"}),
        (".????", {"tamper", "persist"}),
        (".clauses*", set()),
        (".pytest_c*", set()),
        (".next*", set()),
        (".vscode-t*", set()),
        (".DS_S*", set()),
        ("site-pack*", {"persist"}),
        ("lib/python3*/site-p*", {"persist"}),
        ("dist-*", set()),
        ("site-*", set()),
        ("venv*", set()),
        ("node_mod*", set()),
        ("*", set()),
    ],
)
def test_stars_stand_for_a_guarded_folder_where_they_spell_some_of_its_name(path, kinds, around):
    for effects in (replace_effects, recursive_write_effects):
        assert {effect.kind.value for effect in effects(path, WORK, around)} == kinds


def test_a_star_in_the_name_of_a_folder_reads_the_secrets_in_it(around):
    assert [effect.kind.value for effect in recursive_read_effects(".dock*", WORK, around)] == ["read_secret"]
    assert recursive_read_effects(".dockerf*", WORK, around) == ()


def test_a_project_below_opt_is_a_project(around):
    inside = around._replace(workspace="/opt/app")
    assert write_effects("/opt/app/main.py", "/opt/app", inside) == ()
    assert writes("/opt/other/main.py", inside) == {"place:persist/programs"}
    assert writes("/opt/app/.git/hooks/x", inside) == {"place:persist/git"}
    assert writes("/usr/local/bin/x", around._replace(workspace="/usr/local")) == {"place:persist/programs"}


def test_configured_paths(around):
    rules = AnalysisRules(
        protected_paths=("infra/", "~/vault/*.txt"), secret_paths=("customers",), persistent_paths=("/srv/jobs",)
    )
    own = around._replace(rules=rules)
    assert writes("infra/main.tf", own) == {"place:configured/protected"}
    assert writes("infra", own) == {"place:configured/protected"}
    assert writes("~/vault/a.txt", own) == {"place:configured/protected"}
    assert writes("/srv/jobs/a.sh", own) == {"place:configured/persistent"}
    assert reads("data/customers/a.csv", own) == {"place:configured/secret"}
    assert reads("data/customers.py", own) == set()


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("a/../b", WORK, "/home/user/work/b"),
        ("~", WORK, "/home/user"),
        ("~/x//y/", WORK, "/home/user/x/y"),
        ("~root/x", WORK, "/root/x"),
        ("~ann/x", WORK, "/home/ann/x"),
        ("/a/./b", "", "/a/b"),
        ("a", "", None),
        ("a", "relative", None),
        ("//a", WORK, "/a"),
    ],
)
def test_absolute(path, cwd, expected, around):
    assert absolute(path, cwd, around) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", False),
        ("../work/a", False),
        ("..", True),
        ("/tmp/x", True),
        ("/home/user/work2/a", True),
        (".", False),
        ("link/x", True),
    ],
)
def test_outside_workspace(path, expected, around):
    linked = around._replace(realpath=lambda p: p.replace("/work/link", "/elsewhere"))
    assert is_outside_workspace(path, WORK, linked) is expected


def test_outside_workspace_where_nothing_is_known(around):
    assert is_outside_workspace("a", "", around)
    assert is_outside_workspace("/a", WORK, around._replace(workspace=""))


def test_a_client_may_keep_its_files_elsewhere(around):
    moved = around._replace(client_paths=("/data/agent/projects/-home-user-work",))
    assert "place:tamper/claude-settings" in writes("/data/agent/settings.json", moved)
    assert "place:secret/agent" in reads("/data/agent/.credentials.json", moved)
    assert "place:persist/agent-parts" in writes("/data/agent/skills/a/SKILL.md", moved)
    assert "place:tamper/claude-code" in writes("/data/agent/hooks/x", moved)
    assert writes("/data/other/settings.json", moved) == set()


def test_the_home_folder_has_two_names(around):
    linked = around._replace(realpath=lambda path: path.replace("/home/user", "/data/u1", 1))
    assert "place:secret/ssh" in reads("/data/u1/.ssh/work", linked)
    assert "place:persist/shell-start" in writes("/data/u1/.bashrc", linked)


names = st.text(st.sampled_from("ab.*?[]~/-_ \0é🔑\u200b\\{}!^"), max_size=40)


@given(names, names)
def test_never_raises_and_the_longer_spelling_means_the_same(path, cwd):
    around = HostView(home="/home/user", workspace=WORK)
    for effects in (read_effects, write_effects, recursive_read_effects, recursive_write_effects, instructions_effects):
        effects(path, cwd, around)
    is_outside_workspace(path, cwd, around)
    if path and not path.startswith(("~", "/")) and "\0" not in path:
        plain = {e.rule for e in read_effects(path, WORK, around)}
        assert {e.rule for e in read_effects(f"{WORK}/./{path}", WORK, around)} == plain


@pytest.mark.parametrize(
    "path", ["/".join(["**", "a*b"] * 400), "*a" * 2000, "[" * 3000, "a/" * 2000, "?" * 4000, "[a-z]" * 700]
)
def test_hostile_patterns_are_answered(path, around):
    """Each of these would be slow where matching is not bounded by a product of lengths."""
    read_effects(path, WORK, around)
    recursive_write_effects(path, WORK, around)


@pytest.mark.parametrize(
    ("path", "rules"),
    [
        ("/home/user/work/tools/hooks/pre-commit", ["place:persist/git-hooks"]),
        ("/home/user/work/tools/hooks", ["place:persist/git-hooks"]),
        ("/home/user/work/tools/x", []),
    ],
)
def test_a_folder_of_hooks_that_settings_name(path: str, rules: list[str]) -> None:
    folders = ("/home/user/work/tools/hooks",)
    around = HostView(home="/home/user", workspace="/home/user/work", hook_folders=lambda: folders)
    assert [effect.rule for effect in write_effects(path, "/home/user/work", around)] == rules


@pytest.mark.parametrize(
    "path",
    [
        "./" * 3000 + "{}",
        "/home/user/work/" + "/" * 5000 + "{}",
        "y/../" * 1500 + "{}",
        "y/../" * 15000 + "{}",
        "~/work/" + "x/./../" * 1000 + "{}",
    ],
    ids=["dots", "slashes", "up and down", "longer", "from home"],
)
def test_a_path_that_is_too_long_for_the_system_is_read_as_a_program_shortens_it(path, around):
    """Node opens what is left of it: Claude Code 2.1.197 wrote such files, and so do servers of MCP."""
    kinds = {effect.kind for effect in write_effects(path.format("CLAUDE.md"), "/home/user/work", around)}
    assert EffectKind.PERSIST in kinds
    assert read_effects(path.format(".env"), "/home/user/work", around)
    assert not write_effects(path.format("src/a.py"), "/home/user/work", around)
