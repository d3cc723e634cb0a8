"""Tells which acts are answered by a receipt: words of the program itself, or of servers that somebody vouches for.

A command answers with a receipt under three conditions. Its entry says so (``answers``), everybody who may answer is
known, and nothing else runs on the way. A server whose name is not understood is not known.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.globs import name_matches
from lockgate.resources.hosts import answers_for_itself, canonical_host
from lockgate.resources.path_spelling import is_somewhere
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.state.findings import WORDS

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from lockgate.shell.state.findings import ReceiptCommand
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.scope import Arg

_SENDING = frozenset({EffectKind.EGRESS, EffectKind.INGEST, EffectKind.FETCH})
_HOST = r"([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)"
_URL = lazy_re(rf"(?:https|ssh|git\+ssh|ssh\+git)://(?:[\w.+%:~-]*@)?{_HOST}(?::[0-9]+)?/[^\s\\]*")
"""An address of a server that proves who it is, with the end of its name."""
_SCP = lazy_re(rf"(?:[\w.+-]+@)?{_HOST}:(?!:)[^:\s\\]*")
"""``git@github.com:me/project.git``."""
_DOMAIN = r"([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"
_IMAGE = lazy_re(
    rf"(?:{_DOMAIN}(?::[0-9]+)?/[\w./-]+|(?:(?!localhost/)[a-z0-9_-]+/)?[\w.-]+)(?::[\w.-]+)?(?:@sha256:[0-9a-f]{{64}})?"
)
"""The name of an image, with the registry before it. In one without a dot, what stands first is a name at
Docker's own registry; but ``localhost``, and what has capitals, are hosts."""
_CHARTS = lazy_re(rf"oci://{_HOST}(?::[0-9]+)?/[\w./-]*")
_PROJECT = lazy_re(rf"(?:https://{_HOST}/|{_DOMAIN}/)?[\w.-]+/[\w.-]+?(?:\.git)?/?")
"""A repository as ``gh -R`` takes it: its owner and name, with the host before them where it is not the usual one."""
_BUCKET = lazy_re(r"s3://[\w.-]+(?:/[^\s*?\[\]]*)?")
_OTHER_FORGES = ("GH_HOST", "GH_REPO")
_OTHER_CLOUDS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
"""Variables that name another server in the place of GitHub's and Amazon's."""


def failures_of(machine: Machine) -> tuple[str, ...]:
    """Patterns of the lines that show a failure, where all commands of a call answer with receipts.

    Args:
        machine: The analysis after all of it was run, in which nothing but acts has an effect.

    Returns:
        Full-line patterns. There are none where an answer may be more than a receipt.
    """
    acts = machine.findings.acts
    # A shell that stays may have variables and functions of earlier commands.
    if machine.around.shell_stays or machine.flow.interrupts or not all(_is_receipt(act, machine) for act in acts):
        return ()
    return tuple(dict.fromkeys(line for act in acts for line in act.answers["fails"]))


def _is_receipt(act: ReceiptCommand, machine: Machine) -> bool:
    """Whether a command does only what its entry says, and all who may answer it are known."""
    return _sends_only(act) and _KNOWS_WHO_ANSWERS[act.answers["to"]](act, machine)


def _sends_only(act: ReceiptCommand) -> bool:
    """Whether a command does what its entry says, and runs nothing that its words or the project add."""
    expected = {template.kind for word in act.words for template in WORDS[word]}
    rule = f"program:{act.name}"
    return all(e.kind in _SENDING or (e.kind in expected and e.rule == rule) for e in act.effects)


def _is_vouched(host: str, kind: str, machine: Machine) -> bool:
    """Whether what a host answers to an act is its own words: a person or a fleet declares it, or the tables list it.

    Args:
        host: Its name.
        kind: What is sent to it: a row of the table ``receipt_hosts``.
        machine: The analysis. What a project declares can only take this away.
    """
    name = canonical_host(host)
    if name is None:
        return False
    said = answers_for_itself(name, machine.around)
    return (
        any(name_matches(pattern, name) for pattern in table("receipt_hosts")[kind].split()) if said is None else said
    )


def _is_push_vouched(act: ReceiptCommand, machine: Machine) -> bool:
    """``git push``: the addresses of the remote in the settings of the repository."""
    words = act.operands[:1]
    return all(word.static is not None for word in words) and _are_remotes_vouched(
        act, machine, words[0].text if words else ""
    )


def _are_remotes_vouched(act: ReceiptCommand, machine: Machine, remote: str) -> bool:
    """Whether what sends to a remote reaches nobody but hosts that are vouched for, in each folder where it may run."""
    if any(not folder or is_somewhere(folder) for folder in act.folders):
        return False
    made = machine.disk.moved or machine.disk.unpacked or machine.disk.made or machine.disk.written
    if made and any(folder != machine.around.workspace for folder in act.folders):
        return False  # a repository that was put there on the way
    for folder in act.folders:
        repository = machine.around.repository(folder)
        found = None if repository is None else repository.pushes_to(remote)
        if found is None or not all(_is_known(address, machine) for address in found):
            return False
    return True


def _is_known(address: str, machine: Machine) -> bool:
    """Whether the host of a remote's whole address is vouched for."""
    match = (_URL if "://" in address else _SCP).fullmatch(address)
    return match is not None and _is_vouched(match[1], "git", machine)


def _is_image_vouched(act: ReceiptCommand, machine: Machine) -> bool:
    """``docker push``: the registry that the name of an image begins with, or Docker's own."""
    match = _fits(_IMAGE, act.operands) if len(act.operands) == 1 else None
    if match is None:
        return False
    # Podman asks its settings, or a person, where a name without a domain goes.
    host = match[1] or ("docker.io" if act.program == "docker" else "")
    return bool(host) and _is_vouched(host, "image", machine)


def _is_chart_vouched(act: ReceiptCommand, machine: Machine) -> bool:
    """``helm push``: the registry that the last word names in full."""
    match = _fits(_CHARTS, act.operands)
    return match is not None and _is_vouched(match[1], "image", machine)


def _is_github_vouched(act: ReceiptCommand, machine: Machine) -> bool:
    """``gh``: the repository that an option names, else one of the remotes; a number or a branch in it."""
    if any(map(machine.around.exported, _OTHER_FORGES)):
        return False
    if any(word.static is None or ":" in word.text for word in act.operands):
        return False
    if not act.repositories:
        return _are_remotes_vouched(act, machine, "")
    named = [_fits(_PROJECT, [word]) for word in act.repositories]
    return all(match and _is_vouched(match[1] or match[2] or "github.com", "git", machine) for match in named)


def _is_bucket_vouched(act: ReceiptCommand, machine: Machine) -> bool:
    """``aws s3 cp``: from this machine to the cloud, so that no name of a file that lies there is printed."""
    near = act.operands[:-1]
    removes = act.name.endswith("/rm")
    if removes != (not near) or _fits(_BUCKET, act.operands) is None:
        return False
    if any(word.static is None or "://" in word.text for word in near):
        return False
    return not any(map(machine.around.exported, _OTHER_CLOUDS)) and _is_vouched("s3.amazonaws.com", "bucket", machine)


def _fits(pattern: re.Pattern[str], words: Sequence[Arg]) -> re.Match[str] | None:
    """The last of some words, where it is known and all of it is what is expected."""
    return pattern.fullmatch(words[-1].text) if words and words[-1].static is not None else None


_KNOWS_WHO_ANSWERS: dict[str, Callable[[ReceiptCommand, Machine], bool]] = {
    "git": _is_push_vouched,
    "image": _is_image_vouched,
    "github": _is_github_vouched,
    "bucket": _is_bucket_vouched,
    "chart": _is_chart_vouched,
}
"""For each ``to`` of an entry: what finds out whether everybody who may answer is known."""
