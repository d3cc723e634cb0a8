"""``lockgate approvals key``: manages the key with which a person signs their answers."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from lockgate.cli.common.person import require_person
from lockgate.cli.common.state import unreadable
from lockgate.cli.policy.files import new_key, private_key, public_key, read_file
from lockgate.configuration.load import load_for_cli
from lockgate.core.display_text import visible
from lockgate.core.errors import ApprovalError, StoreError
from lockgate.core.record import Record
from lockgate.gate.approvals import answering
from lockgate.store.files import own_folder
from lockgate.system.digests import json_object
from lockgate.system.files import replace
from lockgate.system.folders import folders, state_dir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lockgate.configuration.bundles.keys import PublicKey
    from lockgate.store.protocol import Store

FILE = "approver.json"
"""The file of the state folder that names the person's key."""
_KEY_FILE = click.Path(dir_okay=False)
_NONE = "you have chosen no key yet: `lockgate approvals key use ~/.ssh/id_ed25519`, or `key make FILE` for a new one"


@click.group(short_help="The key with which you sign your answers.")
def key() -> None:
    """Choose, make or show the key with which you sign your answers, where the configuration names `approvers`.

    It is a key of Ed25519, such as OpenSSH's. The private file stays where it is, and is read when you say yes. Give it
    a passphrase: a program that runs as you can read a file of yours.
    """


@key.command(short_help="Use a key that you have.")
@click.argument("file", type=_KEY_FILE)
def use(file: str) -> None:
    """Sign answers with the private key FILE from now on, such as ~/.ssh/id_ed25519.

    Exit status: 0 chosen, 1 it cannot be used, 2 usage.
    """
    require_person("choose the key that signs answers")
    path = os.path.abspath(os.path.expanduser(file))
    _refuse_shared(path)
    _choose(ChosenKey(path, private_key(path, None).public(_comment(path))))


@key.command(short_help="Make a key.")
@click.argument("file", type=_KEY_FILE)
@click.option("--comment", default="", help="What the key is called, such as ann-laptop.")
@click.option("--passphrase-file", type=_KEY_FILE, help="A file whose first line is the passphrase.")
@click.option("--no-passphrase", is_flag=True, help="Do not encrypt the private key.")
def make(file: str, comment: str, passphrase_file: str | None, no_passphrase: bool) -> None:
    """Make a key that signs answers, and use it from now on: FILE is private, FILE.pub is for the configuration.

    Exit status: 0 made, 1 not made, 2 usage.
    """
    require_person("make a key that signs answers")
    path = os.path.abspath(os.path.expanduser(file))
    _make_state()  # first: no key is left behind that could not be chosen
    _choose(ChosenKey(path, new_key(path, comment, passphrase_file, no_passphrase=no_passphrase)))


@key.command(short_help="Show your public key.")
def show() -> None:
    """Print the public key for the `approvers` of the configuration.

    Exit status: 0 shown, 1 none is chosen.
    """
    _tell(read_chosen_key())


class ChosenKey(Record):
    """The key that signs a person's answers."""

    file: str
    """Where the private key lies."""
    public: PublicKey


def read_chosen_key() -> ChosenKey:
    """The key that the person at this terminal has chosen.

    Raises:
        click.ClickException: They have chosen none, or the file that says so cannot be read.
    """
    path = os.path.join(state_dir(), FILE)
    if not os.path.lexists(path):
        raise click.ClickException(_NONE)
    try:
        match json_object(read_file(path, 10_000)):
            case {"file": str(file), "key": str(line)}:
                return ChosenKey(file, public_key(line))
    except ValueError:
        pass
    raise click.ClickException(f"{visible(path, 300)} is damaged: choose your key again with `lockgate approvals key`")


def approvers_in_force() -> Mapping[str, Any] | None:
    """The ``approvers`` of this machine; ``None`` where a yes needs no signature. No project can set them.

    Raises:
        click.ClickException: The state cannot be read.
    """
    try:
        return load_for_cli(folders().home).options.approvers
    except StoreError as error:
        raise unreadable(error) from error


def signer(store: Store) -> answering.Signer | None:
    """The person at this terminal as an approver; ``None`` where a yes needs no signature.

    Raises:
        click.ClickException: A signature is needed, and they have no key, or one that is no approver's.
    """
    approvers = approvers_in_force()
    if approvers is None:
        return None
    file = read_chosen_key().file
    _refuse_shared(file)
    try:
        return answering.signer_of(approvers, private_key(file, None), store.clock())
    except ApprovalError as error:
        raise click.ClickException(str(error)) from error


def _choose(key: ChosenKey) -> None:
    data = json.dumps({"file": key.file, "key": key.public.line}).encode()
    path = os.path.join(_make_state(), FILE)
    try:
        replace(path, data, draft=f"{path}.{os.getpid()}.draft", sync=True)
    except OSError as error:
        raise click.ClickException(f"{visible(path, 300)} cannot be written: {error.strerror}") from error
    _tell(key)


def _make_state() -> str:
    state = state_dir()
    try:
        own_folder(state, create=True)
    except StoreError as error:
        raise unreadable(error) from error
    return state


def _tell(key: ChosenKey) -> None:
    click.echo(key.public.line)
    click.echo(f"fingerprint {key.public.id}; private key: {visible(key.file, 300)}", err=True)


def _refuse_shared(path: str) -> None:
    """Refuse a private key that others can read.

    Raises:
        click.ClickException: Others can read it, or it is another user's.
    """
    try:
        about = os.stat(path)
    except OSError as error:
        raise click.ClickException(f"{visible(path, 300)} cannot be read: {error.strerror}") from error
    if about.st_uid != os.geteuid() or about.st_mode & 0o077:
        raise click.ClickException(f"{visible(path, 300)} is not yours alone: chmod 600 it, or make another key")


def _comment(path: str) -> str:
    """The comment of the public file beside a private key; else the name of the private file."""
    try:
        return public_key(f"{path}.pub").comment
    except click.ClickException:
        return os.path.basename(path)
