"""Whether a call may run packages that a session with untrusted text has installed, and whether that is over."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lockgate.core.display_text import visible
from lockgate.core.model import REACHING, Analysis, Effect, EffectKind, Label, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.session import packages
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from lockgate.containment.registry_proxy.lookup import Wanted
    from lockgate.core.events import Context
    from lockgate.store.protocol import Store
    from lockgate.system.folders import Folders

_MOST_SHOWN = 200
_CODE = frozenset({Variant.PLAIN, Variant.SCRIPT, Variant.RUNTIME})
"""Kinds of code that may load an installed package."""


def restrict_by_packages(
    store: Store, where: Folders, context: Context, analyses: Sequence[Analysis], wanted: Wanted | None
) -> list[Analysis]:
    """What a call can do, where it may run packages that a session with untrusted text has installed.

    Such a session itself has it as before: there all code that cannot be seen through is contained.
    """
    with store.reading() as tx:
        every = packages.list_standing(tx)
        if Label.UNTRUSTED in tx.labels(context.subject):
            return list(analyses)
    workspace = os.path.realpath(context.workspace)
    left = [each for each in every if any(_meets(each, analysis, workspace) for analysis in analyses)]
    left = [each for each in left if not _is_ended_by_commit(store, where, context, each)]
    if not left:
        return list(analyses)
    return [_mark_as_packages(analysis, left[0].folder, wanted) for analysis in analyses]


def _meets(installed: packages.InstalledPackages, analysis: Analysis, workspace: str) -> bool:
    commands = [each._replace(folders=tuple(map(_real, each.folders))) for each in analysis.commands]
    return installed.may_be_run(commands, workspace)


def _real(folder: str) -> str:
    return os.path.realpath(folder) if folder else ""


def _runs_code(effect: Effect) -> bool:
    # What only another machine or a service of this one can run is none of the project's.
    return effect.kind is EffectKind.EXECUTE and effect.variant in _CODE and not effect.uncontainable


def _mark_as_packages(analysis: Analysis, folder: str, wanted: Wanted | None) -> Analysis:
    """The same, with its code as that of packages. What needs the network or rights is asked about, not contained."""
    bare = next((why for effect in analysis.effects if (why := _needs(effect, wanted))), "")
    because = f"it may run packages that a session with untrusted text has installed in {visible(folder, _MOST_SHOWN)}"

    def restrict(effect: Effect) -> Effect:
        if not _runs_code(effect):
            return effect
        why = f"{effect.because}; {because}"
        return effect._replace(variant=Variant.INSTALLED, because=why, uncontainable=bare)

    return analysis._replace(effects=tuple(map(restrict, analysis.effects)))


def _needs(effect: Effect, wanted: Wanted | None) -> str:
    """What an effect needs that a contained command has not; empty where it needs nothing."""
    if effect.kind not in REACHING or (wanted is not None and effect.variant is Variant.PACKAGES):
        return effect.uncontainable
    return f"`{effect.what}` needs the network, which a contained command has not"


def _is_ended_by_commit(store: Store, where: Folders, context: Context, seen: packages.InstalledPackages) -> bool:
    """Whether somebody has committed the files that name the packages, when no untrusted session went on."""
    from lockgate.gate.host.repositories.repository import repository_at
    from lockgate.store.audit.record import event_record

    if not seen.files:
        return False
    repository = repository_at(seen.root, where.home)
    head = repository.commit("HEAD")
    if not head or head == seen.head:
        return False
    if not seen.head:
        with store.transaction() as tx:
            packages.wait_for_commit(tx, seen, head)
        return False
    try:
        same = all(_digest(repository.content(head, path)) == digest for path, digest in seen.files.items())
    except LookupError:
        return False
    if not same:
        return False
    with store.transaction() as tx:
        if packages.end(tx, seen):
            tx.append_audit(
                store.clock(), event_record(context, packages.ENDED, {**packages.describe(seen), "commit": head})
            )
    return True


def _digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()
