"""What ``lockgate doctor`` finds of the gate's own things: its files, its parts, and what it has recorded."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

from lockgate.cli.common.state import head_anchors
from lockgate.cli.doctor.rights import check_mode, check_program
from lockgate.clients.hook import native
from lockgate.clients.install import claude
from lockgate.clients.install.claude_settings_view import CheckContext, DoctorCheck
from lockgate.core.display_text import visible
from lockgate.core.errors import LockgateError, StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.rows import AuditQuery
from lockgate.system.folders import Folders
from lockgate.system.timestamps import local_time

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

_LIBRARIES = (
    "re2",
    "hyperscan",
    "yaml",
    "regex",
    "pathspec",
    "jsonschema",
    "pluggy",
    "tree_sitter",
    "tree_sitter_javascript",
)
_LEAST_MB = 250
_LEAST_OF_GROUP = 100_000_000
"""Bytes that a gate and a hook use together, and a little more."""
_AHEAD = 60.0
"""Seconds by which the clock of a record may be ahead."""
_MOST_FUTURE = 100
"""Records of a time that has not come yet, of which more are not counted."""
_REINSTALL = "install it again: in a clone of Lockgate, pip install --force-reinstall ."
_STATE_FIRST = "mend the state first; until then every call is blocked"
_STATE = 'do what it says, or see docs/upgrading.md, "What a block says"; until then every call is blocked'


def own_checks(seen: CheckContext) -> Iterator[DoctorCheck]:
    """What is found of the gate itself, in order."""
    yield check_mode("state folder", seen.folders.state, 0o077)
    yield check_mode("key", os.path.join(seen.folders.state, "key"), 0o077)
    yield check_mode("configuration folder", seen.folders.config, 0o022)
    hook = claude.this_launch(seen.folders).hook
    yield check_program(seen)
    yield _build(hook)
    yield _libraries()
    yield from file_system(seen.folders.state)
    yield _hook_client(hook)
    yield _resident_gate(seen)
    yield _configuration(seen)
    yield from _pause(seen.folders.state)
    yield from _fleet(seen.folders)
    yield from _patterns(seen)
    yield from _plugins(seen)
    yield _containment(seen.folders)
    yield from _containers(seen.folders)
    yield from _judge(seen)
    yield from _authors(seen)
    yield from _approvers(seen)
    yield from _people(seen)
    yield from _telemetry(seen)
    outside = list(_outside(seen.folders))  # first: it may find that the state was put back
    yield from _state(seen.folders)
    yield from outside


def _build(hook: str) -> DoctorCheck:
    """Which build this is, and whether its files are those that it was made with."""
    from lockgate.core.version import BUILD
    from lockgate.store.files import VERSION
    from lockgate.system.package_digest import digest_of

    package = os.path.dirname(hook)
    says = f"version {BUILD.version} in {package}, schema {VERSION}"
    if not BUILD.digest:
        return DoctorCheck("build", "ok", f"{says}; a source tree, whose files may change")
    try:
        found = digest_of(package)
    except OSError as error:
        return DoctorCheck("build", "fail", f"{says}; its files cannot be read: {error.strerror}", _REINSTALL)
    if found != BUILD.digest:
        return DoctorCheck("build", "fail", f"{says}; its files are not those that it was built with", _REINSTALL)
    return DoctorCheck("build", "ok", f"{says}, code {found[:12]}")


def _libraries() -> DoctorCheck:
    """Whether everything can be loaded that a hook loads only where it needs it."""
    from lockgate.system.libraries import library

    missing = []
    for name in _LIBRARIES:
        try:
            library(name)
        except Exception as error:  # noqa: BLE001 - whatever a library does, it cannot be used
            missing.append(f"{name} ({visible(str(error), 100)})")
    if missing:
        return DoctorCheck("libraries", "fail", f"cannot be loaded: {', '.join(missing)}", _REINSTALL)
    return DoctorCheck("libraries", "ok", "all of them can be loaded")


def check_memory(groups: str = "/proc/self/cgroup", below: str = "/sys/fs/cgroup") -> Iterator[DoctorCheck]:
    """Nothing is said where there is no limit that matters.

    Args:
        groups: The file that names the control groups of this process.
        below: Where they are mounted.
    """
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < _LEAST_MB * 1_000_000:
        says = f"processes may have {limit // 1_000_000} MB of addresses, and a hook needs about {_LEAST_MB}"
        yield DoctorCheck("memory", "fail", says, f"raise the limit: ulimit -v {_LEAST_MB * 1000}")
    least = min(_limits_of_groups(groups, below), default=_LEAST_OF_GROUP)
    if least < _LEAST_OF_GROUP:
        says = f"all processes here may use {least // 1_000_000} MB together, and Lockgate needs about"
        mend = "raise the limit of this container or unit: `docker run --memory`, MemoryMax= of systemd"
        yield DoctorCheck("memory", "fail", f"{says} {_LEAST_OF_GROUP // 1_000_000} beside the client", mend)


def _limits_of_groups(groups: str, below: str) -> Iterator[int]:
    """The most bytes that each control group of this process may use, of those that say it."""
    try:
        with open(groups, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except (OSError, ValueError):  # another system than Linux
        return
    for _, kinds, path in (line for line in lines if len(line) == 3 and line[1] in ("", "memory")):
        name = "memory.limit_in_bytes" if kinds else "memory.max"
        parts = path.strip("/").split("/")
        for depth in range(len(parts) + 1):  # in a container the group is the one that is mounted
            place = os.path.join(below, kinds, *parts[:depth], name)
            with suppress(OSError, ValueError), open(place, encoding="ascii") as file:
                yield int(file.read())


def file_system(state: str) -> Iterator[DoctorCheck]:
    """Nothing is said of one that has what is needed."""
    from lockgate.store.probe import problem_of

    if os.path.isdir(state) and (problem := problem_of(state)):
        yield DoctorCheck("file system", "fail", problem, "see docs/upgrading.md")


def _hook_client(hook: str) -> DoctorCheck:
    """Which client an installation would take; either protects alike."""
    problem = native.problem(hook)
    return DoctorCheck(
        "hook client",
        "ok",
        f"Python; the native one: {problem}" if problem else "native, where `lockgate install` chooses",
    )


def _mend(error: LockgateError, where: Folders, otherwise: str) -> str:
    """What to do about an error: where the store is a shared one, its files here are not to be moved away."""
    from lockgate.store.files import ELSEWHERE

    shared = isinstance(error, StoreError) and os.path.lexists(os.path.join(where.state, ELSEWHERE))
    return (
        "run: lockgate store status; see docs/postgresql.md; until then every call is blocked" if shared else otherwise
    )


def _configuration(seen: CheckContext) -> DoctorCheck:
    from lockgate.configuration import load

    try:
        problems = load.load_for_cli(seen.project).problems
    except LockgateError as error:
        otherwise = _STATE_FIRST if isinstance(error, StoreError) else "run: lockgate config check"
        return DoctorCheck("configuration", "fail", str(error), _mend(error, seen.folders, otherwise))
    if problems:
        return DoctorCheck("configuration", "fail", "; ".join(map(str, problems)), "run: lockgate config check")
    return DoctorCheck("configuration", "ok", "every layer is valid")


def _patterns(seen: CheckContext) -> Iterator[DoctorCheck]:
    """Whether the pattern library is compiled and loads, and what is to be said of its files and of known secrets."""
    from lockgate.configuration.load import find_workspace
    from lockgate.configuration.pattern_library.readiness import make_ready
    from lockgate.store.opening import open_existing

    name = "patterns"
    try:
        store = open_existing(seen.folders.state)
        if store is None:
            yield DoctorCheck(
                name,
                "warn",
                "not compiled yet: the first session will wait for it",
                "once hooks are registered, run lockgate doctor again in a few seconds",
            )
            return
        try:
            made = make_ready(store, seen.folders, find_workspace(seen.project, seen.folders.home))
        finally:
            store.close()
    except LockgateError as error:
        otherwise = _STATE_FIRST if isinstance(error, StoreError) else "mend it; until then every call is blocked"
        yield DoctorCheck(name, "fail", str(error), _mend(error, seen.folders, otherwise))
        return
    how = f"made ready now, in {made.seconds:.1f} s" if made.seconds else "compiled, and fresh"
    yield DoctorCheck(name, "ok", f"the engines load; rules: {made.rules}; {how}")
    if made.problems:
        yield DoctorCheck("pattern files", "fail", "; ".join(map(str, made.problems)), "run: lockgate patterns list")
    if made.notes:
        yield DoctorCheck(
            "pattern notes", "warn", "; ".join(made.notes), "see docs/patterns.md and docs/known-secrets.md"
        )


def _plugins(seen: CheckContext) -> Iterator[DoctorCheck]:
    """Whether each plugin of the configuration can be loaded. Nothing is said where there is none."""
    from lockgate.cli.plugins import load_plugins

    try:
        found = load_plugins(seen.project)
    except LockgateError:
        return  # said already: the configuration cannot be read
    for each in found:
        if each.problem:
            yield DoctorCheck(
                "gate plugin", "fail", f"{each.problem}; until then every call is denied", "run: lockgate plugins list"
            )
        else:
            yield DoctorCheck("gate plugin", "ok", f"{each.as_json['name']} is asked about every call")


def _containment(where: Folders) -> DoctorCheck:
    from lockgate.containment.host import try_again
    from lockgate.containment.registry_proxy import lookup

    found = try_again(where.state)
    if found.problem:
        mend = "run: lockgate setup sandbox; until then" if sys.platform == "linux" else "until then"
        asked = f"{mend} a judge or a person is asked where a command could be contained (docs/containment.md)"
        return DoctorCheck("containment", "warn", found.problem, asked)
    ways = f"{found.way} {found.program}".strip() or found.launched_by
    how = f"commands can be contained by {ways}"
    launched = f"launched natively, by {found.launcher}" if found.launcher else "launched by Python: no native launcher"
    shared = "share a room" if found.launcher == "namespaces" else "stand alone, and a server ends with its command"
    why = lookup.why_not()
    installs = f"installs are asked about: {why}" if why else "installs of what was committed are contained"
    return DoctorCheck("containment", "ok", f"{how}; {launched}; a session's commands {shared}; {installs}")


def _judge(seen: CheckContext) -> Iterator[DoctorCheck]:
    """Whether the judge can be asked, where this project's profile names one. To ask it would cost money."""
    from lockgate.configuration import load
    from lockgate.gate.judge.api_key import why_not
    from lockgate.gate.judge.settings import settings_of

    try:
        found = load.load_for_cli(seen.project)
    except LockgateError:
        return  # said above
    if not found.judges:
        return
    problem = why_not(found.options.judge, os.environ, seen.folders.state)
    if problem:
        mend = "see docs/judge.md; until then the next verdict of its cells holds, most often a question to a person"
        yield DoctorCheck("judge", "warn", f"it cannot be asked: {problem}", mend)
        return
    settings = settings_of(found.options.judge)
    yield DoctorCheck(
        "judge", "ok", f"{settings.model} at {settings.host} can be asked; to try it: lockgate judge check"
    )


def _pause(state: str) -> Iterator[DoctorCheck]:
    from lockgate.configuration.pause import look_at_pause
    from lockgate.store.opening import open_existing
    from lockgate.system.uptime import instant

    try:
        store = open_existing(state)
        if store is None:
            return
        try:
            with store.reading() as tx:
                pause = look_at_pause(tx, state, instant())
        finally:
            store.close()
    except StoreError:
        return  # another check says so
    if pause.until:
        says = f"agents may do everything until {local_time(pause.until)}"
        yield DoctorCheck("pause", "warn", says, "run: lockgate resume")
    if pause.problem:
        yield DoctorCheck(
            "pause", "warn", pause.problem, "find out what wrote it (lockgate audit show); run: lockgate resume"
        )


def _fleet(where: Folders) -> Iterator[DoctorCheck]:
    from lockgate.cli.doctor.optional import fleet

    for status, detail, mend in fleet(where.state):
        yield DoctorCheck("fleet policy", status, detail, mend)


def _containers(where: Folders) -> Iterator[DoctorCheck]:
    if not os.path.isdir(os.path.join(where.state, "groups")):  # as nearly always
        return
    from lockgate.cli.doctor.optional import containers

    for status, detail, mend in containers(where.state):
        yield DoctorCheck("containers", status, detail, mend)


def _approvers(seen: CheckContext) -> Iterator[DoctorCheck]:
    from lockgate.cli.doctor.optional import approver_keys

    for status, detail, mend in approver_keys(seen.project):
        yield DoctorCheck("approvers", status, detail, mend)


def _authors(seen: CheckContext) -> Iterator[DoctorCheck]:
    from lockgate.cli.doctor.optional import author_hosts

    for status, detail, mend in author_hosts(seen.project):
        yield DoctorCheck("whose words", status, detail, mend)


def _people(seen: CheckContext) -> Iterator[DoctorCheck]:
    from lockgate.cli.doctor.optional import people

    for status, detail, mend in people(seen.project, seen.folders.state):
        yield DoctorCheck("people", status, detail, mend)


def _telemetry(seen: CheckContext) -> Iterator[DoctorCheck]:
    from lockgate.cli.doctor.optional import telemetry

    for status, detail, mend in telemetry(seen.project, seen.folders.state):
        yield DoctorCheck("telemetry", status, detail, mend)


def _resident_gate(seen: CheckContext) -> DoctorCheck:
    from lockgate.cli.doctor.gate import resident_gate

    return DoctorCheck("resident gate", *resident_gate(seen.folders.state, os.environ))


def _outside(where: Folders) -> Iterator[DoctorCheck]:
    """Whether the head of the audit is kept outside of the state folder. Nothing is said of a shared store."""
    name = "outside head"
    try:
        elsewhere = head_anchors(where)
        kept, lacking = elsewhere.places()
        problems = dict.fromkeys((*elsewhere.compare(), *elsewhere.problems(time.time())))
        kept += elsewhere.list_reached()
    except LockgateError:
        return  # said already
    if lacking:
        says = f"an older state that is put back may not be noticed: cannot keep the head in {', '.join(lacking)}"
        yield DoctorCheck(name, "warn", says, "make room there, and let yourself write there")
    elif kept:
        yield DoctorCheck(name, "ok", f"kept in {', '.join(kept)}")
    for problem in problems:
        mend = f"run: {problem.mend}" if problem.is_over else "see docs/audit-head.md"
        yield DoctorCheck("anchor", "warn", visible(problem.consequence), mend)


def _state(where: Folders) -> Iterator[DoctorCheck]:
    from lockgate.configuration.load import load_for_cli
    from lockgate.gate.contradictions import contradictions
    from lockgate.gate.session import state_warnings
    from lockgate.store.audit.chain import verify_store
    from lockgate.store.opening import open_existing

    try:
        store = open_existing(where.state)
    except LockgateError as error:
        yield DoctorCheck("state", "fail", str(error), _mend(error, where, _STATE))
        return
    if store is None:
        yield DoctorCheck("state", "ok", "nothing is recorded yet")
        return
    try:
        approvers = load_for_cli(where.home).options.approvers
        with store.reading() as tx:
            yield DoctorCheck("state", "ok", f"it opens; sessions: {len(tx.sessions())}")
            verified = verify_store(tx, store.key)
            against = contradictions(tx, approvers) if verified.ok else []
            warnings = state_warnings(tx, store.clock())
            future = _find_future(tx, store.clock())
    except LockgateError as error:
        yield DoctorCheck("state", "fail", str(error), _mend(error, where, _STATE))
        return
    finally:
        store.close()
    yield from future
    for each in warnings:
        yield DoctorCheck("state", "warn", visible(each.says, 600), f"run: {each.mend}")
    if against:
        says = f"the state is not what the audit tells; {against[0].text}"
        yield DoctorCheck("audit", "fail", says, "run: lockgate audit verify")
    elif verified.ok:
        yield DoctorCheck("audit", "ok", f"the chain holds; records: {verified.records}")
    else:
        yield DoctorCheck("audit", "fail", f"the chain is broken: {verified.problem}", "run: lockgate audit verify")


def _find_future(tx: Transaction, now: float) -> list[DoctorCheck]:
    """Whether records tell a time that has not come yet: the clock was ahead then, or is behind now."""
    found = tx.find_audit(AuditQuery(since=now + _AHEAD), limit=_MOST_FUTURE)
    if not found:
        return []
    count = f"{len(found)}{' or more' if len(found) == _MOST_FUTURE else ''}"
    says = f"{count} records tell a time that has not come yet, up to {local_time(max(row.at for row in found))}"
    mend = "look at the clock (date); where it is right now, nothing is to be done: docs/clock.md"
    return [DoctorCheck("clock", "warn", f"{says}: the clock was ahead then, or is behind now", mend)]
