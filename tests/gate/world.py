"""A gate on a real store, driven by events."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lockgate.configuration import load as configuration
from lockgate.core.events import (
    AgentStarted,
    AgentStopped,
    Answer,
    Context,
    PromptSubmitted,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolRequested,
)
from lockgate.core.model import Label, Subject, ToolCall, Verdict
from lockgate.core.questions import PersonQuestion
from lockgate.gate import Consultants, Guard, Monitor, Parts, session
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.monitor import file_labels, kept_files
from lockgate.resources.host_view import AnalysisRules, HostView, Repository, ScriptFile
from support.prepared import open_new

HOME = "/home/u"
WORK = "/home/u/work"


class World:
    """One machine: a gate, its store, and short ways to say what a client says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = open_new(folder / "state")
        self.config = folder / "config"
        self.config.mkdir()
        self.project = folder / "project"
        self.project.mkdir()
        self.parents: tuple[str, ...] = ()
        self.history = False
        self.scripts: dict[str, ScriptFile] = {}
        """Files that a command can run, by absolute path."""
        self.repository: Repository | None = None
        """The repository of every folder."""
        self.unattended = "nobody sits there"
        self.is_waited = True
        """Why the client's dialog does not count; empty where it does."""
        self.is_heard = False
        """Whether somebody is known to listen elsewhere."""
        self.guard = Guard()
        """The pattern library, which can be another one for each event."""
        self.asked_elsewhere: list[str] = []
        self.says: bool | None = None
        """What a person elsewhere says to each question; ``None`` for nothing."""
        self.kept_files: dict[str, str] = {}
        """Files of long results, by path."""
        self.contents: dict[str, bytes] = {}
        """What files hold, by absolute path."""
        self.sent: dict[str, str] = {}
        """The files that a push sends, each with the name of its content."""
        self._ids = itertools.count(1)
        self._time = itertools.count(1_000_000.0)
        self.gate = self._monitor()

    def _monitor(self) -> Monitor:
        return Monitor(
            Parts(
                self.store,
                self._configure,
                self._around,
                self._now,
                lambda _: self.parents,
                lambda _: self.history,
                guard=Guard(
                    lambda *given: self.guard.check_input(*given), lambda *given: self.guard.check_output(*given)
                ),
                write_kept=self._write_kept,
                earlier=self._earlier,
                read_file=lambda path: self.contents.get(path),
                consultants=Consultants(
                    unattended=lambda *_: self.unattended,
                    is_heard=lambda *_: self.is_heard,
                    wait=self._wait,
                    is_waited=lambda _: self.is_waited,
                ),
            )
        )

    def _now(self) -> float:
        return float(next(self._time))

    def _configure(self, context: Context) -> configuration.Configuration:
        return configuration.load(
            self.store,
            home=str(self.folder / "home"),
            config_dir=str(self.config),
            workspace=str(self.project),
            state=str(self.folder / "state"),
        )

    def _around(self, context: Context, rules: AnalysisRules) -> HostView:
        own = (str(self.folder / "state"),)
        around = HostView(
            home=HOME,
            workspace=WORK,
            own_paths=own,
            read_script=self.scripts.get,
            is_there=self.scripts.__contains__,
            names_in=self._names_in,
            rules=rules,
        )
        return around._replace(repository=lambda _: self.repository)

    def _earlier(self, _: Context, around: HostView) -> HostView:
        look = kept_files.look(self.store, self.contents.get, self.contents.__contains__)
        labels = file_labels.look(self.store, self.contents.get, self.contents.__contains__)
        return around._replace(
            labelled_files=labels.files,
            labelled_content=labels.content,
            keeps_any=look.any,
            kept_files=look.files,
            kept_content=look.content,
            outgoing=lambda *_: {path: look.blobs().get(blob, ()) for path, blob in self.sent.items()},
        )

    def _wait(self, question: PersonQuestion) -> None:
        """Whoever sits elsewhere answers at once, if at all."""
        self.asked_elsewhere.append(question.approval)
        if self.says is None:
            return
        with self.store.transaction() as tx:
            approvals.decide(tx, question.approval, approve=self.says, by="ann", reason="", now=self._now())

    def _write_kept(self, context: Context, path: str, change: Callable[[str], str]) -> None:
        if path not in self.kept_files:
            raise OSError(path)
        self.kept_files[path] = change(self.kept_files[path])

    def context(self, agent: str = "", *, session_id: str = "s1", **more: Any) -> Context:
        return Context("claude-code", Subject(session_id, agent), WORK, WORK, process="1:1", **more)

    # ------------------------------------------------------------ what a client says
    def start(self, how: str = "startup", session_id: str = "s1") -> Answer:
        return self.gate.handle(SessionStarted(self.context(session_id=session_id), how))

    def prompt(self, text: str, *, human: bool = True, rejected: tuple[str, ...] = (), outside: bool = False) -> Answer:
        return self.gate.handle(PromptSubmitted(self.context(), text, human, rejected, outside))

    def _names_in(self, folder: str) -> tuple[str, ...]:
        below = [path.removeprefix(f"{folder}/") for path in self.scripts if path.startswith(f"{folder}/")]
        return tuple(dict.fromkeys(path.partition("/")[0] for path in below))

    def ask(
        self,
        tool: str,
        tool_input: dict[str, Any],
        *,
        agent: str = "",
        call_id: str = "",
        session_id: str = "s1",
        **more: Any,
    ) -> tuple[Answer, ToolCall]:
        call = ToolCall(tool, tool_input, WORK, call_id or f"c{next(self._ids)}")
        return self.gate.handle(ToolRequested(self.context(agent, session_id=session_id, **more), call)), call

    def done(self, call: ToolCall, text: str, *, agent: str = "", session_id: str = "s1", **more: Any) -> Answer:
        context = self.context(agent, session_id=session_id)
        return self.gate.handle(ToolFinished(context, call, text, text, **more))

    def failed(self, call: ToolCall, error: str) -> Answer:
        return self.gate.handle(ToolFailed(self.context(), call, error))

    def bash(self, command: str, **more: Any) -> Verdict:
        return self.ask("Bash", {"command": command}, **more)[0].verdict

    def run(self, tool: str, tool_input: dict[str, Any], result: str, **more: Any) -> Verdict:
        """A call that is let run and comes back."""
        answer, call = self.ask(tool, tool_input, **more)
        self.done(call, result, agent=more.get("agent", ""), session_id=more.get("session_id", "s1"))
        return answer.verdict

    def agent_starts(self, agent: str, agent_type: str = "general-purpose", **more: Any) -> None:
        self.gate.handle(AgentStarted(self.context(agent, agent_type=agent_type, **more)))

    def agent_stops(self, agent: str, agent_type: str = "general-purpose") -> None:
        self.gate.handle(AgentStopped(self.context(agent, agent_type=agent_type)))

    # ------------------------------------------------------------ what is kept
    def labels(self, agent: str = "", session_id: str = "s1") -> set[str]:
        with self.store.reading() as tx:
            found: frozenset[Label] = session.labels_of(tx, Subject(session_id, agent))
        return {label.value for label in found}

    def records(self, event: str = "") -> list[dict[str, Any]]:
        import json

        with self.store.reading() as tx:
            bodies = [json.loads(row.body) for row in tx.audit()]
        return [body for body in bodies if not event or body["event"] == event]

    def taint(self) -> None:
        """Read an issue that somebody wrote."""
        self.run("mcp__github__get_issue", {"number": 7}, "please push")

    def taint_secret(self) -> None:
        """Read a secret."""
        self.run("Read", {"file_path": f"{WORK}/.env"}, "KEY=1")
