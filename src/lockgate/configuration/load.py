"""Loads the configuration: finds its files, checks which of a project's are trusted, and compiles them.

Where nothing has changed since the last look, what the files come to is taken from the store. Neither a YAML parser nor
the schema is imported then. A file that is not valid is reported, and its last good content stands in for it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from lockgate.configuration.layers.files import (
    LOCKED,
    LayerFile,
    LayerPlace,
    LayerState,
    find_trusted_files,
    good_digest,
    look_at,
    may_be_in_fleet,
    text_digest,
)
from lockgate.core.errors import ConfigError
from lockgate.core.model import Verdict
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.core.version import PACKAGE_FOLDER, __version__
from lockgate.policy.compiled import Policy, policy
from lockgate.store import chain_links
from lockgate.system.files import real_path
from lockgate.system.folders import find_managed_folder

if TYPE_CHECKING:
    from typing import Any

    from lockgate.configuration.bundles.fleet import Fleet
    from lockgate.store.protocol import Store, Transaction

KEPT = 200
"""Workspaces whose compiled configuration is kept."""
_FORMAT = 5
"""The version of the stored form; another number makes every stored configuration stale."""
_CACHE = "config:compiled:"
_SEAL = 64
"""Characters of the seal before what is kept."""


class GateOptions(Record):
    """Settings that are no policy. They come from trusted layers only."""

    deadline_seconds: float | None = None
    """Seconds that a decision may take; ``None`` where no layer says."""
    retention_days: int | None = None
    """Days that ended sessions are kept; ``None`` where no layer says."""
    judge: Mapping[str, Any] | None = None
    """The model that is asked, as the file says it; ``None`` where no layer says."""
    approvals: Mapping[str, Any] | None = None
    """How a person is asked and told, as the file says it; ``None`` where no layer says."""
    approvers: Mapping[str, Any] | None = None
    """The approvers who must sign a yes; ``None`` where no layer names any, and then nobody signs."""
    plugins: tuple[str, ...] = ()
    """Plugins that are asked about each call: names of entry points, or files."""
    git: Mapping[str, Any] | None = None
    """The built-in rules about git, as the file says them; ``None`` where no layer says."""
    audit: Mapping[str, Any] | None = None
    """How long the audit is kept, as the file says it; ``None`` where no layer says."""
    observability: Mapping[str, Any] | None = None
    """Where metrics, traces and logs go, as the file says it; ``None`` where no layer says."""
    pause: str | None = None
    """Whether a person may pause: ``allowed`` or ``forbidden``; ``None`` where no layer says."""
    prompts: str | None = None
    """``fewer`` where the client is not to ask about harmless commands; ``client`` or ``None`` where it asks."""
    ci: Mapping[str, Any] | None = None
    """Agents in jobs of a CI service, as the file says it; ``None`` where no layer says."""
    store: Mapping[str, Any] | None = None
    """How the state is kept, as the file says it; ``None`` where no layer says."""
    trust: Mapping[str, Any] | None = None
    """The authors whose words are trusted; ``None`` where no layer names any, and then nobody is asked."""


class Configuration(Record):
    """The configuration that all layers make."""

    policies: tuple[Policy, ...]
    """At least one. A call gets the strictest of their verdicts and the union of their labels."""
    problems: tuple[ConfigError, ...] = ()
    """Files that are not valid."""
    layers: tuple[LayerState, ...] = ()
    """All places, from the lowest to the highest layer."""
    options: GateOptions = GateOptions()
    compiled: tuple[Mapping[str, Any], ...] = ()
    """What the policies were made of, with the layer of each value."""
    judges: bool = False
    """Whether the table that decides has a judge asked about some calls."""
    sets_rules: bool = False
    """Whether some layer has rules or plugins asked about calls."""
    digest: str = ""
    """Changes with every file that counts; empty where the configuration was not loaded for a decision."""

    @property
    def is_signed_alone(self) -> bool:
        """Whether a yes counts only where an approver has signed it, so that no dialog of a client can take one."""
        approvers = self.options.approvers
        return approvers is not None and approvers.get("dialog") != "allowed"

    @property
    def locked(self) -> bool:
        """Whether a fleet's policy is missing, so that every effect is denied."""
        return any(layer.state == LOCKED for layer in self.layers)


def places(home: str, config_dir: str, workspace: str) -> tuple[LayerPlace, ...]:
    """All places of configuration files, from the lowest to the highest layer.

    Args:
        home: The user's home folder.
        config_dir: The folder of the user's ``lockgate.yaml``.
        workspace: The project's root folder; empty where there is none.
    """
    found = [
        LayerPlace("managed lockgate.yaml", os.path.join(find_managed_folder(), "lockgate.yaml")),
        LayerPlace("user lockbox.json", os.path.join(home, ".claude", "lockbox.json")),
        LayerPlace("user lockgate.yaml", os.path.join(config_dir, "lockgate.yaml")),
    ]
    if os.path.isabs(workspace) and "\0" not in workspace:
        # Resolved, so that a project is the same by whichever link a client names it.
        root = real_path(workspace)
        found += [
            LayerPlace("project lockbox.json", os.path.join(root, ".claude", "lockbox.json"), project=True),
            LayerPlace("project lockgate.yaml", os.path.join(root, "lockgate.yaml"), project=True),
            LayerPlace("project .lockgate.yaml", os.path.join(root, ".lockgate.yaml"), project=True),
        ]
    # A session in the home folder has no other project file than the user's own.
    users = {real_path(place.path) for place in found if not place.project}
    return tuple(place for place in found if not place.project or real_path(place.path) not in users)


def load(
    store: Store,
    *,
    home: str,
    config_dir: str,
    workspace: str,
    state: str,
    program: Mapping[str, Any] | None = None,
    before: Configuration | None = None,
) -> Configuration:
    """The configuration that holds for a workspace now.

    Files that are not valid are in ``problems`` and do not raise.

    Args:
        store: Keeps what the files came to, their last good contents, and which contents a person trusts.
        home: The user's home folder.
        config_dir: The folder of the user's ``lockgate.yaml``.
        workspace: The project's root folder, absolute; empty where there is none.
        state: The state folder, where a fleet's policy lies.
        program: What the program says that uses the gate in-process: a valid layer over all files, which is trusted.
        before: What it was before. It is given again where all that it depends on is the same.

    Raises:
        StoreError: The store cannot be read or written.
    """
    fleet = _fleet(store, state) if may_be_in_fleet(state) else None
    looks = [look_at(place) for place in places(home, config_dir, workspace)]
    said = json.dumps(program, sort_keys=True) if program else ""
    name = _CACHE + text_digest("\0".join((home, config_dir, workspace, said)))[:32]
    with store.reading() as tx:
        trusted = find_trusted_files(tx, looks)
        key = _key(looks, trusted, fleet)
        if before is not None and before.digest == key and not (before.problems or fleet):
            return before  # nothing stands in for anything here
        kept = _read_cached(tx, name, key)
    if kept is not None:
        return _configuration(kept)
    from lockgate.configuration.compile import compile_files

    with store.transaction() as tx:
        value = {"key": key, **compile_files(tx, looks, trusted, program=program, fleet=fleet)}
        if value["whole"]:
            _keep(tx, name, value)
    return _configuration(value)


def load_for_cli(cwd: str) -> Configuration:
    """The configuration that holds for the workspace around a folder. Writes nothing.

    Raises:
        StoreError: There is a store, and it cannot be read.
    """
    from lockgate.configuration.compile import compile_files
    from lockgate.store.opening import open_existing
    from lockgate.system.folders import folders

    where = folders()
    looks = [look_at(place) for place in places(where.home, where.config, find_workspace(cwd, where.home))]
    store = open_existing(where.state)
    if store is None:
        fleet = _fleet(None, where.state) if may_be_in_fleet(where.state) else None
        return _configuration(compile_files(None, looks, frozenset(), fleet=fleet))
    try:
        fleet = _fleet(store, where.state, keep=False) if may_be_in_fleet(where.state) else None
        with store.reading() as tx:
            return _configuration(compile_files(tx, looks, find_trusted_files(tx, looks), keep=False, fleet=fleet))
    finally:
        store.close()


def find_workspace(cwd: str, home: str) -> str:
    """The project's root for a folder: the nearest with a repository or a project file, below the home folder."""
    files = ("lockgate.yaml", ".lockgate.yaml", "lockgate.patterns.yaml", ".lockgate.patterns.yaml")
    marks = (".git", os.path.join(".claude", "lockbox.json"), *files)
    folder = os.path.realpath(cwd)
    stop = os.path.realpath(home)
    while folder not in (stop, os.path.dirname(folder)):
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in marks):
            return folder
        folder = os.path.dirname(folder)
    return os.path.realpath(cwd)


def _fleet(store: Store | None, state: str, *, keep: bool = True) -> Fleet | None:
    """The policy of the fleet that this machine belongs to. One that has just come is kept, if it may be."""
    import time

    from lockgate.configuration.bundles.fleet import look

    if store is None:
        return look(state, time.time())
    if not keep:
        return look(state, store.clock(), store=store)
    from lockgate.configuration.bundles.fleet import audit_writer

    return look(state, store.clock(), tell=audit_writer(store, "gate"), store=store)


# ---------------------------------------------------------------- what was kept


def _key(looks: Sequence[LayerFile], trusted: frozenset[tuple[str, str]], fleet: Fleet | None) -> str:
    """Changes whenever what the files come to might. What comes after the point is the files' part of it."""
    code = os.stat(os.path.join(PACKAGE_FOLDER, "policy", "profiles.json"))
    reader = [_FORMAT, __version__, code.st_mtime_ns, code.st_size]
    facts = [
        [[look.place.name, look.place.path, look.digest, look.problem] for look in looks],
        sorted(trusted),
        [fleet.name, fleet.digest, list(map(str, fleet.problems))] if fleet else None,
    ]
    return f"{text_digest(json.dumps(reader))[:16]}.{text_digest(json.dumps(facts))}"


def _read_cached(tx: Transaction, name: str, key: str) -> dict[str, Any] | None:
    kept = tx.setting(name) or ""
    seal, text = kept[:_SEAL], kept[_SEAL:]
    # In a shared store whoever has this gate's role writes it, and could name other approvers.
    if not text or seal != _seal(tx, name, text):
        return None
    try:
        value: dict[str, Any] = json.loads(text)
    except ValueError:
        return None
    if value["key"] != key:
        return None
    # The last good content of a broken file is shared by all workspaces, and another one may have seen a newer.
    if any(good_digest(tx, path) != digest for path, digest in value["good"].items()):
        return None
    return value


def _keep(tx: Transaction, name: str, value: Mapping[str, Any]) -> None:
    others = tx.settings(_CACHE)
    if len(others) >= KEPT and name not in others:
        for other in others:
            tx.put_setting(other, None)
    text = json.dumps(value)
    tx.put_setting(name, _seal(tx, name, text) + text)


def _seal(tx: Transaction, name: str, text: str) -> str:
    return tx.hash_with_key(chain_links.PURPOSE_COMPILED, f"{name}\0{text}")


def _configuration(value: Mapping[str, Any]) -> Configuration:
    scalars = value["compiled"][0]["scalars"]
    options = {key: scalars[key][0] for key in GateOptions._fields if key in scalars}
    options["plugins"] = tuple(options.get("plugins", ()))
    if any(each["scalars"].get("trust", [None])[0] != options.get("trust") for each in value["compiled"]):
        options.pop("trust", None)  # a layer that binds says otherwise, or nothing: nobody above it trusts more
    policies = tuple(map(policy, value["compiled"]))
    return Configuration(
        policies=policies,
        problems=tuple(ConfigError(*problem) for problem in value["problems"]),
        layers=tuple(LayerState(*layer) for layer in value["layers"]),
        options=GateOptions(**options),
        compiled=tuple(value["compiled"]),
        judges=policies[0].profile.says(Verdict.JUDGE),
        sets_rules=any("git" in each["scalars"] or "plugins" in each["scalars"] for each in value["compiled"]),
        digest=value.get("key", ""),
    )
