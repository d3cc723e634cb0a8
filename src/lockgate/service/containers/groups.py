"""The containers that the host decides for: their settings, keys and folders.

A group is one container, or several that share a key and a folder. What the host knows of it lies in the state folder,
one file each; below the IPC's folder is only what is mounted into the container. Each file has a seal of this
installation: nothing is decided for a group whose file something else has written.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal

from lockgate.clients.wire.keys import KEY_BYTES, ContainerKey, is_group, key_file
from lockgate.clients.wire.mailbox import REQUESTS, RESPONSES
from lockgate.core.errors import RemoteError
from lockgate.core.record import Record
from lockgate.store import chain_links, files
from lockgate.system.files import read_regular, replace
from lockgate.system.ownership import make_folders

FOLDER = "groups"
SECRET = "secret"  # noqa: S105 - the name of a folder
KEY = "key"
_MOST = 64 * 1024


class GroupMount(Record):
    """A folder that is mounted into a container."""

    source: str
    target: str
    mode: Literal["rw", "ro"]


class ContainerGroup(Record):
    """One container, as the host knows it."""

    name: str
    secret: bytes
    folder: str
    """Absolute path of the folder that holds what is mounted."""
    uid: int
    """The user that its requests belong to, by this machine's number."""
    profile: str = ""
    """The profile that decides, empty for the configuration's own."""
    client_asks: bool = False
    """Whether a question may be put by the client inside the container. Else a person is asked here."""
    local: bool = True
    """Whether calls that are provably local may run at once and be reported."""
    inside: str = "/workspace/ipc"
    """Where the folders are mounted, inside."""

    @property
    def key(self) -> ContainerKey:
        """The key that the container is given."""
        return ContainerKey(self.name, self.secret, self.local)

    @property
    def requests(self) -> str:
        """The folder that the container writes."""
        return os.path.join(self.folder, REQUESTS)

    @property
    def responses(self) -> str:
        """The folder that the container reads."""
        return os.path.join(self.folder, RESPONSES)

    @property
    def mounts(self) -> tuple[GroupMount, ...]:
        """The folders that are mounted into the container."""
        return (
            GroupMount(self.requests, f"{self.inside}/{REQUESTS}", "rw"),
            GroupMount(self.responses, f"{self.inside}/{RESPONSES}", "ro"),
            GroupMount(os.path.join(self.folder, SECRET), "/run/lockgate", "ro"),
        )


class Groups:
    """All groups of a state folder."""

    def __init__(self, state: str) -> None:
        """Use a state folder."""
        self._state = state
        self._folder = os.path.join(state, FOLDER)

    def all(self) -> dict[str, ContainerGroup]:
        """Every group by its name. One with an unreadable file is left out, and nothing is decided for it.

        So is one whose file has no seal that holds: an older version or somebody else has written it.
        """
        return {group.name: group for group, is_sealed in self._read() if is_sealed}

    def find_unsealed(self) -> dict[str, ContainerGroup]:
        """The groups whose files have no seal that holds, as they stand there."""
        return {group.name: group for group, is_sealed in self._read() if not is_sealed}

    def version(self) -> int:
        """A number that changes when a group is added, changed or removed."""
        try:
            return os.stat(self._folder).st_mtime_ns
        except OSError:
            return 0

    def _read(self) -> Iterator[tuple[ContainerGroup, bool]]:
        """Each group that a file tells of, and whether its seal holds."""
        try:
            names, key = sorted(os.listdir(self._folder)), self._key()
        except OSError:
            return
        for name in names:
            stem, suffix = os.path.splitext(name)
            if suffix == ".json" and is_group(stem):
                with suppress(OSError, ValueError, TypeError, KeyError):
                    said = json.loads(read_regular(os.path.join(self._folder, name), _MOST, follow=False))
                    seal = said.pop("seal", "")
                    yield _group(stem, said), bool(key) and seal == _seal(key, said)

    def _key(self) -> bytes:
        """The key of this installation; empty where there is none."""
        try:
            return read_regular(os.path.join(self._state, files.KEY), _MOST, follow=False)
        except FileNotFoundError:
            return b""

    def add(self, group: ContainerGroup) -> None:
        """Make a group's folders and remember it.

        Raises:
            RemoteError: There is one of that name, or the folders cannot be made.
            StoreError: The state folder cannot be trusted.
        """
        if not is_group(group.name):
            raise RemoteError("a group's name has lower-case letters, digits and hyphens inside, 32 at most")
        if group.name in self.all():
            raise RemoteError(f"there is a group {group.name} already")
        files.own_folder(self._state, create=True)
        files.own_folder(self._folder, create=True)
        try:
            _make_folders(group)
            self._write(group)
        except OSError as error:
            raise RemoteError(f"the folders of {group.name} cannot be made: {error.strerror}") from error

    def rotate(self, name: str) -> ContainerGroup:
        """Give a group another key. What was asked with the old one is not answered.

        Raises:
            RemoteError: There is no such group, or the key cannot be written.
        """
        return self.seal(self._find(name))

    def seal(self, group: ContainerGroup) -> ContainerGroup:
        """Write down what a group is to be, with another key.

        Raises:
            RemoteError: The key cannot be written.
        """
        name, group = group.name, group._replace(secret=new_secret())
        try:
            self._write(group)
        except OSError as error:
            raise RemoteError(f"the key of {name} cannot be written: {error.strerror}") from error
        return group

    def allow_local(self, allowed: bool) -> None:
        """Tell every container whether what is provably local may run at once, where its group allows that at all.

        Raises:
            RemoteError: A key cannot be written.
        """
        for group in self.all().values():
            key = group.key._replace(local=group.local and allowed)
            try:
                if _read_key(group) != key_file(key):
                    _write_key(group, key)
            except FileNotFoundError:
                continue  # it was removed meanwhile
            except OSError as error:
                raise RemoteError(f"the key of {group.name} cannot be written: {error.strerror}") from error

    def remove(self, name: str) -> None:
        """Forget a group and remove its folders. Its labels and its audit stay.

        Raises:
            RemoteError: There is no such group.
        """
        is_sealed = name in self.all()
        group = self._find(name, sealed=False)
        os.unlink(os.path.join(self._folder, f"{name}.json"))
        if is_sealed:  # else the folder may be anybody's
            shutil.rmtree(group.folder, ignore_errors=True)

    def _find(self, name: str, *, sealed: bool = True) -> ContainerGroup:
        found = {group.name: group for group, is_sealed in self._read() if is_sealed or not sealed}
        if name not in found:
            raise RemoteError(f"there is no group {name!r}; see: lockgate serve groups list")
        return found[name]

    def _write(self, group: ContainerGroup) -> None:
        said = {**group._asdict(), "v": 1, "secret": group.secret.hex()}
        said["seal"] = _seal(files.read_key(self._state), said)
        draft = f".{group.name}.{os.getpid()}"
        replace(
            os.path.join(self._folder, f"{group.name}.json"),
            json.dumps(said).encode(),
            draft=os.path.join(self._folder, draft),
        )
        _write_key(group, group.key)


def _write_key(group: ContainerGroup, key: ContainerKey) -> None:
    place = os.path.join(group.folder, SECRET, KEY)
    replace(place, key_file(key), draft=os.path.join(group.folder, SECRET, f".{group.name}.{os.getpid()}"))
    if group.uid != os.geteuid():
        _give_key(place, group.uid)


def _read_key(group: ContainerGroup) -> bytes:
    """The content of the file of a group's key; empty where there is none."""
    try:
        return read_regular(os.path.join(group.folder, SECRET, KEY), _MOST, follow=False)
    except FileNotFoundError:
        return b""


def _seal(key: bytes, said: Mapping[str, Any]) -> str:
    """The seal of what a group's file says."""
    return chain_links.hash_with_key(key, chain_links.PURPOSE_GROUP, chain_links.canonical(said))


def new_secret() -> bytes:
    """A key that nobody can guess."""
    return secrets.token_bytes(KEY_BYTES)


def _group(name: str, said: Mapping[str, Any]) -> ContainerGroup:
    if said["v"] != 1 or said["name"] != name:
        raise ValueError("not a group of this version")
    values = {field: said[field] for field in ContainerGroup._fields}
    group = ContainerGroup(**{**values, "secret": bytes.fromhex(said["secret"])})
    if len(group.secret) != KEY_BYTES or not os.path.isabs(group.folder) or not isinstance(group.uid, int):
        raise ValueError("not a group")
    return group


def _make_folders(group: ContainerGroup) -> None:
    """Make the mounted folders. Only this user can enter the folder above, so these may be open to a container."""
    own = group.uid == os.geteuid()
    make_folders(os.path.dirname(group.folder))
    os.mkdir(group.folder, 0o700)
    # A container with another user can write requests and not list them. It finds an answer only by the name that it
    # made up itself.
    for name, mode in (
        (REQUESTS, 0o700 if own else 0o1733),
        (RESPONSES, 0o700 if own else 0o711),
        (SECRET, 0o711),
    ):
        path = os.path.join(group.folder, name)
        os.mkdir(path, 0o700)
        os.chmod(path, mode)


def _give_key(path: str, uid: int) -> None:
    """Give the key file to the container's user, which only root can."""
    os.chown(path, uid, -1)
    os.chmod(path, 0o400)


def is_ours(folder: str) -> bool:
    """Whether the folder around the groups is this user's alone."""
    try:
        about = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077


def lock(folder: str) -> int:
    """Lock the folder around the groups for as long as the descriptor is open that this gives.

    Raises:
        RemoteError: It is not this user's alone, or another host has it.
    """
    if not is_ours(folder):
        raise RemoteError(f"{folder} must be a folder of your own that nobody else can open: chmod 700")
    descriptor = os.open(
        os.path.join(folder, ".lock"),
        os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
        0o600,
    )
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise RemoteError(f"another lockgate serve answers in {folder} already") from None
    return descriptor
