"""Decides which containers may run provably local calls at once: none where this machine's rules must be asked.

A container's side knows the shipped tables, and not what the person of this machine has configured. A result that only
the configuration calls secret is labelled when it comes back; a call that the configuration refuses must not have run.
"""

from __future__ import annotations

import asyncio
from functools import partial

from lockgate.configuration import load
from lockgate.configuration.load import Configuration
from lockgate.configuration.pattern_library.layers import looks_at
from lockgate.core.errors import LockgateError
from lockgate.core.model import EffectKind, Verdict
from lockgate.gate import Parts
from lockgate.policy.profiles import COLUMNS, Profile
from lockgate.resources.host_view import AnalysisRules, no_category, no_service
from lockgate.service.containers.groups import Groups
from lockgate.service.containers.workers import Workers
from lockgate.system.folders import Folders

_LOOK_SECONDS = 1.0
_HOST = ""
"""The host's own turn among the groups', none of which has this name."""


class Locality:
    """Keeps what the keys of all groups say of it in step with the configuration."""

    def __init__(self, where: Folders, groups: Groups, workers: Workers) -> None:
        """Use the workers once they run."""
        self._where, self._groups, self._workers = where, groups, workers
        self._said: tuple[bool, int] | None = None

    async def look(self) -> None:
        """Look once. A configuration that cannot be read counts as one that refuses."""
        refuses = await self._workers.of(_HOST).do(_HOST, partial(_refuses, self._where))
        seen = (refuses, self._groups.version())
        if seen != self._said:
            await asyncio.to_thread(self._groups.allow_local, not refuses)
            self._said = seen

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.look()


def _refuses(where: Folders, parts: Parts) -> bool:
    try:
        found = load.load(parts.store, home=where.home, config_dir=where.config, workspace="", state=where.state)
    except LockgateError:
        return True
    return may_refuse(found) or has_patterns(where)


def may_refuse(found: Configuration) -> bool:
    """Whether a configuration can refuse a call that has no effect for the shipped tables, or nobody knows."""
    return bool(found.problems or found.sets_rules) or any(
        _adds_refusals(policy.rules, policy.profile) for policy in found.policies
    )


def has_patterns(where: Folders) -> bool:
    """Whether this machine's person has a file of patterns, which can refuse any call for the texts in it."""
    return any(look.data is not None or look.problem for look in looks_at(where, ""))


def _adds_refusals(rules: AnalysisRules, profile: Profile) -> bool:
    return bool(
        rules.protected_paths
        or rules.persistent_paths
        or rules.command_category is not no_category
        or rules.tool_category is not no_category
        or rules.service is not no_service
        or (rules.secret_paths and _refuses_to_read(profile))
    )


def _refuses_to_read(profile: Profile) -> bool:
    """Whether reading a secret is refused anywhere. In the shipped profiles it only gives the label."""
    row = EffectKind.READ_SECRET.value
    return any(profile.cell(row, column) != (Verdict.ALLOW,) for column in COLUMNS)
