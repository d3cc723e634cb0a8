"""The doctor finds what is wrong, names it, and is content with what is right."""

from __future__ import annotations

import contextlib
import grp
import json
import os
import pwd
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from psycopg_pool import ConnectionPool

from lockgate.cli.doctor import clients as doctor_clients
from lockgate.cli.doctor import own, rights
from lockgate.cli.main import cli
from lockgate.clients.hook import native as native_client
from lockgate.clients.install import claude_settings_view as claude_look
from lockgate.clients.wire.keys import ContainerKey, key_file
from lockgate.configuration.pattern_library import opening
from lockgate.core.errors import StoreError
from lockgate.store.administration import use_shared
from lockgate.store.opening import open_existing, open_store
from lockgate.store.postgres.connections import Pool
from support.postgres import use
from support.unguarded import unguarded

pytestmark = pytest.mark.sampled


class Machine:
    """A home folder with the gate installed, and a project."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home / "project"
        self.project.mkdir()
        (home / "bin").mkdir()
        self.client("2.1.329 (Claude Code)")
        self.run("install", "claude-code")

    def run(self, *arguments: str) -> Any:
        return CliRunner().invoke(cli, list(arguments))

    def client(self, version: str) -> None:
        program = self.home / "bin" / "claude"
        program.write_text(f"#!/bin/sh\necho '{version}'\n")
        program.chmod(0o755)

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    def change(self, file: Path, **values: Any) -> None:
        before = json.loads(file.read_text()) if file.exists() else {}
        self.write(file, json.dumps({**before, **values}))

    def write(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def found(self) -> tuple[int, dict[str, tuple[str, str]]]:
        """The exit status, and of each check its state and what it says."""
        result = self.run("doctor", "--json", "--project", str(self.project))
        told = json.loads(result.output)
        assert told["ok"] is (result.exit_code == 0)
        for check in told["checks"]:
            assert check["mend"] or check["state"] == "ok" or check["name"].startswith("hooks"), check
        return result.exit_code, {check["name"]: (check["state"], check["says"]) for check in told["checks"]}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.delenv("CLAUDECODE", raising=False)
    monkeypatch.setattr(claude_look, "find_managed_files", lambda: [str(tmp_path / "managed.json")])
    return Machine(tmp_path)


def test_a_guarded_machine(machine: Machine) -> None:
    code, found = machine.found()
    assert code == 0
    said = {name: state for name, (state, _) in found.items() if state != "ok"}
    assert said == {"plugin": "warn", "resident gate": "warn"}, "the gate is switched off for tests"
    assert found["self-test"][1].startswith("a call that tampers with the gate was refused")


@pytest.mark.parametrize(("problem", "says"), [("", "native"), ("it was not built", "Python; the native one: it was")])
def test_it_names_the_hook_client(machine: Machine, monkeypatch: pytest.MonkeyPatch, problem: str, says: str) -> None:
    monkeypatch.setattr(native_client, "problem", lambda _: problem)
    state, told = machine.found()[1]["hook client"]
    assert state == "ok"
    assert told.startswith(says)


def test_its_own_call_is_no_session_of_an_agent(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(machine.project)
    machine.found()
    assert machine.run("sessions").output == "nothing recorded yet\n"
    assert machine.run("status").output.startswith("nothing recorded yet for this folder")
    store = open_store(str(machine.home / ".local" / "state" / "lockgate"))
    with contextlib.closing(store), store.reading() as tx:
        told = [json.loads(row.body) for row in tx.audit()]
        assert [(body["event"], body["verdict"], body["trial"]) for body in told] == [("decision", "deny", True)] * 2, (
            "the installation tries its hook, and so does the doctor"
        )
        assert tx.settings("trial:") == {}, "the name serves once"


@pytest.mark.parametrize("is_moved", [True, False], ids=["the state was moved", "a terminal without the variable"])
@pytest.mark.parametrize("name", ["srv", 'ann\'s "é"'])
def test_hooks_that_use_another_state_are_not_tried(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str, is_moved: bool
) -> None:
    """Their trial would be an agent's session there, or would begin a state. All clients are told of."""
    clients = ("claude-code", "codex", "opencode", "cursor")
    usual, moved = machine.home / ".local" / "state" / "lockgate", machine.home / name / "lockgate"
    moved.parent.mkdir()
    if is_moved:
        usual.rename(moved)
        monkeypatch.setenv("XDG_STATE_HOME", str(moved.parent))
        for client in clients[1:]:
            monkeypatch.delenv("XDG_STATE_HOME")
            machine.run("install", client)
            monkeypatch.setenv("XDG_STATE_HOME", str(moved.parent))
        shutil.rmtree(usual)
    else:
        monkeypatch.setenv("XDG_STATE_HOME", str(moved.parent))
        shutil.rmtree(usual)
        for client in clients:
            assert machine.run("install", client).exit_code == 0
        monkeypatch.delenv("XDG_STATE_HOME")
    here = {"there": str(usual if is_moved else moved), "here": str(moved if is_moved else usual)}
    code, found = machine.found()
    assert code == 1
    for client in clients:
        state, says = found[f"state of the hooks ({client})"]
        assert state == "fail"
        assert here["there"] in says
        assert here["here"] in says
    assert [check for check in found if check.startswith("self-test")] == []
    assert not usual.exists(), "none is begun"
    store = open_store(str(moved))
    with contextlib.closing(store), store.reading() as tx:
        assert list(tx.sessions()) == []
        assert tx.settings("trial:") == {}


def test_a_folder_that_a_clone_brings_is_no_state(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project's settings name it. Nobody is told to use it."""
    planted = machine.project / "lockgate"
    planted.mkdir()
    (planted / "key").write_bytes(b"k" * 32)
    (planted / "key").chmod(0o644)
    usual = str(machine.home / ".local" / "state" / "lockgate")
    machine.write(
        machine.project / ".claude" / "settings.json", machine.settings.read_text().replace(usual, str(planted))
    )
    assert "state of the hooks (claude-code)" not in machine.found()[1]
    monkeypatch.chdir(machine.project)
    done = machine.run("install", "claude-code", "--scope", "project")
    assert "XDG_STATE_HOME" not in done.output


def test_a_doctor_that_is_interrupted_takes_its_announcement_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor_clients, "_try_hook", interrupted)
    machine.run("doctor", "--project", str(machine.project))
    store = open_store(str(machine.home / ".local" / "state" / "lockgate"))
    with contextlib.closing(store), store.reading() as tx:
        assert tx.settings("trial:") == {}


@pytest.mark.slow
def test_a_shared_store_that_cannot_be_reached(machine: Machine) -> None:
    """Nothing here is damaged, and moving the state away would lose labels."""
    use_shared(
        str(machine.home / ".local" / "state" / "lockgate"), f"postgresql://a@/lockgate?host={machine.home}/gone", ""
    )
    result = machine.run("doctor", "--project", str(machine.project), "--json")
    mends = {check["name"]: check["mend"] for check in json.loads(result.output)["checks"] if check["state"] == "fail"}
    assert result.exit_code == 1
    assert mends["configuration"] == mends["state"]
    assert "lockgate store status" in mends["state"]


def test_for_a_person(machine: Machine) -> None:
    result = machine.run("doctor", "--project", str(machine.project))
    assert result.exit_code == 0
    assert "ok    self-test: " in result.output
    assert "warn  plugin: " in result.output


def _drop_event(machine: Machine) -> None:
    settings = json.loads(machine.settings.read_text())
    del settings["hooks"]["PostToolUse"]
    machine.write(machine.settings, json.dumps(settings))


def _edit(old: str, new: str) -> Callable[[Machine], None]:
    def edit(machine: Machine) -> None:
        text = machine.settings.read_text()
        assert old in text
        machine.write(machine.settings, text.replace(old, new))

    return edit


def _weaken(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> Callable[[Machine], None]:
    def weaken(machine: Machine) -> None:
        settings = json.loads(machine.settings.read_text())
        group = settings["hooks"]["PreToolUse"][0]
        change(group, group["hooks"][0])
        machine.write(machine.settings, json.dumps(settings))

    return weaken


def _project(**values: Any) -> Callable[[Machine], None]:
    return lambda machine: machine.change(machine.project / ".claude" / "settings.json", **values)


def _user(**values: Any) -> Callable[[Machine], None]:
    return lambda machine: machine.change(machine.settings, **values)


def _managed(**values: Any) -> Callable[[Machine], None]:
    return lambda machine: machine.change(machine.home / "managed.json", **values)


def _file(path: str, text: str) -> Callable[[Machine], None]:
    return lambda machine: machine.write(machine.home / path, text)


def _mode(path: str, mode: int) -> Callable[[Machine], None]:
    def change(machine: Machine) -> None:
        if not (machine.home / path).exists():
            machine.write(machine.home / path, "x" * 32)
        (machine.home / path).chmod(mode)

    return change


_OTHER = [{"hooks": [{"type": "command", "command": "yes"}]}]
WRONG = [
    pytest.param(
        lambda m: m.run("uninstall", "claude-code"), "hooks", "fail", "nothing is guarded", id="not installed"
    ),
    pytest.param(_drop_event, "hooks", "fail", "not registered for PostToolUse", id="an event is missing"),
    pytest.param(_drop_event, "hooks (user)", "warn", "PostToolUse", id="an event is missing in the scope"),
    pytest.param(_edit('"timeout": 20', '"timeout": 19'), "hooks (user)", "warn", "not as this version", id="edited"),
    *(
        pytest.param(_weaken(change), "hooks (user)", "fail", "do not hold every call (PreToolUse)", id=name)
        for name, change in {
            "for one tool": lambda group, entry: group.update(matcher="Read"),
            "not waited for": lambda group, entry: entry.update({"async": True}),
            "on a condition": lambda group, entry: entry.update({"if": "Bash(ls:*)"}),
            "a failure lets run": lambda group, entry: entry.pop("onFailure"),
            "no time": lambda group, entry: entry.update(timeout=1),
            "the end says yes": lambda group, entry: entry.update(command=entry["command"] + " || true"),
            "another exit": lambda group, entry: entry.update(command=entry["command"].replace("exit 2", "exit 0")),
        }.items()
    ),
    pytest.param(
        _edit("/lockgate/hook.py", "/gone/lockgate/hook.py"), "hooks (user)", "fail", "does not exist", id="moved"
    ),
    pytest.param(
        _edit("/lockgate/hook.py", "/gone/lockgate/hook.py"), "self-test", "fail", "blocks everything", id="blocked"
    ),
    pytest.param(_edit(sys.executable, "/usr/bin/true"), "self-test", "fail", "let a call through", id="disarmed"),
    pytest.param(_user(disableAllHooks=True), "switches", "fail", "disableAllHooks", id="off for the user"),
    pytest.param(_project(disableAllHooks=True), "switches", "fail", "disableAllHooks", id="off for the project"),
    pytest.param(_managed(allowManagedHooksOnly=True), "switches", "fail", "only managed", id="managed hooks only"),
    pytest.param(_managed(strictPluginOnlyCustomization=True), "switches", "fail", "plugins", id="plugins only"),
    pytest.param(
        _managed(strictPluginOnlyCustomization=["hooks"]), "switches", "fail", "plugins", id="plugin hooks only"
    ),
    pytest.param(
        _project(hooks={"PermissionRequest": _OTHER}), "other PermissionRequest hooks", "warn", "answer", id="answers"
    ),
    pytest.param(
        _project(hooks={"PreToolUse": _OTHER}), "other PreToolUse hooks", "warn", "change a call", id="rewrites"
    ),
    pytest.param(
        _user(permissions={"allow": ["Bash(lockgate approve:*)"]}),
        "permissions",
        "fail",
        "lockgate approve",
        id="allowed",
    ),
    pytest.param(lambda m: m.client("2.1.100"), "client", "fail", "older", id="old client"),
    pytest.param(lambda m: m.client("2.1.197"), "client", "warn", "onFailure", id="client without onFailure"),
    pytest.param(lambda m: m.client("nonsense"), "client", "warn", "not known", id="no version"),
    pytest.param(_project(env={"LD_PRELOAD": "x.so"}), "variables", "fail", "LD_PRELOAD", id="preload"),
    pytest.param(_project(env={"PYTHONHOME": "/x"}), "variables", "fail", "PYTHONHOME", id="python"),
    *(
        pytest.param(_project(env={name: "x"}), "variables", "fail", name, id=name)
        for name in ("SHELLOPTS", "PS4", "OPENSSL_CONF", "GCONV_PATH", "CLAUDE_CONFIG_DIR", "LOCKGATE_RESIDENT")
    ),
    pytest.param(
        _project(env={"ANTHROPIC_BASE_URL": "http://x"}), "variables", "fail", "ANTHROPIC_BASE_URL", id="model"
    ),
    pytest.param(_user(env={"PATH": "/x"}), "variables", "warn", "PATH", id="the user's path"),
    pytest.param(
        _file("project/.claude/agents/a/b.md", "---\nname: Delegate\n---\n"),
        "agents",
        "warn",
        "b.md",
        id="a false delegate",
    ),
    pytest.param(_file(".claude/dev-mods/x.ts", "on()"), "mods", "fail", "dev-mods", id="mods"),
    pytest.param(
        _file("project/.claude/settings.local.json", "{"), "settings", "fail", "cannot be read", id="bad JSON"
    ),
    pytest.param(_mode(".local/state/lockgate", 0o755), "state folder", "fail", "others can", id="open state"),
    pytest.param(_mode(".local/state/lockgate/key", 0o644), "key", "fail", "others can", id="open key"),
    pytest.param(
        _file(".config/lockgate/lockgate.yaml", "nonsense: 1\n"), "configuration", "fail", "nonsense", id="config"
    ),
    pytest.param(_file(".local/state/lockgate/lockgate.db", "no"), "state", "fail", "", id="damaged state"),
    pytest.param(_user(enabledPlugins={"lockgate@a": True}), "plugin", "fail", "does not know", id="plugin alone"),
    pytest.param(_user(enabledPlugins={"lockgate@a": True, "lockgate@b": True}), "plugin", "fail", "several", id="two"),
]


@pytest.mark.parametrize(("harm", "name", "state", "says"), WRONG)
def test_what_is_wrong_is_found(
    machine: Machine, harm: Callable[[Machine], Any], name: str, state: str, says: str
) -> None:
    harm(machine)
    code, found = machine.found()
    assert found[name][0] == state
    assert says in found[name][1]
    assert code == 1 or state == "warn"


@pytest.mark.parametrize(
    ("group", "members", "mode", "others", "state"),
    [
        pytest.param("ann", [], 0o775, [], "ok", id="a group of one's own"),
        pytest.param("ann", ["ann"], 0o775, [], "ok", id="named as its member"),
        pytest.param("ann", ["ann", "bob"], 0o775, [], "fail", id="somebody else is in it"),
        pytest.param("ann", [], 0o775, [0], "fail", id="somebody else's primary group"),
        pytest.param("ann", [], 0o775, [1], "ok", id="somebody else has another"),
        pytest.param("staff", [], 0o775, [], "fail", id="a group of many"),
        pytest.param("ann", [], 0o777, [], "fail", id="everybody"),
    ],
)
def test_who_may_write_by_their_group(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    group: str,
    members: list[str],
    mode: int,
    others: list[int],
    state: str,
) -> None:
    _mode(".config/lockgate/lockgate.yaml", 0o600)(machine)
    folder = machine.home / ".config/lockgate"
    (folder / "lockgate.yaml").write_text("")
    folder.chmod(mode)
    own = folder.stat().st_gid
    ann = ("ann", "x", os.geteuid(), own, "", str(machine.home), "/bin/sh")
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd(ann))
    bobs = [pwd.struct_passwd(("bob", "x", os.geteuid() + 1, own + away, "", "/", "/bin/sh")) for away in others]
    monkeypatch.setattr(pwd, "getpwall", lambda: [pwd.struct_passwd(ann), *bobs])
    monkeypatch.setattr(grp, "getgrgid", lambda number: grp.struct_group((group, "x", number, members)))
    monkeypatch.setattr(rights, "_is_own_group", rights._is_own_group.__wrapped__)
    assert machine.found()[1]["configuration folder"][0] == state


def test_a_broken_chain(machine: Machine) -> None:
    import sqlite3

    machine.found()
    database = machine.home / ".local/state/lockgate/lockgate.db"
    with sqlite3.connect(database) as connection, unguarded(connection):
        connection.execute("UPDATE audit SET body = replace(body, 'deny', 'allow')")
    connection.close()
    assert machine.found()[1]["audit"][0] == "fail"


def test_a_client_that_runs_no_hooks(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SIMPLE", "1")
    assert machine.found()[1]["client"][0] == "fail"


PLUGIN = Path(__file__).parents[2] / "plugin"


def _plug(machine: Machine) -> Path:
    import shutil

    copy = machine.home / ".claude" / "plugins" / "cache" / "market" / "lockgate" / "0.1.0"
    shutil.copytree(PLUGIN, copy)
    machine.run("uninstall", "claude-code")
    machine.change(machine.settings, enabledPlugins={"lockgate@market": True})
    machine.run("install", "claude-code", "--plugin")
    return copy


def test_the_plugin_alone_guards(machine: Machine) -> None:
    _plug(machine)
    code, found = machine.found()
    assert [name for name, (state, _) in found.items() if state != "ok"] == ["resident gate"]
    assert code == 0


def test_both_are_one_too_many(machine: Machine) -> None:
    _plug(machine)
    machine.run("install", "claude-code")
    assert machine.found()[1]["plugin"][0] == "warn"


@pytest.mark.parametrize("name", ["settings.json", ".mcp.json", "agents/other.md", "hooks/hooks.json"])
def test_a_plugin_that_was_changed(machine: Machine, name: str) -> None:
    (_plug(machine) / name).write_text("{}")
    state, says = machine.found()[1]["plugin"]
    assert state == "fail"
    assert os.path.basename(name) in says


# ---------------------------------------------------------------- patterns
def test_the_patterns_are_loaded(machine: Machine) -> None:
    machine.found()
    state, says = machine.found()[1]["patterns"]
    assert state == "ok"
    assert says.startswith("the engines load; rules: ")
    assert says.endswith("compiled, and fresh")


def test_a_broken_file_of_patterns_fails(machine: Machine) -> None:
    machine.write(machine.home / ".config" / "lockgate" / "patterns.yaml", "patterns: [")
    code, found = machine.found()
    assert (code, found["pattern files"][0]) == (1, "fail")
    assert "patterns.yaml" in found["pattern files"][1]


def _written_by_a_project(machine: Machine, scope: str, command: str) -> Path:
    file = machine.project / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")
    machine.write(file, json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}))
    return file


@pytest.mark.parametrize("scope", ["project", "local"])
@pytest.mark.parametrize("guarded", [True, False])
def test_a_command_that_a_project_has_written_is_not_run(machine: Machine, scope: str, guarded: bool) -> None:
    own = json.loads(machine.settings.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    if not guarded:
        machine.run("uninstall", "claude-code")
    made = machine.home / "made"
    for command in (f": > {made}; echo '/x/lockgate/hook.py' ", f": > {made}; {own}", own.replace("--event", "--evil")):
        file = _written_by_a_project(machine, scope, command)
        state, says = machine.found()[1]["self-test"]
        assert not made.exists()
        assert state == ("ok" if guarded else "fail")
        assert guarded or says.startswith(f"what {file} has for a hook is not")


@pytest.mark.parametrize("way", ["settings", "plugin"])
def test_nor_is_one_of_a_folder_that_a_variable_names(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    evil, made = machine.home / "evil", machine.home / "made"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(evil))
    command = f": > {made}; echo '/x/lockgate/hook.py' "
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}
    machine.write(
        evil / "settings.json",
        json.dumps({"hooks": hooks} if way == "settings" else {"enabledPlugins": {"lockgate@a": True}}),
    )
    machine.write(evil / "plugins/cache/a/lockgate/1/hooks/run.sh", f": > {made}")
    assert machine.found()[1]["self-test"][0] == "fail"
    assert not made.exists()


def test_a_gate_elsewhere_that_a_project_names_is_not_asked(machine: Machine) -> None:
    machine.run("uninstall", "claude-code")
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(machine.project):
        listening.bind("gate")
        listening.listen()
        listening.setblocking(False)
        key = Path("key")
        key.write_bytes(key_file(ContainerKey("mine", bytes(32))))
        key.chmod(0o400)
        asked = ("--remote", f"unix:{machine.project}/gate", "--key-file", f"{machine.project}/key")
        machine.run("install", "claude-code", "--scope", "project", *asked)
        file = machine.project / ".claude" / "settings.json"
        assert f"unix:{machine.project}/gate" in file.read_text()
        state, says = machine.found()[1]["self-test"]
        assert state == "fail"
        assert says.startswith(f"what {file} has for a hook is not")
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_clients_are_asked_their_version_outside_of_the_project(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A manager of versions would take from files of the project which program that is."""
    (machine.home / "bin" / "claude").write_text(f"#!/bin/sh\npwd > {machine.home}/where\necho 2.1.329\n")
    monkeypatch.chdir(machine.project)
    machine.found()
    assert (machine.home / "where").read_text() == "/\n"


def test_what_this_version_has_written_into_a_project_is_run(machine: Machine) -> None:
    machine.run("uninstall", "claude-code")
    with contextlib.chdir(machine.project):
        machine.run("install", "claude-code", "--scope", "project")
    assert not machine.settings.exists() or "hook.py" not in machine.settings.read_text()
    assert machine.found()[1]["self-test"][0] == "ok"


def test_what_a_project_would_loosen_is_a_warning(machine: Machine) -> None:
    lax = "schema_version: '1.0.0'\npatterns: {input: {secrets_detection: {mode: warn}}}\n"
    machine.write(machine.project / "lockgate.patterns.yaml", lax)
    code, found = machine.found()
    assert (code, found["pattern notes"][0]) == (0, "warn")
    assert "it can only tighten" in found["pattern notes"][1]


def test_a_damaged_index_of_known_secrets_is_told(machine: Machine) -> None:
    machine.found()
    for index in (machine.home / ".local" / "state" / "lockgate" / "known").glob("*.index"):
        index.write_bytes(b"x")
    assert "it was made anew" in machine.found()[1]["pattern notes"][1]


def test_what_cannot_open_the_state_points_to_the_state(machine: Machine) -> None:
    (machine.home / ".local" / "state" / "lockgate" / "lockgate.db").write_bytes(b"x" * 5000)
    told = json.loads(machine.run("doctor", "--json", "--project", str(machine.project)).output)
    mends = {check["name"]: check["mend"] for check in told["checks"]}
    assert mends["configuration"] == mends["patterns"] == "mend the state first; until then every call is blocked"
    assert "docs/upgrading.md" in mends["state"]


def test_a_missing_library_is_not_fetched_from_an_index(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has this name in an index is not Lockgate."""
    monkeypatch.setattr(own, "_LIBRARIES", ("no_such_library",))
    told = json.loads(machine.run("doctor", "--json", "--project", str(machine.project)).output)
    mend = next(check["mend"] for check in told["checks"] if check["name"] == "libraries")
    assert mend.endswith("in a clone of Lockgate, pip install --force-reinstall .")


def test_without_its_engine_it_fails(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ImportError(name="hyperscan")

    monkeypatch.setattr(opening, "extension", missing)
    code, found = machine.found()
    assert (code, found["patterns"]) == (1, ("fail", "the library hyperscan is not installed; run: lockgate doctor"))


def test_hooks_of_a_container_are_not_taken_for_old_ones(machine: Machine) -> None:
    machine.run("install", "claude-code", "--remote", "ipc:/workspace/ipc", "--key-file", "/run/lockgate/key")
    told = json.loads(machine.run("doctor", "--json", "--project", str(machine.project)).output)
    (hooks,) = [check for check in told["checks"] if check["name"] == "hooks (user)"]
    assert hooks["state"] == "ok", hooks
    machine.settings.write_text(machine.settings.read_text().replace("--event PreToolUse", "--event  PreToolUse"))
    told = json.loads(machine.run("doctor", "--json", "--project", str(machine.project)).output)
    (hooks,) = [check for check in told["checks"] if check["name"] == "hooks (user)"]
    assert hooks["state"] == "warn"
    # Without these words a new installation would ask the container's own gate, which knows nothing.
    assert "--remote ipc:/workspace/ipc --key-file /run/lockgate/key" in hooks["mend"]


@contextlib.contextmanager
def _silent_database() -> Iterator[tuple[str, list[socket.socket]]]:
    """The address of a database that takes connections and never answers, and the connections that it took."""
    taken: list[socket.socket] = []

    def take() -> None:
        with contextlib.suppress(OSError):  # the test is over
            while True:
                taken.append(listener.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield f"postgresql://127.0.0.1:{listener.getsockname()[1]}/lockgate", taken
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in taken:
                connection.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """By each attempt of this process to reach a shared store: how often its pool was asked for a connection.

    One attempt may begin several connections: that depends on how fast the driver gives one up.
    """
    attempts: list[int] = []
    take, getconn = Pool.take, ConnectionPool.getconn

    def counted_take(pool: Pool, until: float) -> Any:
        attempts.append(0)
        return take(pool, until)

    def counted_getconn(pool: Any, timeout: float | None = None) -> Any:
        attempts[-1] += 1
        return getconn(pool, timeout)

    monkeypatch.setattr(Pool, "take", counted_take)
    monkeypatch.setattr(ConnectionPool, "getconn", counted_getconn)
    return attempts


def test_an_installation_asks_a_shared_store_that_cannot_be_reached_once(machine: Machine, asked: list[int]) -> None:
    with _silent_database() as (url, taken):
        use(machine.home / ".local" / "state" / "lockgate", url)
        done = machine.run("install", "claude-code")
        assert done.exit_code == 1
        assert "the shared store cannot be reached" in done.output
        assert len([times for times in asked if times]) == 1, "the command has asked again"
        assert len(taken) >= 2, "the hook that it tries is a process of its own, and asks too"


def test_a_shared_store_that_cannot_be_reached_is_asked_once(machine: Machine, asked: list[int]) -> None:
    machine.settings.unlink()  # a hook would ask as well
    state = machine.home / ".local" / "state" / "lockgate"
    with _silent_database() as (url, _):
        use(state, url)
        code, found = machine.found()
        assert code == 1
        for name in ("configuration", "patterns", "state"):
            state_of, says = found[name]
            # Which of two clocks of the driver is over first depends on the machine.
            assert (state_of, says.partition(":")[0]) == ("fail", "the shared store cannot be reached")
        assert len([times for times in asked if times]) == 1, "each check has asked for itself"
        store = open_existing(str(state), busy_seconds=0.1)
        assert store is not None
        with contextlib.closing(store), pytest.raises(StoreError, match="cannot be reached"), store.reading():
            pass
        assert len([times for times in asked if times]) == 2, "what the doctor has found is forgotten with it"
