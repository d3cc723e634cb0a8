"""Reads bundles, keys and times for the commands about a fleet's policy, and describes bundles."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from lockgate.cli.common.times import clock, iso
from lockgate.configuration.bundles import envelope, keys, manifest
from lockgate.configuration.bundles.envelope import Envelope
from lockgate.configuration.bundles.keys import PrivateKey, PublicKey
from lockgate.configuration.bundles.manifest import Bundle
from lockgate.configuration.layers.files import MOST_BYTES
from lockgate.core.display_text import visible
from lockgate.core.errors import BundleError, ConfigError
from lockgate.system.files import read_regular, replace

_DAYS = re.compile(r"([1-9][0-9]{0,3})d")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def refusal_error(error: Exception) -> click.ClickException:
    """What ends a command that was refused: 1, with the reason."""
    return click.ClickException(visible(str(error), 1000))


def read_file(path: str, most: int = MOST_BYTES) -> bytes:
    """The content of a file that the person named; ends the command where it cannot be read."""
    try:
        return read_regular(path, most)
    except OSError as error:
        raise click.ClickException(f"{visible(path, 300)} cannot be read: {error.strerror}") from error


def read_bundle(path: str) -> tuple[Envelope, Bundle]:
    """A bundle's file, by whomever it is signed; ends the command where it is none."""
    try:
        found = envelope.decode(read_file(path))
        return found, manifest.decode(found.payload)
    except BundleError as error:
        raise click.ClickException(f"{visible(path, 300)}: {visible(str(error), 600)}") from error


def write_bundle(path: str, found: Envelope) -> None:
    """Write a bundle's file at once; others may read it."""
    try:
        replace(path, envelope.encode(found), draft=f"{path}.{os.getpid()}.draft", mode=0o644)
    except OSError as error:
        raise click.ClickException(f"{visible(path, 300)} cannot be written: {error.strerror}") from error


def public_key(text: str) -> PublicKey:
    """A public key as a person gives it: the line itself, or a file with it."""
    line = text if text.startswith(keys.KIND) else read_file(text, 10_000).decode("utf-8", "replace")
    try:
        return keys.parse(line)
    except BundleError as error:
        raise refusal_error(error) from error


def passphrase_from(file: str | None) -> bytes | None:
    """The passphrase in a file's first line, ``None`` where no file is named."""
    return read_file(file, 10_000).partition(b"\n")[0].rstrip(b"\r") if file else None


def private_key(path: str, passphrase_file: str | None) -> PrivateKey:
    """A private key; asks for its passphrase at a terminal where it has one."""
    data = read_file(path, 20_000)

    def ask() -> bytes:
        return str(click.prompt(f"Passphrase of {visible(path, 200)}", hide_input=True, err=True)).encode()

    try:
        return PrivateKey.load(data, passphrase_from(passphrase_file), ask)
    except BundleError as error:
        raise click.ClickException(f"{visible(path, 300)}: {error}") from error


def new_key(file: str, comment: str, passphrase_file: str | None, *, no_passphrase: bool) -> PublicKey:
    """Make a key pair: a private file of this user alone, and beside it ``FILE.pub`` for others.

    Raises:
        click.ClickException: It cannot be made, or there is such a file.
        click.UsageError: Nobody says a passphrase, nor that there is to be none.
    """
    passphrase = None if no_passphrase else passphrase_from(passphrase_file)
    if passphrase is None and not no_passphrase:
        if not sys.stdin.isatty():
            raise click.UsageError("give --passphrase-file or --no-passphrase where nobody can be asked")
        passphrase = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True).encode()
    if passphrase == b"":
        raise click.UsageError("the passphrase is empty; without one, say --no-passphrase")
    try:
        key = PrivateKey.generate()
    except BundleError as error:
        raise refusal_error(error) from error
    public = key.public(comment or os.path.basename(file))
    _write_new(file, key.pem(passphrase), 0o600)
    _write_new(f"{file}.pub", f"{public.line}\n".encode(), 0o644)
    return public


def _write_new(path: str, data: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
    except OSError as error:
        raise click.ClickException(f"{visible(path, 300)} cannot be written: {error.strerror}") from error


def expiry(text: str | None, now: float) -> float:
    """When a bundle expires, as a person says it: ``90d``, or a day; 0 for never."""
    if text is None:
        return 0.0
    if found := _DAYS.fullmatch(text):
        return now + int(found[1]) * 86_400.0
    try:
        return manifest.read_time(f"{text}T00:00:00Z" if _DATE.fullmatch(text) else text, "expires")
    except BundleError:
        raise click.UsageError("--expires takes days (90d), a day (2027-01-31) or a time in UTC") from None


def as_json(found: Envelope, bundle: Bundle) -> dict[str, Any]:
    """What a bundle says, as plain values."""
    return {
        "fleet": bundle.fleet,
        "serial": bundle.serial,
        "created": iso(bundle.created),
        "expires": iso(bundle.expires),
        "files": [
            {"name": name, "sha256": digest, "bytes": len(bundle.files[name])}
            for name, digest in manifest.digests(bundle).items()
        ],
        "signatures": [visible(each.keyid, 100) for each in found.signatures],
    }


def describe_bundle(bundle: Bundle) -> Iterator[str]:
    """What a bundle says, for a person."""
    expires = f"expires {clock(iso(bundle.expires))}" if bundle.expires else "never expires"
    if bundle.expires and bundle.expires <= time.time():
        expires = f"expired {clock(iso(bundle.expires))}"
    yield f"{bundle.fleet}/{bundle.serial}, created {clock(iso(bundle.created))}, {expires}"
    for name, digest in manifest.digests(bundle).items():
        yield f"  {name:<14} {len(bundle.files[name]):>7} bytes  sha256 {digest}"


def problem_json(error: ConfigError) -> dict[str, Any]:
    """A problem as plain values."""
    return {"file": error.file, "line": error.line, "key": error.key, "problem": error.problem}


def report(problems: Sequence[ConfigError]) -> None:
    """Say what is wrong with policy files, and end the command where anything is."""
    for problem in problems:
        click.echo(visible(str(problem), 1000), err=True)
    if problems:
        raise click.ClickException(f"the policy is not valid; problems: {len(problems)}")
