"""A plan in the words in which the resident gate hands it to the native launcher. Format: native/plan.h."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockgate.containment.host_facts import Host
from lockgate.containment.linux import bubblewrap
from lockgate.containment.linux.native_walk import spelt
from lockgate.containment.linux.proc import settings
from lockgate.containment.linux.seccomp import program
from lockgate.containment.plan import Plan
from lockgate.core.errors import ContainmentError

PLAN = "plan 1"


def spelt_plan(plan: Plan, host: Host) -> tuple[bytes, bytes]:
    """The words of a plan, and the filter of system calls.

    Raises:
        ContainmentError: The launcher knows no such way.
    """
    calls = program()
    if calls is None or host.way not in ("bubblewrap", "namespaces"):
        raise ContainmentError(f"the launcher knows no way named {host.way!r}")
    words = [PLAN, host.way, host.program, plan.cwd]
    by_bubblewrap = host.way == "bubblewrap"
    words += _counted(bubblewrap.options(plan) if by_bubblewrap else ())
    words += _counted([] if by_bubblewrap else [text for mount in plan.mounts for text in mount])
    words += _counted([] if by_bubblewrap else settings())
    words += _counted(plan.writable)
    words += _counted([f"{name}={value}" for name, value in plan.environment.items()])
    words += _counted(plan.command)
    if any("\0" in word for word in words):
        raise ContainmentError("the plan holds a zero byte")
    return spelt(words), calls


def _counted(words: Sequence[str]) -> Iterator[str]:
    yield str(len(words))
    yield from words
