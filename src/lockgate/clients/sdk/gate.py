"""``Gate``: a gate within a program, for an event loop and for threads."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from lockgate.clients.claude.events import ADAPTER
from lockgate.clients.common.transcripts import client_process
from lockgate.clients.sdk.model import Ask, Call, Decision, Result
from lockgate.clients.sdk.runner import AsyncPerson, Driver
from lockgate.clients.sdk.session import Session
from lockgate.configuration.load import Configuration
from lockgate.configuration.plugins import HookDecision
from lockgate.configuration.plugins.asking import Plugins
from lockgate.core.errors import ConfigError
from lockgate.core.events import Context
from lockgate.core.model import Subject, Verdict
from lockgate.core.questions import (
    JudgeQuestion,
    Objection,
    Opinion,
    PersonQuestion,
    ResultQuestion,
    RuleSets,
    RulesQuestion,
)
from lockgate.gate import Consultants, Parts
from lockgate.gate.approvals import notification_text, waiting
from lockgate.gate.host.assembly import open_parts
from lockgate.store.opening import open_existing
from lockgate.system.folders import Folders, folders
from lockgate.system.ttl_cache import TtlCache

LOADING_SECONDS = 60.0
"""How long the first call waits for the pattern library to be compiled, where nobody has done that yet."""
REMEMBER_SECONDS = 1.0
"""How long files of the configuration are not looked at again."""
_CLIENT = "python"


class Gate:
    """The reference monitor in this process. It fails closed: what cannot be decided is denied, and nothing is raised.

    One gate serves many sessions, threads and tasks. It shares labels, approvals and the audit with all other gates of
    the same state folder.
    """

    def __init__(
        self, driver: Driver, where: Folders, *, workspace: str, client: str, ask: Ask, remove: str = ""
    ) -> None:
        """Use :meth:`open`."""
        self._driver = driver
        self._where = where
        self._workspace = workspace
        self._client = client
        self._ask = ask
        self._remove = remove
        self._process = client_process(str(os.getpid()))
        # Made here and not at its first use: two threads would make two, and each would have only its own labels.
        self._default = self.session()

    @classmethod
    def open(
        cls,
        *,
        workspace: str | os.PathLike[str] | None = None,
        state: str | os.PathLike[str] | None = None,
        ephemeral: bool = False,
        config: Mapping[str, Any] | None = None,
        ask: Ask = "wait",
        judge: Callable[[JudgeQuestion], Opinion] | None = None,
        plugins: Sequence[object] = (),
        client: str = _CLIENT,
    ) -> Self:
        """Open the gate.

        Args:
            workspace: The folder that the agents work in; the current one where it is not given.
            state: Where labels, approvals and the audit are kept; the user's state folder where it is not given.
            ephemeral: Keep them in a folder that is removed when the gate is closed.
            config: What ``lockgate.yaml`` could say, over what the files of this machine and of the workspace say.
            ask: Who puts a question before a person.
            judge: Stands in for the judge of the configuration.
            plugins: Objects with ``before_tool_use``, ``after_tool_use`` or both, asked after the configuration's.
            client: The name of the program, for the audit.

        Raises:
            ConfigError: ``config`` is not valid.
            PluginError: One of ``plugins`` is none.
            StoreError: The state cannot be opened or trusted.
        """
        # Whatever the caller got wrong is found before anything is made that would be left behind.
        program = _valid(config)
        root = os.path.abspath(os.getcwd() if workspace is None else os.fspath(workspace))
        remove = tempfile.mkdtemp(prefix="lockgate-sdk-") if ephemeral else ""
        where = _folders(remove or state)
        try:
            driver = Driver(lambda: _open_parts(where, program, judge, plugins), _waiter(where))
        except BaseException:
            shutil.rmtree(remove, ignore_errors=True)
            raise
        return cls(driver, where, workspace=root, client=client, ask=ask, remove=remove)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close everything. Sessions can go on in another gate on the same state."""
        if self._driver.close() and self._remove:
            shutil.rmtree(self._remove, ignore_errors=True)

    def session(
        self, name: str = "", *, agent: str = "", cwd: str | os.PathLike[str] = "", ask: Ask | None = None
    ) -> Session:
        """One agent's conversation: what its labels belong to.

        Args:
            name: The conversation's own id, which must be new for each; one that is known goes on with its labels.
                Without one a new id is made.
            agent: For a sub-agent, its id. It begins with the labels of the main agent.
            cwd: The folder that its calls run in; the workspace where it is not given.
            ask: Who puts a question before a person, where that is not whom the gate was opened with.
        """
        folder = os.path.abspath(os.path.join(self._workspace, os.fspath(cwd)))
        subject = Subject(name or f"{self._client}-{secrets.token_hex(16)}", agent)
        # Who is below this process is an agent's tool, and no person who could approve.
        made_at = "" if name else str(time.time())
        context = Context(self._client, subject, folder, self._workspace, process=self._process, made_at=made_at)
        return Session(self._driver, context, self._ask if ask is None else ask)

    @property
    def workspace(self) -> str:
        """The folder that the agents work in, absolute."""
        return self._workspace

    @property
    def home(self) -> str:
        """The home folder whose configuration counts."""
        return self._where.home

    @property
    def ask(self) -> Ask:
        """The way in which a question is put before a person."""
        return self._ask

    @property
    def driver(self) -> Driver:
        """What runs the gate, for an integration that has events of its own."""
        return self._driver

    async def check(self, call: Call, *, session: str = "") -> Decision:
        """Decide on a call: of the session of that name, else of this gate's own."""
        return await self._of(session).check(call.tool, call.tool_input, call_id=call.call_id, cwd=call.cwd)

    def check_sync(self, call: Call, *, session: str = "") -> Decision:
        """Do what :meth:`check` does, and block until it is decided."""
        return self._of(session).check_sync(call.tool, call.tool_input, call_id=call.call_id, cwd=call.cwd)

    async def before_tool_use(self, tool_name: str, tool_input: Mapping[str, Any]) -> HookDecision:
        """Say whether a call of this gate's own session may run as it is: see :meth:`Session.before_tool_use`."""
        return await self._of("").before_tool_use(tool_name, tool_input)

    async def after_tool_use(self, tool_name: str, tool_input: Mapping[str, Any], tool_output: Any) -> Result:
        """Note the result of a call of this gate's own session: see :meth:`Session.finished`."""
        return await self._of("").after_tool_use(tool_name, tool_input, tool_output)

    def _of(self, name: str) -> Session:
        return self.session(name) if name else self._default


def _open_parts(
    where: Folders,
    program: Mapping[str, Any] | None,
    judge: Callable[[JudgeQuestion], Opinion] | None,
    plugins: Sequence[object],
) -> Parts:
    """Open what the gate works with, for a process that stays and whose sessions may be those of a client, too."""

    def has_rule(context: Context, call: Call) -> bool:
        return context.client == ADAPTER.CLIENT and ADAPTER.is_fixed(context, call, where.home)

    parts = open_parts(
        where, has_rule=has_rule, program=program, cache=TtlCache(REMEMBER_SECONDS), loading=LOADING_SECONDS
    )
    # Sessions of a program itself have no transcript, for which these say nothing.
    parts = parts._replace(parents=ADAPTER.parents_of, history=ADAPTER.has_history)
    parts = parts._replace(results_since=ADAPTER.make_reader_of_newer(where.state, stays=True))
    parts = parts._replace(results_before=ADAPTER.make_reader_of_older(where.state, stays=True))
    consultants = parts.consultants._replace(turn=lambda context: ADAPTER.turn_reader(context, where.home))
    # A function that asks is not seen to wait: no question counts as one that was left behind.
    consultants = consultants._replace(is_waited=lambda _: True)
    consultants = with_plugins(consultants, where.home, plugins) if plugins else consultants
    if judge is not None:
        consultants = consultants._replace(judge=_careful(judge), can_judge=lambda _: True)
    return parts._replace(consultants=consultants)


def _folders(state: str | os.PathLike[str] | None) -> Folders:
    where = folders(os.environ)
    return where if not state else where._replace(state=os.path.join(os.path.abspath(os.fspath(state)), "lockgate"))


def _waiter(where: Folders) -> AsyncPerson:
    async def wait(question: PersonQuestion) -> None:
        await asyncio.to_thread(notification_text.start, where, question)
        await waiting.wait_in_loop(where.state, question, lambda: open_existing(where.state))

    return wait


def _valid(config: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if not config:
        return None
    import json

    from lockgate.policy.validation import parse

    parsed = parse(json.dumps(config).encode(), "config.json")
    if parsed.problems:
        first = parsed.problems[0]
        raise ConfigError("config", 0, first.key, first.problem)
    return parsed.value


def _careful(judge: Callable[[JudgeQuestion], Opinion]) -> Callable[[JudgeQuestion], Opinion]:
    def ask(question: JudgeQuestion) -> Opinion:
        try:
            opinion = judge(question)
            flagged = opinion.flagged is not False or bool(opinion.failed)
            return opinion._replace(flagged=flagged, reason=str(opinion.reason))
        except Exception as error:  # noqa: BLE001 - a judge that fails has objected
            return Opinion(flagged=True, reason="", failed=f"it failed ({type(error).__name__})")

    return ask


_log = logging.getLogger("lockgate")


def with_plugins(consultants: Consultants, home: str, given: Sequence[object]) -> Consultants:
    """The same consultants, who ask some objects too.

    Args:
        consultants: Who is asked.
        home: The user's home folder.
        given: Objects with ``before_tool_use``, ``after_tool_use`` or both.

    Raises:
        PluginError: One of them is no plugin.
    """
    plugins = Plugins(home, lambda *what: _log.error("the plugin %s failed: %s at %s", *what))
    entries = tuple(plugins.add(f"{type(each).__name__}#{number}", each) for number, each in enumerate(given, 1))

    def rule_sets(configuration: Configuration) -> RuleSets:
        sets = consultants.rule_sets(configuration)
        return sets._replace(plugins=(*sets.plugins, *entries))

    def theirs(sets: RuleSets) -> RuleSets:
        return sets._replace(plugins=tuple(entry for entry in sets.plugins if entry not in entries))

    ours = RuleSets(plugins=entries)

    def rules(question: RulesQuestion) -> Sequence[Objection]:
        found = list(consultants.rules(question._replace(sets=theirs(question.sets))))
        if all(objection.verdict is not Verdict.DENY for objection in found):
            found += plugins.before(question._replace(sets=ours))
        return found

    def results(question: ResultQuestion) -> Sequence[Objection]:
        found = consultants.results(question._replace(sets=theirs(question.sets)))
        return [*found, *plugins.after(question._replace(sets=ours))]

    return consultants._replace(has_rules=lambda _: True, rule_sets=rule_sets, rules=rules, results=results)
