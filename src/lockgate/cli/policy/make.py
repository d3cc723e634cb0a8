"""``lockgate policy keygen``, ``build``, ``sign``, ``inspect`` and ``verify``: makes and shows bundles."""

from __future__ import annotations

import json
import os
import time

import click

from lockgate.cli.common.person import require_person
from lockgate.cli.common.state import WRONG
from lockgate.cli.policy.files import (
    as_json,
    describe_bundle,
    expiry,
    new_key,
    private_key,
    public_key,
    read_bundle,
    read_file,
    refusal_error,
    report,
    write_bundle,
)
from lockgate.configuration.bundles import manifest
from lockgate.configuration.bundles.acceptance import problems
from lockgate.configuration.bundles.envelope import Envelope, Signature
from lockgate.configuration.bundles.keys import PublicKey
from lockgate.configuration.bundles.manifest import Bundle
from lockgate.core.display_text import visible
from lockgate.core.errors import BundleError, ConfigError, PatternError
from lockgate.system.folders import state_dir

_POLICY_ENDINGS = (".yaml", ".yml", ".json")
_KEY_FILE = click.Path(dir_okay=False)
_PASSPHRASE = click.option("--passphrase-file", type=_KEY_FILE, help="A file whose first line is the passphrase.")


@click.command(short_help="Make a key that signs policies.")
@click.argument("file", type=_KEY_FILE)
@click.option("--comment", default="", help="What the key is called, such as acme-policy-2027.")
@_PASSPHRASE
@click.option("--no-passphrase", is_flag=True, help="Do not encrypt the private key.")
def keygen(file: str, comment: str, passphrase_file: str | None, no_passphrase: bool) -> None:
    """Make a key that signs a fleet's policies: FILE is private, FILE.pub is for the gates.

    Keep FILE where no agent works, best on a machine of its own.

    Exit status: 0 made, 1 not made, 2 usage.
    """
    require_person("make a key that signs policies")
    public = new_key(file, comment, passphrase_file, no_passphrase=no_passphrase)
    click.echo(public.line)
    click.echo(f"fingerprint {public.id}; private key: {visible(file, 300)}", err=True)


@click.command(short_help="Check a folder of policy files and make a bundle of them.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--fleet", required=True, help="The fleet that it is for: small letters, digits, dots, dashes.")
@click.option("--serial", type=click.IntRange(1, manifest.LARGEST_SERIAL), help="Its version, higher than the last.")
@click.option("--after", type=click.Path(exists=True, dir_okay=False), help="The last bundle: the serial is one more.")
@click.option("--expires", help="When a newer one will have come: 90d, or 2027-01-31.  [default: never]")
@click.option("--out", required=True, type=click.Path(dir_okay=False), help="The bundle's file.")
@click.option("--key", type=_KEY_FILE, help="Sign it with this private key.")
@_PASSPHRASE
def build(
    folder: str,
    fleet: str,
    serial: int | None,
    after: str | None,
    expires: str | None,
    out: str,
    key: str | None,
    passphrase_file: str | None,
) -> None:
    """Check the policy files in FOLDER and make a bundle of them: lockgate.yaml, patterns.yaml, lockbox.json.

    Every file must be valid, and every example of a pattern must hold: what a gate would refuse cannot be built.

    Exit status: 0 built, 1 the policy is not valid, 2 usage.
    """
    if (serial is None) == (after is None):
        raise click.UsageError("give --serial or --after, one of them")
    if after is not None:
        last = read_bundle(after)[1]
        if last.fleet != fleet:
            raise click.ClickException(f"the last bundle is for the fleet {last.fleet}, not {visible(fleet, 80)}")
        serial = last.serial + 1
    if key is not None:
        require_person("sign a fleet's policy")
    now = float(int(time.time()))
    assert serial is not None
    bundle = Bundle(fleet, serial, now, expiry(expires, now), _policy_files(folder))
    try:
        payload = manifest.encode(bundle)
    except BundleError as error:
        raise refusal_error(error) from error
    ran = _check(bundle)
    found = Envelope(payload)
    if key is not None:
        found = _sign(found, key, passphrase_file)
    write_bundle(out, found)
    for line in describe_bundle(bundle):
        click.echo(line)
    click.echo(f"valid; examples of patterns that hold: {ran}; {'signed' if found.signatures else 'not signed yet'}")
    for warning in _warnings(bundle):
        click.echo(f"note: {warning}")


def _policy_files(folder: str) -> dict[str, bytes]:
    names = [name for name in sorted(os.listdir(folder)) if name.endswith(_POLICY_ENDINGS)]
    strange = [name for name in names if name not in manifest.FILES]
    if strange:  # one that is spelled wrongly would be left out, and nobody would notice
        raise click.ClickException(
            f"{visible(', '.join(strange), 200)}: a bundle holds {', '.join(manifest.FILES)} and nothing else"
        )
    if not names:
        raise click.ClickException(f"{visible(folder, 300)} holds none of {', '.join(manifest.FILES)}")
    files = {name: read_file(os.path.join(folder, name)) for name in names}
    for name, data in files.items():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            raise click.ClickException(f"{name} is not UTF-8") from None
    return files


def _check(bundle: Bundle) -> int:
    """Refuse a policy that is not valid, or whose patterns do not do what they say; gives how many examples hold."""
    from lockgate.configuration.pattern_library.examples import failures
    from lockgate.configuration.pattern_library.layers import read_shipped_layer
    from lockgate.patterns.library.linking import link
    from lockgate.patterns.library.loading import load, real_checks
    from lockgate.patterns.library.merging import PatternLayer, merge

    report(problems(bundle))
    if manifest.PATTERNS not in bundle.files:
        return 0
    document = load(bundle.files[manifest.PATTERNS], manifest.PATTERNS, real_checks()).document
    assert document is not None
    state = merge([read_shipped_layer(), PatternLayer(manifest.PATTERNS, manifest.PATTERNS, document)])
    report(state.problems)
    try:
        ran, failed = failures(link(state), {manifest.PATTERNS})
    except PatternError as error:
        report([ConfigError(manifest.PATTERNS, 0, "", str(error))])
        raise
    report(failed)
    return ran


def _warnings(bundle: Bundle) -> list[str]:
    """What is valid, and perhaps not meant."""
    from lockgate.core.model import Verdict
    from lockgate.policy.lockbox.merging import LockboxLayer, merge
    from lockgate.policy.profiles import Profile
    from lockgate.policy.validation import parse

    names = (manifest.LOCKBOX, manifest.CONFIGURATION)
    values = [(name, parse(bundle.files[name], name).value) for name in names if name in bundle.files]
    if not values:
        return ["it fixes no configuration: that is left to each machine"]
    merged = merge([LockboxLayer(name, value or {}) for name, value in values])
    found = []
    if Profile.from_json(merged["profile"]).says(Verdict.JUDGE) and "judge" not in merged["scalars"]:
        found.append("it has calls judged and does not say by whom: each machine may name a judge of its own")
    if not bundle.expires:
        found.append("it never expires: a gate that is cut off from newer ones cannot tell")
    return found


def _sign(found: Envelope, key: str, passphrase_file: str | None) -> Envelope:
    private = private_key(key, passphrase_file)
    value = private.sign(found.signed)
    if any(each.value == value for each in found.signatures):
        raise click.ClickException("this key has signed it already")
    return found._replace(signatures=(*found.signatures, Signature(private.public().id, value)))


@click.command(short_help="Add a signature to a bundle.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--key", required=True, type=_KEY_FILE, help="The private key.")
@_PASSPHRASE
def sign(file: str, key: str, passphrase_file: str | None) -> None:
    """Add a signature to the bundle FILE. One of a pinned key is enough for a gate; more are for changing keys.

    Exit status: 0 signed, 1 not signed, 2 usage.
    """
    require_person("sign a fleet's policy")
    found, bundle = read_bundle(file)
    made = _sign(found, key, passphrase_file)
    write_bundle(file, made)
    for line in describe_bundle(bundle):
        click.echo(line)
    click.echo(f"signed by {made.signatures[-1].keyid}")


@click.command(short_help="Show what is in a bundle, whoever signed it.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--file", "name", type=click.Choice(manifest.FILES), help="Print one of its policy files.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
def inspect(file: str, name: str | None, json_: bool) -> None:
    """Show what is in the bundle FILE. Nothing of it is believed: `lockgate policy verify` tells who signed it.

    Exit status: 0 shown, 1 it is no bundle, 2 usage.
    """
    found, bundle = read_bundle(file)
    if name is not None:
        if name not in bundle.files:
            raise click.ClickException(f"it has no {name}")
        for line in bundle.files[name].decode("utf-8").splitlines():
            click.echo(visible(line, 10_000))
    elif json_:
        click.echo(json.dumps(as_json(found, bundle), indent=2))
    else:
        for line in describe_bundle(bundle):
            click.echo(line)
        for each in found.signatures:
            click.echo(f"  says that it is signed by {visible(each.keyid, 100) or 'a key without a name'}")


@click.command(short_help="Tell whether a bundle is signed as it must be.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--key", "lines", multiple=True, help="A public key, or its file, instead of those pinned here.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
def verify(file: str, lines: tuple[str, ...], json_: bool) -> None:
    """Tell whether this machine would take the bundle FILE now; with --key, whether one of these keys has signed it.

    Exit status: 0 it is good, 1 it is not, 2 usage.
    """
    data = read_file(file)
    try:
        signer = _verify(data, [public_key(line) for line in lines]) if lines else _find_signing_key(data, file)
    except BundleError as error:
        if json_:
            click.echo(json.dumps({"good": False, "problem": str(error)}, indent=2))
            raise click.exceptions.Exit(WRONG) from None
        raise refusal_error(error) from error
    if json_:
        click.echo(json.dumps({"good": True, "key": signer}, indent=2))
    else:
        click.echo(f"good: signed by {signer}")


def _verify(data: bytes, keys: list[PublicKey]) -> str:
    from lockgate.configuration.bundles.acceptance import verify_signed

    found = verify_signed(data, keys)
    report(problems(found.bundle))
    return found.key.id


def _find_signing_key(data: bytes, file: str) -> str:
    from lockgate.configuration.bundles import enrolment
    from lockgate.configuration.bundles.pins import pins_of

    state = state_dir()
    pins = pins_of(state)
    if pins is None or pins.problem:
        raise BundleError(pins.problem if pins else "no key is pinned on this machine; give --key")
    return enrolment.would_take(state, pins, data, time.time(), file).key
