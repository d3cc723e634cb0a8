"""Checks that an install asks package indexes only for what was committed before its session began.

Files are compared with that commit, not with the index or HEAD of now: an agent can write both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from lockgate.core.display_text import visible
from lockgate.core.errors import LockgateError
from lockgate.core.model import Analysis, Effect, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.system import caller

if TYPE_CHECKING:
    from lockgate.containment.registry_proxy.lookup import Wanted
    from lockgate.core.events import Context
    from lockgate.gate.monitor.bases import BaseCommit
    from lockgate.store.protocol import Store
    from lockgate.system.folders import Folders

_MOST_FILE = 4 * 1024 * 1024
_MOST_SHOWN = 200


def head_of(home: str, workspace: str) -> tuple[str, str]:
    """The root of a workspace's repository, and the commit that is checked out; empty where none is."""
    from lockgate.gate.host.repositories.repository import repository_at

    if not workspace:
        return "", ""
    repository = repository_at(workspace, home)
    return repository.root, repository.commit("HEAD")


def look_into_installs(
    store: Store, where: Folders, context: Context, analyses: Sequence[Analysis]
) -> tuple[list[Analysis], Wanted | None]:
    """What a call can do, and what its installs may ask package indexes for: nothing where it is not covered."""
    from lockgate.containment.registry_proxy import lookup

    if not any(lookup.asks_an_index(effect) for analysis in analyses for effect in analysis.effects):
        return list(analyses), None
    try:
        wanted = _find_wanted(store, where, context, analyses)
    except lookup.UncoveredError as error:
        why = visible(str(error), _MOST_SHOWN)
        return [_change(each, lambda effect: _explain(effect, why)) for each in analyses], None
    except LockgateError:
        return list(analyses), None
    return [_change(each, lambda effect: effect._replace(variant=Variant.PACKAGES)) for each in analyses], wanted


def _change(analysis: Analysis, change: Callable[[Effect], Effect]) -> Analysis:
    from lockgate.containment.registry_proxy import lookup

    effects = (change(effect) if lookup.asks_an_index(effect) else effect for effect in analysis.effects)
    return analysis._replace(effects=tuple(effects))


def _explain(effect: Effect, why: str) -> Effect:
    """The same, with the reason why it is not taken for what was committed."""
    return effect._replace(because=f"{effect.because}, and {why}")


def _find_wanted(store: Store, where: Folders, context: Context, analyses: Sequence[Analysis]) -> Wanted:
    from lockgate.containment.registry_proxy import lookup
    from lockgate.gate.monitor.bases import base_of

    if lookup.why_not():
        raise lookup.UncoveredError("this machine cannot contain it (lockgate doctor)")
    with store.reading() as tx:
        base = base_of(tx, context.subject.session)
    if base is None:
        raise lookup.UncoveredError("nothing is known of what was committed before this session")
    commands = [command for analysis in analyses for command in analysis.commands]
    read = _Committed(base, where.home)
    return lookup.find_wanted_of(commands, base.root, context.workspace, read, where.home, caller.environ())


class _Committed:
    """Reads files of a commit, as long as the work tree has the same ones."""

    def __init__(self, base: BaseCommit, home: str) -> None:
        from lockgate.gate.host.repositories.repository import repository_at

        self._base = base
        self._repository = repository_at(base.root, home)

    def __call__(self, path: str) -> bytes | None:
        from lockgate.containment.registry_proxy import lookup

        try:
            committed = self._repository.content(self._base.commit, path)
        except LookupError:
            raise lookup.UncoveredError("what was committed before this session cannot be read") from None
        if _lines(committed) != _lines(_read_now(os.path.join(self._base.root, path))):
            raise lookup.UncoveredError(f"{path!r} is not as it was committed when this session began")
        return committed


def _read_now(path: str) -> bytes | None:
    from lockgate.system.files import read_regular

    try:
        return read_regular(path, _MOST_FILE, follow=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        return b"\0"


def _lines(data: bytes | None) -> bytes | None:
    """A content, with ends of lines as git keeps them."""
    return None if data is None else data.replace(b"\r\n", b"\n")
