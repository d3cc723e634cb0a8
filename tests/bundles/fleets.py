"""A fleet for tests: keys, bundles of every kind, and a machine that belongs to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lockgate.configuration.bundles import enrolment as joining
from lockgate.configuration.bundles import envelope, manifest
from lockgate.configuration.bundles.envelope import Envelope, Signature
from lockgate.configuration.bundles.fleet import Fleet, look
from lockgate.configuration.bundles.keys import PrivateKey, PublicKey
from lockgate.configuration.bundles.manifest import Bundle
from lockgate.configuration.bundles.update import News

FLEET = "acme"
NOW = 1_700_000_000.0
"""In the past for every clock, so that a bundle of then is not one from the future."""
DAY = 86_400.0
STRICTER = b"table: {egress: deny}\n"


@cache
def private(name: str) -> PrivateKey:
    """The same key for the same name, throughout a run."""
    return PrivateKey.generate()


def public(name: str) -> PublicKey:
    return private(name).public(name)


def bundle(serial: int = 1, **changes: Any) -> Bundle:
    files: Mapping[str, bytes] = {manifest.CONFIGURATION: STRICTER}
    made = Bundle(FLEET, serial, NOW - DAY, 0.0, files)
    return made._replace(**changes)


def signed(payload: bytes, *names: str, payload_type: str = envelope.PAYLOAD_TYPE) -> bytes:
    """The file of a bundle, signed with the keys of these names."""
    message = envelope.pae(payload_type, payload)
    signatures = tuple(Signature(public(name).id, private(name).sign(message)) for name in names)
    return envelope.encode(Envelope(payload, signatures))


def packed(serial: int = 1, *names: str, **changes: Any) -> bytes:
    return signed(manifest.encode(bundle(serial, **changes)), *(names or ("ann",)))


def payload_of(**changes: Any) -> bytes:
    """A payload as no program of ours would write it."""
    value = json.loads(manifest.encode(bundle()))
    value.update(changes)
    return json.dumps({key: each for key, each in value.items() if each is not None}).encode()


class Machine:
    """A state folder, a folder that configuration management fills, and what the audit was told."""

    def __init__(self, root: Path, *names: str, fleet: str = FLEET) -> None:
        self.state, self.source = root / "state", root / "managed" / "policy.bundle"
        self.source.parent.mkdir(parents=True)
        self.news: list[News] = []
        self.pin(*(names or ("ann",)), fleet=fleet)
        self.news.clear()

    def pin(self, *names: str, fleet: str = FLEET) -> None:
        joining.pin(str(self.state), fleet, [public(name) for name in names], str(self.source), self.tell)

    def tell(self, news: Sequence[News]) -> None:
        self.news += news

    def put(self, data: bytes) -> None:
        """Put a bundle in the place of the one before, as configuration management does."""
        draft = self.source.with_name("draft")
        draft.write_bytes(data)
        draft.replace(self.source)

    def look(self, now: float = NOW, *, keep: bool = True) -> Fleet:
        found = look(str(self.state), now, tell=self.tell if keep else None)
        assert found is not None
        return found

    def serial(self, now: float = NOW) -> int:
        current = self.look(now).current
        return current.serial if current else 0

    def problems(self, now: float = NOW) -> str:
        return "\n".join(each.problem for each in self.look(now).problems)

    def events(self) -> list[str]:
        return [each.event for each in self.news]
