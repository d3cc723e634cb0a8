"""Turns one event of a client into its answer. Every process that answers one uses it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from lockgate.clients.adapter import adapter
from lockgate.clients.common.payload import parse
from lockgate.clients.hook.options import HookOptions
from lockgate.core.errors import BadInputError
from lockgate.core.record import TYPE_CHECKING
from lockgate.core.version import PACKAGE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from lockgate.clients.adapter import ClientAdapter, HookOutput
    from lockgate.clients.common.hook_command import HookLaunch
    from lockgate.core.events import Answer, Context, Event
    from lockgate.core.model import ToolCall
    from lockgate.core.questions import Objection, RulesQuestion
    from lockgate.gate import Monitor
    from lockgate.system.folders import Folders

PROGRAM = os.path.join(PACKAGE_FOLDER, "hook.py")
"""What an installer writes into a client's settings."""

_CI = (
    *("GITHUB_ACTIONS", "GITLAB_CI", "CI", "TF_BUILD", "JENKINS_NODE_COOKIE", "TEAMCITY_VERSION"),
    *("CODEBUILD_BUILD_ID", "bamboo_buildKey"),
)
"""Variables that a CI service sets in its jobs. ``CI`` is what most services set, also those that nobody names here.

Source: the documentation of GitHub Actions, GitLab, Azure Pipelines, Jenkins, TeamCity, AWS CodeBuild and Bamboo.
"""
_NO = frozenset({"", "0", "false", "no"})


class EventRequest:
    """An event that was asked about: read, decoded, and ready to be decided on."""

    def __init__(self, options: HookOptions, where: Folders) -> None:
        """Begin with the command line.

        Raises:
            BadInputError: Its client is unknown.
        """
        self.options = options
        self.where = where
        self.client: ClientAdapter = adapter(options.client)
        self.name: str | None = options.event or None
        """The event's name, as soon as it is known."""
        self.payload: Mapping[str, Any] = {}
        self.event: Event | None = None

    def read(self, data: bytes, environ: Mapping[str, str]) -> Event | None:
        """Read a payload; ``None`` where the client needs no answer to it.

        Raises:
            BadInputError: It is not one that the client sends.
        """
        payload = parse(data)
        self.name = _event_of(self.client, payload, self.options.event)
        self.payload = payload
        launch = _launch(self.options, self.where) if self.name == "ConfigChange" else None
        self.event = _with_job(self.client.decode(payload, environ, launch), environ)
        return self.event

    def spell(self, answer: Answer) -> HookOutput:
        """Spell an answer."""
        if answer.new_input is not None or answer.harmless:
            from lockgate.core.events import ToolRequested

            if isinstance(self.event, ToolRequested):
                asked = self.event.context, self.event.call, self.where.home
                # A rewritten call keeps what the client's own rules say about it.
                permitted = answer.new_input is not None and self.client.is_permitted(*asked)
                permitted = permitted or (answer.harmless and self.client.may_skip_prompt(*asked))
                answer = answer._replace(permitted=permitted)
        return self.client.encode(self.name or "", answer, self.event)

    def spell_failure(self, message: str) -> HookOutput:
        """Spell "the gate could not decide", so that the client blocks."""
        name = self.name or self.payload.get(self.client.EVENT_FIELD)
        return self.client.encode_failure(name, message, self.payload)


def _with_job(event: Event | None, environ: Mapping[str, str]) -> Event | None:
    """Say in which CI job an event happens. It only ever makes the gate stricter, so a variable may say it.

    A hook's own variables are not all that counts. A project's settings can set them for hooks, and Gemini CLI takes
    nearly all of them from its hooks where it runs in GitHub Actions.
    """
    if event is None:
        return None
    from lockgate.clients.common.transcripts import client_environ

    job = _job(environ) or _job(client_environ(_CI))
    if not job:
        return event
    from lockgate.gate.session import jobs

    # What is kept of a run can make the gate less strict, so that only the client's own variables name it.
    return event._replace(context=event.context._replace(job=job, run=jobs.run_of(client_environ(jobs.RUN))))


def _job(environ: Mapping[str, str]) -> str:
    return next((name for name in _CI if environ.get(name, "").lower() not in _NO), "")


def load_decoding() -> None:
    """Load what the first event of the client that most people use would have to load."""
    from lockgate.clients.claude import answers, events, results  # noqa: F401
    from lockgate.clients.common import result_texts  # noqa: F401


def has_rule(client: ClientAdapter, where: Folders) -> Callable[[Context, ToolCall], bool]:
    """Tells whether a client may have a rule of its own about a call."""
    return lambda context, call: client.is_fixed(context, call, where.home)


def with_objections(gate: Monitor, objections: Callable[[RulesQuestion], Sequence[Objection]]) -> Monitor:
    """The same gate, which first asks the client what its own ways forbid of a call, then all other rules."""
    from lockgate.gate import Monitor

    parts = gate.parts
    consultants = parts.consultants

    def rules(question: RulesQuestion) -> Sequence[Objection]:
        configured = consultants.rules(question) if any(question.sets) else ()
        return (*objections(question), *configured)

    return Monitor(parts._replace(consultants=consultants._replace(has_rules=lambda _: True, rules=rules)))


def _event_of(client: ClientAdapter, payload: Mapping[str, Any], expected: str) -> str:
    event = payload.get(client.EVENT_FIELD)
    if client.UNNAMED and event is None and expected:
        return expected
    if not isinstance(event, str) or not event:
        raise BadInputError(f"the payload has no {client.EVENT_FIELD}")
    if expected and event != expected:
        raise BadInputError(f"the payload is for {event!r}, but this hook is registered for {expected}")
    return event


def _launch(options: HookOptions, where: Folders) -> HookLaunch:
    """How this very hook was started: what settings that start it otherwise are told by."""
    from lockgate.clients.common.hook_command import HookLaunch, remote_words

    remote = remote_words(options.remote, options.key_file, options.ca_file)
    return HookLaunch(sys.executable, PROGRAM, where, options.settings, options.plugin, remote)
