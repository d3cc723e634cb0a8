"""Plans contained commands for the native launcher. It runs nothing.

The launcher asks three things, each on a connection of its own. It sends the path of ``contain.py``, the folder that it
is in, and then the words that it was started with:

* ``@contain-walk``: how to walk through the project and the home folder;
* ``@contain-plan``, with what it has seen there: the plan of the sandbox;
* ``@contain-places``, with what is new: which of it is at a place where nothing may be made.

Anybody who may ask a hook's question may ask these. An answer tells them nothing that they could not find out. The
launcher, which is outside of every sandbox, is the one that follows the plan. Anything unexpected is declined. The
launcher then becomes ``contain.py``, which makes its own plan.
"""

from __future__ import annotations

import os
import time
from contextvars import copy_context

from lockgate.containment.host import host
from lockgate.containment.layout import Layout, lay_out, roots_of
from lockgate.containment.leftovers import drop_unused
from lockgate.containment.linux.native_launcher import (
    RecordedLookup,
    encode_filters,
    encode_plan,
    encode_protected,
    encode_walk,
    suspects,
)
from lockgate.containment.request import RunCommandLine, RunContext, parse, paths_of, run_of
from lockgate.core.errors import BadInputError, ContainmentError, LockgateError
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.gate.host.host_view import host_view_of
from lockgate.resources.protected_paths import PathGuard
from lockgate.system.caller import Caller, stand_in_for
from lockgate.system.error_log import note, place_of
from lockgate.system.folders import Folders

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from lockgate.clients.wire.resident import HookRequest
    from lockgate.configuration.load import Configuration
    from lockgate.containment.layout import ContainedRun
    from lockgate.resources.host_view import HostView
    from lockgate.system.ttl_cache import TtlCache

PROGRAM = os.path.join(PACKAGE_FOLDER, "contain.py")
_WALK, _PLAN, _PLACES = "@contain-walk", "@contain-plan", "@contain-places"
_MOST_NAMED = 64
"""Paths in a command that the gate looks at; with more, the launcher plans by itself."""
_GUARDS = 32
"""Projects of which the guard is kept: to make one takes longer than the rest of a plan."""
_DROP_EVERY = 3600.0
"""Seconds between two looks for what nobody uses any more."""


class PlanAnswer(Record):
    """The answer to a launcher, in two parts."""

    stdout: bytes
    stderr: bytes = b""


class Planner:
    """Answers the launcher's questions, for one state folder. Each call must end soon: others wait meanwhile."""

    def __init__(self, where: Folders, configure: Callable[[Context], Configuration], cache: TtlCache) -> None:
        """Begin without guards.

        Args:
            where: The folders that are served.
            configure: Looks up the configuration of a workspace.
            cache: For how long what was looked up of the machine holds.
        """
        self._where = where
        self._configure = configure
        self._host = cache.remember(lambda *_: host(where.state), lambda _: "")
        self._guards: dict[Hashable, tuple[PathGuard, bytes]] = {}
        self._dropped_at = float("-inf")

    def answer(self, asked: HookRequest, pid: int) -> PlanAnswer | None:
        """The answer to a launcher's question; ``None`` where it has to plan by itself."""
        context = copy_context()
        context.run(stand_in_for, Caller(asked.environ, pid, asked.parent, asked.mark))
        try:
            return context.run(self._answer, asked)
        except LockgateError:
            return None
        except Exception as error:  # noqa: BLE001 - whatever it is, the launcher finds out by itself and says so
            note(self._where.state, "contain", type(error).__name__, place_of(error))
            return None

    def _answer(self, asked: HookRequest) -> PlanAnswer:
        question, program, cwd, *words = asked.arguments
        read = parse(words)
        options = read.options
        if program != PROGRAM or Folders(options["home"], options["state"], options["config"]) != self._where:
            raise BadInputError("it is for another installation or another gate")
        if len(read.named) > _MOST_NAMED or not os.path.isabs(cwd):
            raise BadInputError("it names more than a gate looks at")
        run = self._run(read, RunContext(cwd, asked.environ, asked.parent))
        roots = roots_of(run)
        guard, filters = self._guard(run.around)
        if question == _WALK:
            return PlanAnswer(encode_walk(roots, run.home, guard, filters))
        if question == _PLACES:
            seen = suspects(asked.payload, (*roots, *guard.program_folders))
            return PlanAnswer(encode_protected(roots, seen, guard))
        if question == _PLAN:
            return self._plan(run, roots, guard, asked.payload)
        raise BadInputError("it asks something else")

    def _plan(self, run: ContainedRun, roots: tuple[str, ...], guard: PathGuard, payload: bytes) -> PlanAnswer:
        able = self._host(None)
        if not able.launcher:
            raise ContainmentError(able.problem or "there is no launcher")
        home = os.path.realpath(run.home)
        layout = lay_out(run, RecordedLookup(guard, roots, suspects(payload, (*roots, *guard.program_folders, home))))
        self._drop_unused(layout)
        # A process that may write to git's records would still do so when a person has git change their configuration.
        return PlanAnswer(*encode_plan(layout.plan, able._replace(way=able.launcher), stays=not run.git))

    def _run(self, asked: RunCommandLine, place: RunContext) -> ContainedRun:
        workspace = os.path.realpath(asked.options["workspace"])
        found = self._configure(Context("", Subject("-"), place.cwd, workspace))
        around = host_view_of(self._where, workspace, "", paths_of(found.policies))
        return run_of(asked, self._where, place, around)

    def _guard(self, around: HostView) -> tuple[PathGuard, bytes]:
        """The guard of a project and its filters, kept for as long as all that they were made of is the same."""
        rules = around.rules
        made_of = (
            *(around.home, around.real_home, around.workspace, around.own_paths, around.state_paths),
            *(around.client_paths, around.session_results, tuple(around.variables.items()), around.hook_folders()),
            around.program_folders,
            *(rules.protected_paths, rules.secret_paths, rules.persistent_paths),
        )
        found = self._guards.get(made_of)
        if found is None:
            if len(self._guards) >= _GUARDS:
                self._guards.clear()
            guard = PathGuard(around)
            found = self._guards[made_of] = guard, encode_filters(guard)
        return found

    def _drop_unused(self, layout: Layout) -> None:
        """Now and then, start a thread that removes what nobody uses any more: it may be much."""
        now = time.monotonic()
        if now - self._dropped_at < _DROP_EVERY:
            return
        self._dropped_at = now
        from threading import Thread

        Thread(target=drop_unused, args=(layout.folder, time.time()), name="lockgate-leftovers", daemon=True).start()
