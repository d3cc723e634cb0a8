"""A gate for events of another machine. Whatever a container says is only text here.

The files, links, projects and processes that an event names are the container's. None of them is looked for on this
machine, where something else may have the same name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lockgate.clients.wire.messages import CONTAIN, ContainerRequest
from lockgate.clients.wire.short_form import SEED_SESSION
from lockgate.configuration import load
from lockgate.configuration.load import Configuration
from lockgate.configuration.pattern_library.library import PatternGuard
from lockgate.core.events import Context, Event, SessionStarted, ToolRequested
from lockgate.core.model import Effect, Subject, ToolCall
from lockgate.core.questions import Objection, ResultQuestion, RulesQuestion
from lockgate.gate import Consultants, Guard, Parts
from lockgate.gate.host.assembly import open_parts
from lockgate.patterns.model import GuardrailResult
from lockgate.resources.host_view import AnalysisRules, HostView, records_folder
from lockgate.service.containers.groups import ContainerGroup
from lockgate.system.folders import Folders
from lockgate.system.ttl_cache import TtlCache

_COMPILING = 120.0
"""Seconds that the host waits for its pattern library when it begins."""
_REMEMBER = 1.0
"""Seconds for which the files of the configuration are not looked at again."""
_KEY_PLACE = "/run/lockgate"


class OpenRequest:
    """One request while it is decided on."""

    def __init__(self, group: ContainerGroup, request: ContainerRequest) -> None:
        """Nothing was decided yet."""
        self.group = group
        self.request = request
        self.event = as_seen_here(request.event, group)
        self.kept: str | None = None
        """What is to stand in the file of a long result, where that changes."""


def as_seen_here(event: Event, group: ContainerGroup) -> Event:
    """An event with names that are this group's own: it cannot name another's session, agent or process."""
    context = event.context
    subject = Subject(_with_name(group, context.subject.session), context.subject.agent)
    process = _with_name(group, context.process) if context.process else ""
    # A transcript lies in the container: nothing here may take its path for one of this machine.
    event = event._replace(context=context._replace(subject=subject, process=process, transcript=""))
    if isinstance(event, ToolRequested):
        asks = group.client_asks and event.askable
        return event._replace(askable=asks, waits=not asks, headless=False)
    if isinstance(event, SessionStarted):
        return event._replace(parents=tuple(_with_name(group, parent) for parent in event.parents))
    return event


def _with_name(group: ContainerGroup, name: str) -> str:
    # A group's name has no slash, so two groups never share a name.
    return f"{group.name}/{name}"


def remote_parts(where: Folders, current: Callable[[], OpenRequest]) -> Parts:
    """What a gate for containers is made of. Belongs to the thread that calls this.

    Args:
        where: This machine's folders.
        current: The request that is being decided on.

    Raises:
        StoreError: The state cannot be opened or trusted.
    """
    parts = open_parts(where)
    cache = TtlCache(_REMEMBER)
    patterns = PatternGuard(parts.store, where, _COMPILING, own_files=False, cache=cache)
    return parts._replace(
        configure=_configure(parts, where, current, cache),
        host_view=lambda context, rules: _host_view(current(), context, rules),
        parents=lambda _: (),
        history=lambda context: not context.subject.session.endswith(f"/{SEED_SESSION}"),
        contain=lambda _, call, __: _contain(current(), call),
        end_rooms=lambda _: None,  # a container's sessions have none
        original=lambda _, call: call,
        guard=_guard(patterns),
        write_kept=lambda _, file, change: _write_kept(current(), file, change),
        consultants=_consultants(parts.consultants),
        seen=lambda _, call: _effects_seen(current(), call),
        trace=str,  # nothing: a container's traces are its own
    )


def _configure(
    parts: Parts, where: Folders, current: Callable[[], OpenRequest], cache: TtlCache
) -> Callable[[Context], Configuration]:
    """The configuration of this machine's person, with the profile of the group. A container has no say in it."""

    def read(_: Context, before: Configuration | None) -> Configuration:
        profile = current().group.profile
        return load.load(
            parts.store,
            home=where.home,
            config_dir=where.config,
            workspace="",
            state=where.state,
            program={"profile": profile} if profile else None,
            before=before,
        )

    return cache.remember(read, lambda _: current().group.profile)


def _host_view(case: OpenRequest, context: Context, rules: AnalysisRules) -> HostView:
    """What may be said of the container's machine: paths as text. What is not known is not made up."""
    home = case.request.home if os.path.isabs(case.request.home) else "/root"
    beside = records_folder(case.request.event.context.transcript, (home, context.workspace))
    paths = (case.group.inside, _KEY_PLACE, *filter(os.path.isabs, case.request.own))
    return HostView(
        home=home,
        workspace=context.workspace,
        own_paths=tuple(dict.fromkeys(map(os.path.normpath, paths))),
        client_paths=(f"{home}/.claude/projects", *beside),
        variables={"HOME": home},
        may_be_zsh=True,
        rules=rules,
    )


def _contain(case: OpenRequest, call: ToolCall) -> Mapping[str, Any] | None:
    """The container rewrites the call by itself, where it says that it can."""
    return call.tool_input if CONTAIN in case.request.able else None


def _effects_seen(case: OpenRequest, call: ToolCall) -> Sequence[Effect]:
    return case.request.found if getattr(case.request.event, "call", None) == call else ()


def _write_kept(case: OpenRequest, file: str, change: Callable[[str], str]) -> None:
    """The file is the container's: what it is to hold goes back with the answer."""
    if case.request.kept is None:
        raise OSError(f"{file} was not sent along")
    text = change(case.request.kept)
    case.kept = text if text != case.request.kept else None


def _guard(patterns: PatternGuard) -> Guard:
    """The pattern library of this machine's person: a container's workspace has no files here."""

    def check_input(context: Context, call: ToolCall) -> GuardrailResult:
        return patterns.check_input(_nowhere(context), call)

    def check_output(
        context: Context, call: ToolCall, texts: Sequence[tuple[str, str]]
    ) -> tuple[GuardrailResult, Mapping[str, str]]:
        return patterns.check_output(_nowhere(context), call, texts)

    return Guard(check_input, check_output, lambda context: patterns.prepare(_nowhere(context)))


def _consultants(own: Consultants) -> Consultants:
    """Rules and plugins may look at a project's files: they are told of none."""

    def rules(question: RulesQuestion) -> Sequence[Objection]:
        call = question.call._replace(cwd="")
        return own.rules(question._replace(context=_nowhere(question.context), call=call))

    def results(question: ResultQuestion) -> Sequence[Objection]:
        call = question.call._replace(cwd="")
        return own.results(question._replace(context=_nowhere(question.context), call=call))

    return own._replace(rules=rules, results=results)


def _nowhere(context: Context) -> Context:
    return context._replace(workspace="", cwd="")
