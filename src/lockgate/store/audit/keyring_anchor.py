"""The system's keyring as a place in which the audit's head is kept: Secret Service on Linux, Keychain on macOS.

A head is no secret. It stands in what describes an item, which can be read without anybody being asked. A keyring that
is locked, or that does not run, is one that cannot be reached: nothing unlocks it here, and nothing starts it.

See https://specifications.freedesktop.org/secret-service/0.2/.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import contextmanager
from hashlib import sha256

from lockgate.core.errors import AuditError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.folders import outside_folders
from lockgate.system.libraries import library
from lockgate.system.programs import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Call = Callable[..., Any]
    """Calls a method on the bus: path, interface, method, signature and values; gives what it answers."""

KEYRING = "keyring"
"""How the configuration calls such a place."""
SECONDS = 3.0
"""How long one question may take."""
_LABEL = "Lockgate: where its audit ends"
_SERVICE = "lockgate-audit"
_HEAD, _FOLDER = "head", "folder"
_SECRETS = "org.freedesktop.secrets"
_ROOT = "/org/freedesktop/secrets"
_INTERFACE = "org.freedesktop.Secret"
_ITEM = f"{_INTERFACE}.Item"
_COLLECTION = f"{_INTERFACE}.Collection"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_NONE = "/"
_SECURITY = "/usr/bin/security"
_NOT_FOUND = 44
"""What ``security`` ends with where there is no such item."""
_COMMENT = re.compile(r'^\s*"icmt"<blob>="([0-9a-f ]+)"$', re.MULTILINE)


def is_here(state: str) -> bool:
    """Whether a Secret Service may answer to this user. Nobody is asked."""
    try:
        found = os.lstat(_bus_of(state))
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid()


class KeyringAnchor:
    """One item for each state folder, as two folders may have a copy of the same key."""

    def __init__(self, folder: str, state: str, home: str) -> None:
        """Nothing is asked yet.

        Args:
            folder: What tells the state folder from a copy of it.
            state: The state folder.
            home: The person's home folder, where macOS finds their keychain.
        """
        name = sha256(folder.encode(errors="surrogateescape")).hexdigest()[:16]
        self._folder, self._bus, self._home = name, _bus_of(state), home

    def read(self, name: str) -> str | None:
        """What the keyring has of one installation; ``None`` where it has nothing.

        Raises:
            AuditError: It cannot be asked.
        """
        if sys.platform == "darwin":
            return self._read_keychain(name)
        with self._connect() as call:
            item = self._item(call, self._attributes(name))
            return _property(call, item, _ITEM, "Attributes").get(_HEAD) if item else None

    def of_other_folders(self, name: str) -> list[str]:
        """What the keyring has of the same installation in other folders: the state may be a copy of one of these.

        Raises:
            AuditError: It cannot be asked.
        """
        if sys.platform == "darwin":
            return []
        attributes = {key: value for key, value in self._attributes(name).items() if key != _FOLDER}
        with self._connect() as call:
            items = call(_default(call), _COLLECTION, "SearchItems", "a{ss}", (attributes,))
            return [str(_property(call, item, _ITEM, "Attributes").get(_HEAD, "")) for item in items]

    def write(self, name: str, text: str) -> None:
        """Put a text under a name, in the place of the one that is there.

        Raises:
            AuditError: It cannot be asked, or takes no change.
        """
        if sys.platform == "darwin":
            self._write_keychain(name, text)
            return
        attributes = self._attributes(name)
        told = {**attributes, _HEAD: text}
        with self._connect() as call:
            if item := self._item(call, attributes):
                call(item, _PROPERTIES, "Set", "ssv", (_ITEM, "Attributes", ("a{ss}", told)))
            else:
                _create(call, told)

    def _attributes(self, name: str) -> dict[str, str]:
        return {"application": _SERVICE, "installation": name, _FOLDER: self._folder}

    @contextmanager
    def _connect(self) -> Iterator[Call]:
        """Calls of methods of the Secret Service, each bounded in time."""
        try:
            jeepney = library("jeepney.io.blocking")
        except ImportError:
            raise AuditError("the keyring takes jeepney: in a clone of Lockgate, pip install '.[keyring]'") from None
        try:
            connection = jeepney.io.blocking.open_dbus_connection(f"unix:path={self._bus}", auth_timeout=SECONDS)
        except (OSError, ValueError, EOFError) as error:
            raise AuditError(f"no keyring answers ({type(error).__name__})") from None

        def call(path: str, interface: str, method: str, signature: str, values: tuple[Any, ...], to: str = "") -> Any:
            address = jeepney.DBusAddress(path, bus_name=to or _SECRETS, interface=interface)
            message = jeepney.new_method_call(address, method, signature, values)
            try:
                answer = connection.send_and_get_reply(message, timeout=SECONDS)
            except (OSError, ValueError, EOFError) as error:  # what jeepney raises
                raise AuditError(f"no keyring answers ({type(error).__name__})") from None
            if answer.header.message_type is jeepney.MessageType.error:
                raise AuditError("the keyring refuses")
            return answer.body[0] if len(answer.body) == 1 else answer.body

        with connection:
            # Whoever is called and does not run is started by the bus, and may ask the person for a password.
            bus = "org.freedesktop.DBus"
            if not call("/org/freedesktop/DBus", bus, "NameHasOwner", "s", (_SECRETS,), to=bus):
                raise AuditError("no keyring runs")
            yield call

    def _item(self, call: Call, attributes: Mapping[str, str]) -> str:
        """The path of the item; empty where there is none."""
        found = call(_default(call), _COLLECTION, "SearchItems", "a{ss}", (attributes,))
        return str(found[0]) if found else ""

    def _read_keychain(self, name: str) -> str | None:
        ran = self._security("find-generic-password", name)
        if ran is None:
            return None
        found = _COMMENT.search(ran)
        words = found[1].split() if found else []
        return f"{' '.join(words[:-1])}\n{words[-1]}\n" if words else None

    def _write_keychain(self, name: str, text: str) -> None:
        self._security("add-generic-password", name, "-U", "-l", _LABEL, "-j", " ".join(text.split()), "-w", _HEAD)

    def _security(self, command: str, name: str, *more: str) -> str | None:
        """What ``security`` says of the item; ``None`` where there is none."""
        words = [_SECURITY, command, "-s", _SERVICE, "-a", f"{name}-{self._folder}", *more]
        ran = run(words, SECONDS, cwd="/", environ={"HOME": self._home, "PATH": "/usr/bin:/bin"})
        if ran.problem or ran.code not in (0, _NOT_FOUND):
            raise AuditError(f"the keychain cannot be asked ({ran.problem or f'exit status {ran.code}'})")
        return None if ran.code else ran.out


def _bus_of(state: str) -> str:
    """The user's bus. The variable that tells of another one could be set by a project."""
    return os.path.join(os.path.dirname(outside_folders(state)[1]), "bus")


def _default(call: Call) -> str:
    """The path of the user's own collection, which is unlocked."""
    found: str = call(_ROOT, f"{_INTERFACE}.Service", "ReadAlias", "s", ("default",))
    if found == _NONE:
        raise AuditError("there is no keyring yet")
    if _property(call, found, _COLLECTION, "Locked"):
        raise AuditError("the keyring is locked")
    return found


def _property(call: Call, path: str, interface: str, name: str) -> Any:
    return call(path, _PROPERTIES, "Get", "ss", (interface, name))[1]


def _create(call: Call, attributes: Mapping[str, str]) -> None:
    _, session = call(_ROOT, f"{_INTERFACE}.Service", "OpenSession", "sv", ("plain", ("s", "")))
    properties = {f"{_ITEM}.Label": ("s", _LABEL), f"{_ITEM}.Attributes": ("a{ss}", attributes)}
    nothing = (session, b"", b"", "text/plain")
    item, _ = call(_default(call), _COLLECTION, "CreateItem", "a{sv}(oayays)b", (properties, nothing, True))
    if item == _NONE:
        raise AuditError("the keyring would ask before it takes anything")
