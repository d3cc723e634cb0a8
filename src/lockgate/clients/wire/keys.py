"""The key file that the host makes for a container, mounted read-only."""

from __future__ import annotations

import json
import os

from lockgate.clients.wire.envelope import hmac_sha256
from lockgate.core.errors import RemoteError
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

KEY_BYTES = 32
VARIABLE = "LOCKGATE_IPC_KEY_FILE"
"""The variable that names the key's file where no option does."""
_MOST = 4096
_NAME = lazy_re(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")


class ContainerKey(Record):
    """The secret that a container shares with its host."""

    group: str
    """The name under which the host keeps its labels."""
    secret: bytes
    local: bool = True
    """Whether the container may let calls run at once that are provably local."""

    @property
    def token(self) -> str:
        """The bearer token over HTTPS. It says nothing of the key."""
        return f"{self.group}.{hmac_sha256(self.secret, b'lockgate bearer token')}"


def is_group(name: object) -> bool:
    """Whether a value can be a group's name: lower-case letters, digits and hyphens inside, 32 at most."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def key_file(key: ContainerKey) -> bytes:
    """What stands in the file of a key."""
    return json.dumps({"v": 1, "group": key.group, "key": key.secret.hex(), "local": key.local}).encode() + b"\n"


def parse_key(data: bytes) -> ContainerKey:
    """Read what stands in the file of a key.

    Raises:
        ValueError: It is none.
    """
    said: Any = json.loads(data)
    if not isinstance(said, dict) or said.keys() != {"v", "group", "key", "local"} or said["v"] != 1:
        raise ValueError("not a key of this version")
    key = ContainerKey(said["group"], bytes.fromhex(said["key"]), said["local"])
    if not is_group(key.group) or len(key.secret) != KEY_BYTES or not isinstance(key.local, bool):
        raise ValueError("not a key")
    return key


def read_key(path: str) -> ContainerKey:
    """The key in a file. It may belong to another user, but not be open to all.

    Raises:
        RemoteError: There is none, or everybody can read or change it.
    """
    from lockgate.system.files import open_regular, read_open

    if not path:
        raise RemoteError(f"there is no key: give --key-file or set {VARIABLE}")
    try:
        descriptor = open_regular(path)
        try:
            if os.fstat(descriptor).st_mode & 0o026:
                raise RemoteError("the key's file must not be writable by others, nor readable by everybody: chmod 400")
            return parse_key(read_open(descriptor, _MOST))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RemoteError(f"the key cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, RecursionError):
        raise RemoteError("the key's file holds no key") from None
