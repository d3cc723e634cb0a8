"""What a plugin may return, and what it gets told; everything else denies and names the plugin."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockgate.configuration.plugins.answers import verdict_of
from lockgate.configuration.plugins.asking import Plugins
from lockgate.configuration.plugins.model import HookDecision, HookEvent
from lockgate.configuration.plugins.time_limit import MOST_LATE
from lockgate.core.errors import PluginError
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall, Verdict
from lockgate.core.questions import Objection, PluginEntry, ResultQuestion, RuleSets, RulesQuestion

CONTEXT = Context("claude-code", Subject("s1", "a1"), "/w/sub", "/w")
CALL = ToolCall("Bash", {"command": "ls", "more": {"deep": [1]}}, "/w/sub", "t1")


class World:
    """Plugins in files of a folder, asked in the order in which they were written."""

    def __init__(self, folder: Path, seconds: float = 20) -> None:
        self.folder = folder
        self.log: list[tuple[str, ...]] = []
        self.plugins = Plugins(str(folder), lambda *told: self.log.append(told), seconds)
        self.entries: list[PluginEntry] = []

    def write(self, code: str, name: str = "policy") -> None:
        path = self.folder / f"{name}.py"
        path.write_text(code)
        path.chmod(0o600)
        entry = PluginEntry(str(path))
        if entry not in self.entries:
            self.entries.append(entry)

    def ask(self, call: ToolCall = CALL) -> list[Objection]:
        return self.plugins.before(RulesQuestion(CONTEXT, call, sets=RuleSets(plugins=tuple(self.entries))))

    def show(self, text: str) -> list[Objection]:
        return self.plugins.after(ResultQuestion(CONTEXT, CALL, text, RuleSets(plugins=tuple(self.entries))))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def returning(expression: str) -> str:
    return f"def before_tool_use(tool_name, tool_input):\n    return {expression}\n"


# ---------------------------------------------------------------- answers
NOTHING = [None, {}, HookDecision(), {"decision": "allow"}, {"allowed": True}, {"reason": "fine"}, {"decision": ""},
           {"decision": "allow", "allowed": True, "reason": None}]  # fmt: skip
OBJECTIONS = [
    ({"decision": "deny"}, Verdict.DENY, ""),
    ({"decision": "deny", "reason": " no\n"}, Verdict.DENY, "no"),
    ({"decision": "ask", "reason": "sure?"}, Verdict.ASK, "sure?"),
    ({"allowed": False}, Verdict.DENY, ""),
    ({"allowed": False, "decision": "allow"}, Verdict.DENY, ""),
    ({"allowed": False, "decision": "ask"}, Verdict.ASK, ""),
    ({"allowed": True, "decision": "deny"}, Verdict.DENY, ""),
    (HookDecision(False, "no"), Verdict.DENY, "no"),
    (HookDecision(allowed=True, decision="ask"), Verdict.ASK, ""),
    ({"decision": "deny", "reason": "a\x1b[31mb\u202e"}, Verdict.DENY, "a\\e[31mb\\u{202e}"),
]
WRONG: list[tuple[Any, str]] = [
    (True, "a bool"),
    (False, "a bool"),
    (0, "an int"),
    ("deny", "a str"),
    ([], "a list"),
    (("deny", "no"), "a tuple"),
    ({"decision": "block"}, "`decision` is 'block'"),
    ({"decision": None}, "`decision` is a NoneType"),
    ({"decision": "DENY"}, "`decision` is 'DENY'"),
    ({"decison": "deny"}, "unknown key 'decison'"),
    ({"allowed": "false"}, "`allowed` is a str"),
    ({"allowed": 0}, "`allowed` is an int"),
    ({"allowed": None}, "`allowed` is a NoneType"),
    ({"decision": "deny", "reason": 7}, "`reason` is an int"),
    ({1: 2}, "a key that is an int"),
    (HookDecision(allowed=None), "`allowed` is a NoneType"),  # type: ignore[arg-type]
    (object(), "an object"),
]


@pytest.mark.parametrize("returned", NOTHING)
def test_to_allow_is_no_statement(returned: Any) -> None:
    assert verdict_of(returned)[0] is Verdict.ALLOW


@pytest.mark.parametrize(("returned", "verdict", "reason"), OBJECTIONS)
def test_an_objection_in_each_form(returned: Any, verdict: Verdict, reason: str) -> None:
    assert verdict_of(returned) == (verdict, reason)


@pytest.mark.parametrize(("returned", "complaint"), WRONG)
def test_anything_else_is_no_answer(returned: Any, complaint: str) -> None:
    with pytest.raises(PluginError) as caught:
        verdict_of(returned)
    assert complaint in str(caught.value)


def test_the_names_of_the_events_are_those_of_the_functions() -> None:
    assert [event.value for event in HookEvent] == ["before_tool_use", "after_tool_use"]


# ---------------------------------------------------------------- asking
def test_a_plugin_denies_with_its_reason_and_is_named_with_its_content(world: World) -> None:
    world.write(returning('{"decision": "deny", "reason": "not on Fridays"}'))
    (found,) = world.ask()
    assert (found.reason, found.verdict) == ("not on Fridays", Verdict.DENY)
    assert found.rule.startswith("plugin:policy@")
    assert len(found.rule) == len("plugin:policy@") + 12


def test_the_first_deny_wins_and_those_after_it_are_not_asked(world: World) -> None:
    world.write(returning('{"decision": "ask", "reason": "one"}'), "one")
    world.write(returning("None"), "two")
    world.write(returning('{"decision": "deny", "reason": "three"}'), "three")
    world.write(returning("1 / 0"), "four")
    assert [(each.reason, each.verdict) for each in world.ask()] == [("one", Verdict.ASK), ("three", Verdict.DENY)]
    assert world.log == []


def test_a_plugin_cannot_take_back_what_another_one_said(world: World) -> None:
    world.write(returning('{"decision": "deny"}'), "one")
    world.write(returning('{"decision": "allow"}'), "two")
    assert [each.verdict for each in world.ask()] == [Verdict.DENY]
    world.entries.reverse()
    assert [each.verdict for each in world.ask()] == [Verdict.DENY]


FAILURES = {
    "raises": ("def before_tool_use(tool_name):\n    raise ValueError('a secret of the call')\n", "ValueError"),
    "ends the program": ("import sys\ndef before_tool_use(tool_name):\n    sys.exit(0)\n", "SystemExit"),
    "is interrupted": ("def before_tool_use(tool_name):\n    raise KeyboardInterrupt\n", "KeyboardInterrupt"),
    "hangs": ("import time\ndef before_tool_use(tool_name):\n    time.sleep(30)\n", "longer than 0.3 s"),
    "never comes back": (
        "import asyncio\nasync def before_tool_use(tool_name):\n    await asyncio.Event().wait()\n",
        "longer than 0.3 s",
    ),
    "swallows being cancelled": (
        "import asyncio\nasync def before_tool_use(tool_name):\n    while True:\n        try:\n"
        "            await asyncio.sleep(9)\n        except asyncio.CancelledError:\n            pass\n",
        "longer than 0.3 s",
    ),
    "blocks its event loop": (
        "import time\nasync def before_tool_use(tool_name):\n    time.sleep(30)\n",
        "longer than",
    ),
    "is asynchronous and raises": ("async def before_tool_use(tool_name):\n    raise OSError('x')\n", "OSError"),
    "yields": ("def before_tool_use(tool_name):\n    yield {'decision': 'allow'}\n", "a generator"),
    "yields asynchronously": ("async def before_tool_use(tool_name):\n    yield None\n", "an async_generator"),
    "returns what lies": (
        "class Lie(dict):\n    def get(self, *_): return True\n    def __iter__(self): raise ValueError\n"
        "def before_tool_use(tool_name):\n    return Lie(decison='allow')\n",
        "unknown key",
    ),
    "is not Python": ("def before_tool_use(:\n", "cannot be loaded: SyntaxError"),
    "raises when it is loaded": ("raise RuntimeError('x')\n", "cannot be loaded: RuntimeError"),
    "hangs when it is loaded": ("import time\ntime.sleep(30)\n", "cannot be loaded: it took longer"),
    "ends the program when it is loaded": ("raise SystemExit(0)\n", "cannot be loaded: SystemExit"),
    "has no hook": ("def before_tool(tool_name):\n    pass\n", "has none of the functions"),
    "has a hook that is no function": ("before_tool_use = 7\n", "is not a function"),
    "takes what there is not": ("def before_tool_use(tool, tool_input):\n    pass\n", "tool"),
    "needs more": ("def before_tool_use(tool_name, *, more):\n    pass\n", "cannot be called"),
    "is a wrapper": (
        "from lockgate.configuration.plugins.hookspecs import hookimpl\n@hookimpl(wrapper=True)\n"
        "def before_tool_use(tool_name):\n    return (yield)\n",
        "is a wrapper",
    ),
    "imports what is not there": ("import no_such_module_at_all\n", "cannot be loaded: ModuleNotFoundError"),
}


@pytest.mark.parametrize(("code", "says"), FAILURES.values(), ids=FAILURES)
def test_a_plugin_that_fails_denies_and_is_named(tmp_path: Path, code: str, says: str) -> None:
    world = World(tmp_path, 0.3 if "longer" in says else 20)
    world.write(code)
    (found,) = world.ask()
    assert found.verdict is Verdict.DENY
    assert "the plugin `policy`" in found.reason
    assert says in found.reason
    assert "secret" not in found.reason
    assert "Traceback" not in found.reason
    assert found.rule.startswith("plugin:policy")
    assert [told[0] for told in world.log] == ["policy"]


def test_the_log_has_the_class_and_the_place_and_nothing_of_the_call(world: World) -> None:
    world.write("\n\ndef before_tool_use(tool_input):\n    raise KeyError(tool_input['command'])\n")
    world.ask()
    assert world.log == [("policy", "KeyError", "policy.py:4")]


def test_a_plugin_sees_a_copy(world: World) -> None:
    world.write(
        "def before_tool_use(tool_name, tool_input):\n    tool_input['command'] = 'x'\n"
        "    tool_input['more']['deep'].append(2)\n",
        "one",
    )
    world.write(
        "def before_tool_use(tool_input):\n"
        "    assert tool_input == {'command': 'ls', 'more': {'deep': [1]}}, tool_input\n",
        "two",
    )
    assert world.ask() == []
    assert CALL.tool_input == {"command": "ls", "more": {"deep": [1]}}


def test_an_input_that_cannot_be_copied_is_refused(world: World) -> None:
    world.write(returning("None"))
    (found,) = world.ask(ToolCall("tool", {"lock": threading.Lock()}))
    assert found.verdict is Verdict.DENY


ARGUMENTS: dict[str, str] = {
    "nothing": "def before_tool_use():",
    "all": "def before_tool_use(tool_name, tool_input, context):",
    "in another order": "def before_tool_use(context, tool_name):",
    "with a default": "def before_tool_use(tool_name, context=None):\n    assert context is not None",
    "and whatever else": "def before_tool_use(tool_name, *rest, **more):",
    "asynchronously": "async def before_tool_use(tool_name, tool_input):",
}


@pytest.mark.parametrize("start", ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_function_takes_what_it_likes(world: World, start: str) -> None:
    world.write(f"{start}\n    return {{'decision': 'deny', 'reason': 'yes'}}\n")
    assert [each.reason for each in world.ask()] == ["yes"]


def test_it_is_told_whose_call_it_is(world: World) -> None:
    world.write("def before_tool_use(context):\n    return {'decision': 'deny', 'reason': repr(tuple(context))}\n")
    assert world.ask()[0].reason == "('claude-code', 's1', 'a1', '/w/sub', '/w')"


def test_an_object_and_a_marked_function_are_plugins_too(world: World) -> None:
    from lockgate.configuration.plugins.hookspecs import hookimpl
    from lockgate.configuration.plugins.loading import hooks_of

    class Policy:
        @hookimpl(specname="before_tool_use")
        def check(self, tool_name: str) -> dict[str, Any]:
            return {"reason": tool_name}

        def after_tool_use(self, tool_output: str) -> None:
            """Has nothing to say."""

    hooks = hooks_of(Policy())
    assert {name: hook.takes for name, hook in hooks.items()} == {
        "before_tool_use": ("tool_name",),
        "after_tool_use": ("tool_output",),
    }
    with pytest.raises(PluginError, match="is a class"):
        hooks_of(Policy)


def test_results_are_asked_about_and_a_question_withholds_too(world: World) -> None:
    world.write(
        "def after_tool_use(tool_name, tool_output):\n    return {'decision': 'ask'} if 'x' in tool_output else {}\n"
    )
    assert world.ask() == []
    assert world.show("fine") == []
    assert [each.verdict for each in world.show("x")] == [Verdict.ASK]


def test_a_changed_file_is_loaded_again_and_one_that_is_gone_denies(world: World) -> None:
    world.write(returning('{"decision": "deny", "reason": "one"}'))
    assert world.ask()[0].reason == "one"
    world.write(returning('{"decision": "deny", "reason": "another"}'))
    assert world.ask()[0].reason == "another"
    (world.folder / "policy.py").unlink()
    assert world.ask()[0].reason == "the plugin `policy` cannot be loaded: there is no such file"


def test_calls_that_never_come_back_are_bounded(tmp_path: Path) -> None:
    world = World(tmp_path, 0.3)
    world.write("import threading\nnever = threading.Event()\ndef before_tool_use():\n    never.wait()\n")
    before = threading.active_count()
    for _ in range(MOST_LATE + 4):
        assert "longer than" in world.ask()[0].reason
    assert threading.active_count() - before <= MOST_LATE
    plugin = world.plugins.load(world.entries[0])
    assert plugin.before is not None
    plugin.before.function.__globals__["never"].set()
    while threading.active_count() > before:
        time.sleep(0.01)
    assert not plugin.late.too_many


def _unsafe_file(path: Path) -> None:
    path.chmod(0o666)


def _group_file(path: Path) -> None:
    path.chmod(0o620)


def _unsafe_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def _link_into_an_unsafe_folder(path: Path) -> None:
    unsafe = path.parent.parent / "unsafe"
    unsafe.mkdir()
    path.rename(unsafe / "real.py")
    path.symlink_to(unsafe / "real.py")
    unsafe.chmod(0o777)


def _below_an_unsafe_folder(path: Path) -> None:
    path.parent.parent.chmod(0o777)


def _folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _gone(path: Path) -> None:
    path.unlink()


def _large(path: Path) -> None:
    path.write_text("#" * 1_000_001)


UNSAFE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a file that all can write": (_unsafe_file, "others can write to the file"),
    "a file that a group can write": (_group_file, "others can write to the file"),
    "a folder that all can write": (_unsafe_folder, "others can write to its folder"),
    "a folder above it that all can write": (_below_an_unsafe_folder, "others can write to a folder above it"),
    "a link to what others can replace": (_link_into_an_unsafe_folder, "others can write to its folder"),
    "a folder": (_folder_instead, "not a regular file"),
    "nothing": (_gone, "there is no such file"),
    "too much": (_large, "larger than"),
}


@pytest.mark.parametrize(("spoil", "says"), UNSAFE.values(), ids=UNSAFE)
def test_a_file_that_is_not_safe_is_not_loaded(tmp_path: Path, spoil: Callable[[Path], None], says: str) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o700)
    world = World(folder)
    world.write("raise AssertionError('it must not run')\n")
    spoil(folder / "policy.py")
    (found,) = world.ask()
    assert found.verdict is Verdict.DENY
    assert says in found.reason


def test_a_link_to_a_safe_file_is_followed(world: World) -> None:
    world.write(returning('{"decision": "deny", "reason": "linked"}'), "real")
    (world.folder / "link.py").symlink_to(world.folder / "real.py")
    world.entries = [PluginEntry(str(world.folder / "link.py"))]
    assert [each.reason for each in world.ask()] == ["linked"]


def test_paths_are_relative_to_the_configuration_and_the_home_folder(world: World) -> None:
    world.write(returning('{"decision": "deny", "reason": "found"}'))
    for entry in (PluginEntry("policy.py", str(world.folder)), PluginEntry("./policy.py", str(world.folder)),
                  PluginEntry("~/policy.py")):  # fmt: skip
        world.entries = [entry]
        assert [each.reason for each in world.ask()] == ["found"]
    for entry, says in ((PluginEntry("policy.py"), "is relative"), (PluginEntry("~other/policy.py"), "your own")):
        world.entries = [entry]
        assert says in world.ask()[0].reason


def test_an_entry_point_that_is_not_there_denies(world: World) -> None:
    world.entries = [PluginEntry("no-such-plugin")]
    (found,) = world.ask()
    assert found == Objection(
        "plugin:no-such-plugin",
        "the plugin `no-such-plugin` cannot be loaded: no package in Lockgate's own environment has an entry point "
        "`no-such-plugin` in the group `lockgate`",
    )
