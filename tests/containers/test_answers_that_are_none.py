"""Answers that are not the host's to this very request, and hosts that cannot answer: the command does not run."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from containers.boxes import WAITS, Box, Boxes, Host, until
from lockgate.clients.wire.envelope import ANSWER, seal
from lockgate.clients.wire.messages import HostReply, write_reply
from lockgate.core.events import Answer
from lockgate.core.model import Verdict
from lockgate.service.containers.groups import ContainerGroup
from support.alongside import alongside

pytestmark = pytest.mark.sampled

ASKED = "git push; touch /project/ran"
ALLOW = HostReply(Answer(Verdict.ALLOW))
Forger = Callable[[ContainerGroup, ContainerGroup, str, bytes], bytes | None]
"""Makes an answer: for a group, with another group at hand, to a request with its id."""


def impostor(group: ContainerGroup, other: ContainerGroup, forge: Forger) -> AbstractContextManager[None]:
    """Somebody who writes answers, where the host should."""
    alive = Path(group.responses) / "alive"
    alive.touch()

    def answer(gone: threading.Event) -> None:
        while not gone.wait(0.005):
            os.utime(alive)
            for path in Path(group.requests).glob("*.json"):
                made = forge(group, other, path.stem, path.read_bytes())
                path.unlink()
                if made is not None:
                    draft = Path(group.responses) / f".{path.stem}"
                    draft.write_bytes(made)
                    draft.chmod(0o600)
                    draft.rename(Path(group.responses) / path.name)

    return alongside(answer)


def right(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return write_reply(group.secret, request, name, ALLOW)


def with_another_key(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return write_reply(other.secret, request, name, ALLOW)


def for_another_request(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return write_reply(group.secret, request.replace(b"git push", b"git pull"), name, ALLOW)


def with_another_id(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return write_reply(group.secret, request, "0" * 32, ALLOW)


def cut(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return right(group, other, name, request)[:-10]


def with_the_verdict_changed(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    denied = write_reply(group.secret, request, name, HostReply(Answer(Verdict.DENY)))
    return denied.replace(b'"verdict":"deny"', b'"verdict":"allow"')


def the_request_itself(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return request


def sealed_nonsense(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return seal(group.secret, ANSWER, b'{"verdict": "allow"}')


def plain_json(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return b'{"decision": "allow"}'


def nothing_in_it(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return b""


def a_judge_that_is_due(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return write_reply(group.secret, request, name, HostReply(Answer(Verdict.JUDGE)))


def contain_what_cannot_be(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return write_reply(group.secret, request, name, HostReply(Answer(Verdict.CONTAIN)))


def endless_waiting(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return write_reply(group.secret, request, name, HostReply(Answer(), waiting=60.0))


def a_failure(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return write_reply(group.secret, request, name, HostReply(Answer(), failed="no room"))


def too_much(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
    return right(group, other, name, request) + b" " * (9 * 1024 * 1024)


FORGED = [
    with_another_key,
    for_another_request,
    with_another_id,
    cut,
    with_the_verdict_changed,
    the_request_itself,
    sealed_nonsense,
    plain_json,
    nothing_in_it,
    a_judge_that_is_due,
    contain_what_cannot_be,
    endless_waiting,
    a_failure,
    too_much,
]


def test_the_right_answer_lets_it_run(host: Host, box: Boxes) -> None:
    """The control of all that follow."""
    one, two = box("one"), box("two")
    with impostor(one.group, two.group, right):
        (said,) = one.run(ASKED, starts=[])
    assert said["ran"]
    assert (one.work / "ran").exists()


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_a_forged_answer_lets_nothing_run(host: Host, box: Boxes, forge: Forger) -> None:
    one, two = box("one"), box("two")
    with impostor(one.group, two.group, forge):
        (said,) = one.run(ASKED, starts=[])
    refused(one, said)


def refused(one: Box, said: dict) -> None:
    assert (said["ran"], said["decision"], said["code"]) == (False, "deny", 2)
    assert "blocks to be safe" in said["reason"]
    assert not (one.work / "ran").exists()


def test_an_old_answer_lets_nothing_run(host: Host, box: Boxes) -> None:
    """Answers to former requests, put under the name of the one that waits."""
    one, two = box("one"), box("two")
    old: list[bytes] = []

    def keep(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> bytes:
        old.append(right(group, other, name, request))
        return old[0]

    with impostor(one.group, two.group, keep):
        first, second = one.run(ASKED.replace("ran", "first"), ASKED, starts=[])
    assert first["ran"]
    refused(one, second)


@pytest.mark.parametrize("shape", ["link", "pipe", "folder", "hard link"])
def test_an_answer_that_is_no_plain_file_lets_nothing_run(host: Host, box: Boxes, shape: str, tmp_path: Path) -> None:
    one, two = box("one"), box("two")

    def put(group: ContainerGroup, other: ContainerGroup, name: str, request: bytes) -> None:
        place = Path(group.responses) / f"{name}.json"
        real = Path(group.responses) / "real"
        real.write_bytes(right(group, other, name, request))
        real.chmod(0o600)
        made = {
            "link": lambda: place.symlink_to("real"),
            "pipe": lambda: os.mkfifo(place),
            "folder": place.mkdir,
            "hard link": lambda: place.hardlink_to(real),
        }
        made[shape]()

    with impostor(one.group, two.group, put):
        (said,) = one.run(ASKED, starts=[])
    refused(one, said)


def test_a_container_cannot_write_answers(host: Host, box: Boxes) -> None:
    one = box()
    host.start()
    done = one.sh(["/bin/sh", "-c", "echo x >/workspace/ipc/responses/a || echo y >/run/lockgate/key"])
    assert done.returncode != 0
    assert done.stderr.count("Read-only file system") == 2


# ---------------------------------------------------------------- nobody there
def test_a_host_that_was_never_there(host: Host, box: Boxes) -> None:
    one = box()
    (said,) = one.run(ASKED, starts=[])
    refused(one, said)
    assert "not running" in said["reason"]


def test_a_host_that_was_killed(host: Host, box: Boxes) -> None:
    one = box()
    host.start()
    host.end(signal.SIGKILL)
    began = time.monotonic()
    (said,) = one.run(ASKED, starts=[])
    refused(one, said)
    assert time.monotonic() - began < 30


def test_a_host_that_dies_while_a_person_is_asked(host: Host, box: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    one = box()
    host.configure(WAITS)
    host.start()

    def kill() -> None:
        until(host.question)
        until(lambda: list(Path(one.group.responses).glob("*.wait")))
        host.end(signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    from containers.boxes import READ_A_STRANGER

    _, said = one.run(READ_A_STRANGER, "curl https://example.com/; touch /project/ran")
    thread.join()
    refused(one, said)
    assert "died" in said["reason"]


@pytest.mark.parametrize("name", ["/workspace/ipc/requests", "/workspace/ipc/responses", "/run/lockgate"])
def test_a_mount_that_is_missing(host: Host, box: Boxes, name: str) -> None:
    one = box()
    host.start()
    one.hidden.add(name)
    (said,) = one.run(ASKED, starts=[])
    refused(one, said)


def test_a_full_disk(host: Host, box: Boxes) -> None:
    one = box()
    host.start()
    one.instead["/workspace/ipc/requests"] = ["--size", "4096", "--tmpfs", "/workspace/ipc/requests"]
    (said,) = one.run(ASKED + " " * 9000, starts=[])
    refused(one, said)
    assert "No space left" in said["reason"]


def test_a_disk_that_is_full_for_a_report_too(host: Host, box: Boxes) -> None:
    """What cannot be audited is not run, however harmless it is."""
    one = box()
    host.start()
    one.instead["/workspace/ipc/requests"] = ["--size", "4096", "--tmpfs", "/workspace/ipc/requests"]
    (said,) = one.run("true; echo " + "€" * 1900, starts=[])
    assert (said["ran"], said["decision"]) == (False, "deny")


def test_a_folder_that_cannot_be_written(host: Host, box: Boxes) -> None:
    one = box()
    host.start()
    source, target, _ = one.group.mounts[0]
    one.instead[target] = ["--ro-bind", source, target]
    (said,) = one.run(ASKED, starts=[])
    refused(one, said)


def test_another_groups_key(host: Host, box: Boxes) -> None:
    one, two = box("one"), box("two")
    host.start()
    one.instead["/run/lockgate"] = ["--ro-bind", two.group.mounts[2][0], "/run/lockgate"]
    (said,) = one.run(ASKED, starts=[])
    refused(one, said)


def test_a_key_that_everybody_can_read(host: Host, box: Boxes) -> None:
    one = box()
    host.start()
    (Path(one.group.folder) / "secret" / "key").chmod(0o644)
    (said,) = one.run(ASKED, starts=[])
    refused(one, said)


def test_a_group_that_was_removed_gets_no_answer(host: Host, box: Boxes) -> None:
    from lockgate.service.containers.groups import Groups

    one = box()
    host.start()
    Groups(host.where.state).rotate("web")
    assert one.run("git push")[0]["ran"]
    Path(host.where.state, "groups", "web.json").unlink()
    until(lambda: not (Path(one.group.responses) / "alive").exists())
    (said,) = one.run(ASKED, starts=[])
    refused(one, said)
