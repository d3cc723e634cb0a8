"""Measures parts in this process: the analysis, the gate as a program uses it, a scan with the whole library."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable

from lockgate.cli.bench.run.costs import Cost, Series
from lockgate.cli.bench.run.processes import COMMAND, RESULT
from lockgate.system.folders import Folders

_SOURCE = "".join(
    f"def load_{n}(path: str) -> dict[str, int]:\n"
    f'    """Read the settings of part {n}."""\n'
    f"    with open(path) as file:\n        return {{line: {n} for line in file}}\n\n\n"
    for n in range(200)
)
TEXT = _SOURCE[:10_000]
"""10 KB of source code."""


def measure(where: Folders, rounds: int) -> list[Series]:
    """Measure all of it so many times.

    Args:
        where: A prepared installation.
        rounds: How many times.
    """
    return [*_analysis(rounds), *_gate(rounds), *_state(where, rounds), _scan(where, rounds)]


def _measure(work: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000)


def _series(name: str, what: str) -> Series:
    return Series(name, what, [], interleaved=False)


def _analysis(rounds: int) -> list[Series]:
    from lockgate.analysis import analyse
    from lockgate.core.model import ToolCall
    from lockgate.resources.host_view import HostView

    around = HostView(home="/home/user", workspace="/home/user/project")
    commands = {
        "check-short": ("analysis of one everyday command, in process", COMMAND),
        "check-3kb": ("analysis of a 3 KB command, in process", " && ".join(["git log --oneline | head -5"] * 110)),
    }
    found = []
    for name, (what, command) in commands.items():
        call = ToolCall("Bash", {"command": command}, "/home/user/project")
        analyse(call, around)
        series = _series(name, what)
        series.costs.extend(_measure(lambda call=call: analyse(call, around)) for _ in range(rounds))  # type: ignore[misc]
        found.append(series)
    return found


def _gate(rounds: int) -> list[Series]:
    """The gate as a program has it that runs an agent."""
    from lockgate.clients.sdk import Gate

    given = {"command": COMMAND}
    check = _series("gate-check", "Gate.check_sync of that command, in process")
    finished = _series("gate-finished", "Gate's look at its result, in process")
    with tempfile.TemporaryDirectory() as folder, Gate.open(workspace=folder, ephemeral=True, ask="deny") as gate:
        session = gate.session()
        for number in range(rounds + 1):
            name = str(number)
            costs = (
                _measure(lambda name=name: session.check_sync("Bash", given, call_id=name)),  # type: ignore[misc]
                _measure(lambda name=name: session.finished_sync("Bash", given, RESULT, call_id=name)),  # type: ignore[misc]
            )
            if number:  # the first one loads the pattern library
                check.costs.append(costs[0])
                finished.costs.append(costs[1])
    return [check, finished]


def _state(where: Folders, rounds: int) -> list[Series]:
    """What is looked at before anything is believed, and what a label costs that is kept elsewhere too."""
    from lockgate.core.model import Label, Subject, Taint
    from lockgate.core.version import PACKAGE_FOLDER
    from lockgate.store.opening import open_store
    from lockgate.store.rows import SessionRow
    from lockgate.system.code_identity import OwnCode, code_of

    hook = os.path.join(PACKAGE_FOLDER, "hook.py")
    own = OwnCode([hook])
    code = _series("code", "whose code decides, told and compared, in process")
    opened = _series("state-opened", "state opened and compared with its head elsewhere, in process")
    labels = _series("labels", "tables and sealed labels looked at, in process")
    other = _series("commit", "commit that changes no label, in process")
    label = _series("commit-label", "commit that changes a label, in process")
    store = open_store(where.state)

    def read() -> None:
        with store.reading() as tx:
            tx.labels(Subject("bench"))

    def write(session: str, *taints: Taint) -> None:
        with store.transaction() as tx:
            tx.put_session(SessionRow(session))
            tx.add_taints(Subject(session), taints)
            tx.append_audit(1.0, {"event": "bench"})

    try:
        given = Taint(Label.UNTRUSTED, "a page", "", "", 1.0)
        write("bench", given)
        for number in map(str, range(rounds)):
            other.costs.append(_measure(lambda name=f"other-{number}": write(name)))  # type: ignore[misc]
            label.costs.append(_measure(lambda name=f"label-{number}": write(name, given)))  # type: ignore[misc]
            labels.costs.append(_measure(read))
            code.costs.append(_measure(lambda: own.is_told_by(code_of(hook))))
            opened.costs.append(_measure(lambda: open_store(where.state).close()))
    finally:
        store.close()
    return [code, opened, labels, other, label]


def _scan(where: Folders, rounds: int) -> Series:
    from lockgate.configuration.pattern_library.opening import open_scanner
    from lockgate.patterns.engine.request import CheckRequest
    from lockgate.patterns.fields import Field
    from lockgate.patterns.model import Side
    from lockgate.store.opening import open_store

    store = open_store(where.state)
    try:
        scanner = open_scanner(store, where, os.path.join(where.home, "project"), 30.0)
    finally:
        store.close()
    series = _series("scan-10kb", "scan of 10 KB with the whole library, in process")
    for number in range(rounds + 1):
        cost = _measure(lambda: scanner.check([Field("text", "text", TEXT)], CheckRequest(Side.OUTPUT, "Bash")))
        if number:
            series.costs.append(cost)
    return series
