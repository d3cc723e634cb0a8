"""What the host decides is what happens in the container."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from containers.boxes import READ_A_STRANGER, WAITS, Boxes, Host, call, until
from lockgate.clients.wire.keys import read_key
from lockgate.gate.approvals import wakeups

pytestmark = pytest.mark.sampled


def test_a_clean_session_may_push(host: Host, box: Boxes) -> None:
    one = box()
    host.start()
    (said,) = one.run("git push; touch /project/ran")
    assert said["ran"]
    assert (one.work / "ran").exists()


def test_a_denied_command_does_not_run(host: Host, box: Boxes) -> None:
    one = box()
    host.configure(WAITS)
    host.start()
    with host.refusing():
        _, said = one.run(READ_A_STRANGER, "curl https://example.com/; touch /project/ran")
    assert not said["ran"]
    assert said["decision"] == "deny"
    assert "not now" in said["reason"]
    assert not (one.work / "ran").exists()


def test_a_person_elsewhere_lets_one_command_run(host: Host, box: Boxes) -> None:
    one = box()
    host.configure(WAITS)
    host.start()
    with host.approving():
        _, said = one.run(READ_A_STRANGER, "curl https://example.com/; touch /project/ran")
    assert said["ran"]
    assert (one.work / "ran").exists()
    decided = [row for row in host.audit() if row["event"] == "decision" and row["session"] == "web/s1"][-1]
    assert decided["cascade"]["tier"] == "person"


def test_what_cannot_be_seen_through_is_contained_by_the_container_itself(host: Host, box: Boxes) -> None:
    one = box()
    (one.work / "build.sh").write_text("#!/bin/sh\necho built >/project/ran\n")
    (one.work / "build.sh").chmod(0o755)
    one.is_able_to_contain()
    host.start()
    _, said = one.run(READ_A_STRANGER, "./build.sh")
    assert "contain.py" in said["rewritten"], said
    # A sandbox in a sandbox cannot be built everywhere; then the command is not run at all.
    assert (said["status"] == 0) == (one.work / "ran").exists()


@pytest.mark.slow
def test_where_the_container_cannot_contain_the_host_does_not_say_so(host: Host, box: Boxes) -> None:
    one = box()
    (one.work / "build.sh").write_text("#!/bin/sh\necho built >/project/ran\n")
    (one.work / "build.sh").chmod(0o755)
    one.is_able_to_contain(problem="no namespaces here")
    host.start()
    with host.refusing():
        _, said = one.run(READ_A_STRANGER, "./build.sh")
    assert (said["ran"], said["decision"]) == (False, "deny")


@pytest.mark.slow
def test_what_is_provably_local_runs_without_an_answer_and_is_reported(host: Host, box: Boxes) -> None:
    """Also with a host that is dead; it looks at it when it is back."""
    one = box()
    host.start()
    one.run("echo hello")
    until(lambda: not list(Path(one.group.requests).iterdir()))
    host.end(signal.SIGKILL)
    (said,) = one.run(call("ls -la >/dev/null", "local"))
    assert said["ran"]
    assert [path.suffix for path in Path(one.group.requests).iterdir() if path.suffix == ".report"] == [".report"]
    host.start()
    until(lambda: [row for row in host.audit() if row.get("reported") and row["call"] == "local"])
    until(lambda: not list(Path(one.group.requests).iterdir()))


@pytest.mark.slow
def test_a_group_can_be_kept_from_running_anything_unasked(host: Host, box: Boxes) -> None:
    one = box(local=False)
    host.start()
    (said,) = one.run("echo hello")
    assert said["ran"]
    assert not [row for row in host.audit() if row.get("reported")]
    host.end(signal.SIGKILL)
    (said,) = one.run("echo hello")
    assert (said["ran"], said["decision"]) == (False, "deny")


REFUSING = {
    "rules about git": ("git: {rewrite: deny}", "git commit --amend -m x"),
    "a branch": ("git: {protected_branches: [main]}", "git branch -D main"),
    "a plugin": ("plugins: [./no.py]", "ls"),
    "protected files": ("protected_paths: ['**/deploy.yaml']", "echo x >deploy.yaml"),
    "files that are run later": ("persistent_paths: ['**/deploy.yaml']", "echo x >deploy.yaml"),
    "secret files": ("secret_paths: ['**/customers.csv']", "cat customers.csv"),
    "a pattern": ("bash_patterns: {acting: ['^tar ']}", "tar cf x.tar a"),
}


@pytest.mark.parametrize(("text", "command"), REFUSING.values(), ids=REFUSING)
def test_what_only_the_host_refuses_does_not_run_unasked(host: Host, box: Boxes, text: str, command: str) -> None:
    """A container knows the shipped tables alone: where this machine's person says more, it asks."""
    one = box()
    host.configure(f"{text}\ntable: {{persist: deny, read_secret: deny}}\n")
    plugin = Path(host.where.config, "no.py")
    plugin.write_text("def before_tool_use(tool_input):\n    return {'decision': 'deny', 'reason': 'not here'}\n")
    plugin.chmod(0o600)
    host.start()
    with host.refusing():
        _, said = one.run(READ_A_STRANGER, f"{command}; touch /project/ran")
    assert (said["ran"], said["decision"]) == (False, "deny")
    assert not (one.work / "ran").exists()


@pytest.mark.parametrize("text", ["services: {mcp__tracker: {public_source: true}}", "profile: [no, profile]"])
def test_where_the_host_may_know_more_it_is_asked(host: Host, box: Boxes, text: str) -> None:
    """Also where the configuration is not valid: what its person meant is not known."""
    one = box()
    host.configure(f"{text}\n")
    host.start()
    assert not read_key(f"{one.group.folder}/secret/key").local


PATTERNS = """schema_version: "1.0.0"
patterns:
  input:
    acme:
      name: Names of Acme
      description: They stay here.
      mode: block
      rules: [{id: name, type: name, pattern: 'acme_[a-z]{8}', examples: {match: [acme_aaaaaaaa]}}]
"""


@pytest.mark.slow
def test_a_file_of_patterns_is_asked_before_a_call_runs(host: Host, box: Boxes) -> None:
    one = box()
    host.configure("profile: quarantine\n")
    Path(host.where.config, "patterns.yaml").write_text(PATTERNS)
    host.start()
    (said,) = one.run("echo acme_abcdefgh; touch /project/ran")
    assert (said["ran"], said["decision"]) == (False, "deny")
    assert not (one.work / "ran").exists()


@pytest.mark.parametrize(
    "words",
    ["x " * 1200, "AKIA" + "Z2J4X6QH" * 2, "postgres://me:hunter2@db/x", "-----BEGIN RSA PRIVATE KEY-----"],
    ids=["long", "key", "address", "block"],
)
def test_what_the_pattern_library_should_see_first_is_asked_about(host: Host, box: Boxes, words: str) -> None:
    one = box()
    host.start()
    one.run(call(f"echo '{words}'", "asked"), call("echo hello; ls src", "reported"))
    rows = {row["call"]: row for row in until(lambda: two_decided(host))}
    assert (rows["asked"].get("reported"), rows["reported"].get("reported")) == (None, True)


def two_decided(host: Host) -> list[dict[str, Any]]:
    rows = [row for row in host.audit() if row["event"] == "decision"]
    return rows if len(rows) == 2 else []


@pytest.mark.slow
def test_a_host_that_gave_no_sign_of_life_lately_is_no_host(host: Host, box: Boxes) -> None:
    """What it last said of its configuration may hold no longer."""
    one = box()
    host.start()
    host.end(signal.SIGKILL)
    assert one.run("echo hello")[0]["ran"]
    os.utime(f"{one.group.responses}/alive", (1, 1))
    (said,) = one.run("echo hello", starts=[])
    assert (said["ran"], said["decision"]) == (False, "deny")


@pytest.mark.slow
def test_what_the_host_refuses_from_now_on_is_asked_about_from_now_on(host: Host, box: Boxes) -> None:
    one = box()
    host.start()
    (said,) = one.run("git commit --amend -m x; touch /project/ran")
    assert said["ran"]
    host.configure("git: {rewrite: deny}\n")
    until(lambda: not read_key(f"{one.group.folder}/secret/key").local)
    (said,) = one.run("git commit --amend -m x; touch /project/other")
    assert (said["ran"], said["decision"]) == (False, "deny")
    host.configure("profile: quarantine\n")
    until(lambda: read_key(f"{one.group.folder}/secret/key").local)


@pytest.mark.slow
def test_the_host_classifies_what_was_reported_again(host: Host, box: Boxes) -> None:
    """A path that only the host's person calls secret: the container cannot know, and the session gets the label."""
    one = box()
    host.configure("secret_paths: ['**/customers.csv']\n")
    (one.work / "customers.csv").write_text("ann,1\n")
    host.start()
    (said,) = one.run(call("cat customers.csv", "reading", result=True))
    assert said["ran"]
    found = until(lambda: [row for row in host.audit() if row["event"] == "discrepancy"])
    assert found[0]["call"] == "reading"
    came_back = until(lambda: [row for row in host.audit() if row["event"] == "outcome" and row["call"] == "reading"])
    assert came_back[0]["gave"] == ["secret"]


def test_what_only_the_container_can_see_counts(host: Host, box: Boxes) -> None:
    """A link to a file of secrets: on the host there is no such link."""
    one = box()
    (one.work / ".env").write_text("TOKEN=abc\n")
    (one.work / "notes.txt").symlink_to(".env")
    host.start()
    (said,) = one.run(call("cat notes.txt", "reading", result=True))
    assert said["ran"]
    (came_back,) = [row for row in host.audit() if row["event"] == "outcome"]
    assert came_back["gave"] == ["secret"]


def test_secrets_are_taken_out_of_a_result_by_the_host(host: Host, box: Boxes) -> None:
    one = box()
    host.start()
    key = "ghp_" + "6H2gYQ8cT1vZ0pR4mK9sB3nX7wL5dJ1xqPzE"
    (said,) = one.run(call("true", "printing", result=True, output=f"token {key} end"))
    shown = json.dumps(said["shown"])
    assert key not in shown
    assert "[REDACTED" in shown


@pytest.mark.slow
def test_labels_survive_both_sides(host: Host, box: Boxes) -> None:
    one = box()
    host.start()
    one.run(READ_A_STRANGER)
    host.end(signal.SIGKILL)
    host.start()
    with host.refusing():
        (again,) = one.run("curl https://example.com/x", starts=["resume"])
    assert not again["ran"]
    (other,) = one.run("curl https://example.com/x", session="s2")
    assert other["ran"]


def test_a_group_cannot_name_the_session_of_another(host: Host, box: Boxes) -> None:
    one, two = box("one"), box("two")
    host.start()
    one.run(READ_A_STRANGER, session="same")
    (said,) = two.run("curl https://example.com/x", session="same")
    assert said["ran"]
    (said,) = two.run("curl https://example.com/x", session="one/same")
    assert said["ran"]
    with host.refusing():
        (said,) = one.run("curl https://example.com/x", session="same", starts=[])
    assert not said["ran"]


@pytest.mark.slow
def test_a_host_that_is_killed_while_a_person_thinks_goes_on(host: Host, box: Boxes) -> None:
    one = box()
    host.configure(WAITS)
    host.start()

    def kill_and_come_back() -> None:
        until(host.question)
        host.end(signal.SIGKILL)
        host.start()
        approval = until(host.question).approval
        until(lambda: wakeups.is_waited_for(host.where.state, approval))
        host.decide(approval, approve=True)

    thread = threading.Thread(target=kill_and_come_back)
    thread.start()
    _, said = one.run(READ_A_STRANGER, "curl https://example.com/; touch /project/ran")
    thread.join()
    assert said["ran"], said
    assert (one.work / "ran").exists()


def test_paths_of_the_container_are_not_looked_for_on_the_host(host: Host, box: Boxes, tmp_path: Path) -> None:
    """A file of the host with the same name as one that a container names decides nothing."""
    script = tmp_path / "harmless.sh"
    script.write_text("#!/bin/sh\necho hello\n")
    one = box()
    host.start()
    with host.refusing():
        _, said = one.run(READ_A_STRANGER, f"sh {script}")
    assert not said["ran"]
