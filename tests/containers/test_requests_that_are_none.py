"""What a container puts into its folder beside honest requests: the host refuses it, and goes on with everybody."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from containers.boxes import Boxes, Host, until
from lockgate.clients.wire.envelope import MAX_MESSAGE, REQUEST, digest, seal
from lockgate.clients.wire.messages import ContainerRequest, read_reply, write_request
from lockgate.core.events import Context, PromptSubmitted, SessionStarted
from lockgate.core.model import Subject
from lockgate.service.containers.groups import ContainerGroup

pytestmark = pytest.mark.sampled

NAME = "a" * 31


def request(group: ContainerGroup, number: int = 0, text: str = "hello") -> tuple[str, bytes]:
    """A request that the host would answer, and its id."""
    name = f"{NAME}{number}"
    event = PromptSubmitted(Context("claude-code", Subject("s1"), "/project", "/project"), text, True)
    return name, write_request(group.secret, ContainerRequest(name, event, 10.0))


def put(group: ContainerGroup, file: str, data: bytes) -> Path:
    """Put a file into the folder of requests, as a container does."""
    path = Path(group.requests) / file
    draft = path.with_name(f".{'b' * 32}")
    draft.write_bytes(data)
    draft.rename(path)
    return path


def answer(group: ContainerGroup, name: str) -> Path:
    return Path(group.responses) / f"{name}.json"


def goes_on(group: ContainerGroup, number: int = 9) -> None:
    """The host answers the next honest request."""
    name, message = request(group, number)
    put(group, f"{name}.json", message)
    until(answer(group, name).exists)
    assert not read_reply(group.secret, message, name, answer(group, name).read_bytes()).failed


def test_the_control(host: Host, box: Boxes) -> None:
    group = box().group
    host.start()
    goes_on(group)
    assert not list(Path(group.requests).iterdir())


@pytest.mark.parametrize("shape", ["link", "link to nowhere", "hard link", "pipe", "folder", "full folder", "socket"])
def test_what_is_no_plain_file_is_not_read(host: Host, box: Boxes, shape: str, tmp_path: Path) -> None:
    group = box().group
    host.start()
    name, message = request(group)
    outside = tmp_path / "outside"
    outside.write_bytes(message)
    place = Path(group.requests) / f"{name}.json"
    if shape == "link":
        place.symlink_to(outside)
    elif shape == "link to nowhere":
        place.symlink_to(tmp_path / "nowhere")
    elif shape == "hard link":
        os.link(outside, place)
    elif shape == "pipe":
        os.mkfifo(place)
    elif shape == "socket":
        os.mknod(place, 0o600 | stat.S_IFSOCK)
    else:
        # Made elsewhere: the host removes an empty folder at once.
        made = tmp_path / "folder"
        made.mkdir()
        if shape == "full folder":
            (made / "inside").write_text("")
        made.rename(place)
    goes_on(group)
    assert not answer(group, name).exists()
    assert outside.read_bytes() == message
    if shape != "full folder":
        until(lambda: not os.path.lexists(place))


@pytest.mark.parametrize(
    "file",
    ["../../escaped.json", "..json", ".json", "A" * 32 + ".json", "a" * 33 + ".json", "a" * 32 + ".JSON", "x\n.json"],
)
def test_a_name_that_is_no_id_is_no_request(host: Host, box: Boxes, file: str) -> None:
    group = box().group
    host.start()
    _, message = request(group)
    path = Path(group.requests) / file
    path.write_bytes(message)
    goes_on(group)
    if "/" not in file:
        until(lambda: not path.exists())
    assert {path.name for path in Path(group.responses).glob("*.json")} == {f"{NAME}9.json"}


@pytest.mark.parametrize("inside", ["../../../etc/passwd", "/etc/passwd", "", "a" * 33, None, 7, ["a" * 32]])
def test_an_id_inside_that_is_a_path_leads_nowhere(host: Host, box: Boxes, inside: object) -> None:
    import json

    group = box().group
    host.start()
    name, message = request(group)
    body = {**json.loads(message.partition(b"\n")[2]), "id": inside}
    message = seal(group.secret, REQUEST, json.dumps(body).encode())
    put(group, f"{name}.json", message)
    until(answer(group, name).exists)
    assert b'"failed":""' not in answer(group, name).read_bytes()
    assert digest(message).encode() in answer(group, name).read_bytes()
    goes_on(group)


def test_ten_megabytes(host: Host, box: Boxes) -> None:
    group = box().group
    host.start()
    name, _ = request(group)
    put(group, f"{name}.json", seal(group.secret, REQUEST, b" " * (MAX_MESSAGE + 2 * 1024 * 1024)))
    goes_on(group)
    assert not answer(group, name).exists()
    assert any(line["what"] == "refused" for line in host.logged())


def test_half_a_file(host: Host, box: Boxes) -> None:
    group = box().group
    host.start()
    name, message = request(group)
    put(group, f"{name}.json", message[: len(message) // 2])
    until(answer(group, name).exists)
    assert b"seal does not hold" in answer(group, name).read_bytes()
    goes_on(group)


def test_a_draft_is_left_alone(host: Host, box: Boxes) -> None:
    group = box().group
    host.start()
    draft = Path(group.requests) / f".{'c' * 32}"
    draft.write_bytes(b"half")
    goes_on(group)
    assert draft.exists()
    # One that was begun after the host looked at the clock, as it was reading the folder.
    os.utime(draft, (time.time() + 5, time.time() + 5))
    goes_on(group, 8)
    assert draft.exists()
    os.utime(draft, (1, 1))
    until(lambda: not draft.exists())


def test_the_first_of_two_with_one_id_counts(host: Host, box: Boxes) -> None:
    group = box().group
    host.start()
    name, first = request(group, text="first")
    put(group, f"{name}.json", first)
    until(answer(group, name).exists)
    said = answer(group, name).read_bytes()
    until(lambda: not (Path(group.requests) / f"{name}.json").exists())
    _, second = request(group, text="second")
    put(group, f"{name}.json", second)
    goes_on(group)
    until(lambda: not (Path(group.requests) / f"{name}.json").exists())
    assert answer(group, name).read_bytes() == said
    assert digest(first).encode() in said


def test_another_users_request(host: Host, box: Boxes) -> None:
    """The group says that its requests belong to somebody else than this test."""
    other = box("other", uid=os.geteuid()).group
    host.add_for_user("stranger", os.geteuid() + 4711)
    host.start()
    group = host.group("stranger")
    name, message = request(group)
    put(group, f"{name}.json", message)
    goes_on(other)
    until(lambda: not (Path(group.requests) / f"{name}.json").exists())
    assert not answer(group, name).exists()
    assert any("belongs to user" in line.get("why", "") for line in host.logged())


def test_a_request_of_another_group(host: Host, box: Boxes) -> None:
    one, two = box("one").group, box("two").group
    host.start()
    name, message = request(two)
    put(one, f"{name}.json", message)
    until(answer(one, name).exists)
    assert b"seal does not hold" in answer(one, name).read_bytes()
    assert not answer(two, name).exists()


def test_an_unsealed_request(host: Host, box: Boxes) -> None:
    group = box().group
    host.start()
    name, message = request(group)
    put(group, f"{name}.json", message.partition(b"\n")[2])
    until(answer(group, name).exists)
    assert b'"decision": "deny"' in answer(group, name).read_bytes() or b"failed" in answer(group, name).read_bytes()


def test_a_report_under_a_requests_name_and_the_reverse(host: Host, box: Boxes) -> None:
    group = box().group
    host.start()
    name, message = request(group)
    put(group, f"{name}.report", message)
    until(lambda: not (Path(group.requests) / f"{name}.report").exists())
    assert not [row for row in host.audit() if row["event"] == "prompt"]


def test_a_folder_that_goes_away(host: Host, box: Boxes) -> None:
    one, two = box("one").group, box("two").group
    host.start()
    shutil.rmtree(one.folder)
    goes_on(two)


def test_a_second_host_does_not_answer_in_the_same_folder(host: Host, box: Boxes) -> None:
    box()
    host.start()
    first, host.process = host.process, None
    with pytest.raises(AssertionError, match="answers in"):
        host.start("--poll")
        until(host._ended)
    host.process = first


def test_looking_for_requests_instead_of_being_told(host: Host, box: Boxes) -> None:
    one = box()
    host.start("--poll")
    (said,) = one.run("git push")
    assert said["ran"]


def test_the_start_of_a_session_is_no_report(host: Host, box: Boxes) -> None:
    group = box().group
    host.start()
    name = f"{NAME}5"
    event = SessionStarted(Context("claude-code", Subject("s1"), "/project", "/project"), "startup")
    put(group, f"{name}.report", write_request(group.secret, ContainerRequest(name, event, 10.0, report=True)))
    goes_on(group)
    assert not [row for row in host.audit() if row["event"] == "session"]
