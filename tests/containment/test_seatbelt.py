"""What the profile for macOS says to accesses, by a reader of our own: no Mac is needed, the profile is a text.

What the system makes of it is tried on each Mac by the probe (``test_seatbelt_runs.py``).
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containment.sbpl import Profile, operations
from lockgate.containment.macos.profile import environment, profile
from lockgate.containment.macos.sandbox_exec import command_line
from lockgate.containment.plan import DEVICES, EMPTY, READ_ONLY, WRITABLE, Mount, Plan
from lockgate.core.errors import ContainmentError
from lockgate.resources.host_view import AnalysisRules, HostView
from lockgate.resources.protected_paths import PathGuard

HOME = "/Users/ann"
SHOP = f"{HOME}/shop"
OWN = f"{HOME}/.local/state/lockgate/contained/0a"
AROUND = HostView(home=HOME, workspace=SHOP, rules=AnalysisRules(protected_paths=("build.lock",)))
MOUNTS = (
    Mount(READ_ONLY, "/", "/"),
    Mount(DEVICES, "/dev"),
    Mount(WRITABLE, "/private/tmp", f"{OWN}/tmp"),
    Mount(EMPTY, "/private/var/folders"),
    Mount(READ_ONLY, "/private/tmp/job.py", "/private/tmp/job.py"),
    Mount(WRITABLE, f"{HOME}/.cache", f"{OWN}/cache"),
    Mount(EMPTY, f"{HOME}/.local/state/lockgate"),
    Mount(EMPTY, f"{HOME}/.ssh"),
    Mount(READ_ONLY, f"{HOME}/.ssh/known_hosts", f"{HOME}/.ssh/known_hosts"),
    Mount(READ_ONLY, f"{HOME}/.netrc", "/nothing"),
    Mount(WRITABLE, SHOP, SHOP),
    Mount(READ_ONLY, f"{SHOP}/.git/hooks", f"{SHOP}/.git/hooks"),
    Mount(READ_ONLY, f"{SHOP}/.env", "/nothing"),
)
PLAN = Plan(
    MOUNTS, SHOP, {"PATH": "/usr/bin", "TMPDIR": "/tmp"}, ("/bin/sh", "-c", "true"), PathGuard(AROUND).list_protected()
)
READ, WRITE, MOVE = "file-read-data", "file-write-data", "file-write-unlink"

ALLOWED = [
    (READ, "/usr/lib/libSystem.dylib"),
    (READ, f"{HOME}/other/lib.py"),
    (READ, f"{SHOP}/src/a.py"),
    (READ, f"{SHOP}/.git/hooks/pre-commit"),
    (READ, f"{HOME}/.ssh/known_hosts"),
    (READ, "/private/tmp/job.py"),
    (WRITE, f"{SHOP}/src/a.py"),
    (WRITE, f"{SHOP}/.git/index"),
    (WRITE, f"{SHOP}/.gitignore"),
    (WRITE, f"{SHOP}/environment"),
    (MOVE, f"{SHOP}/src/a.py"),
    (MOVE, f"{SHOP}/src"),
    (WRITE, f"{OWN}/tmp/x"),
    (READ, f"{OWN}/cache/x"),
    ("file-read-metadata", f"{HOME}/.local/state/lockgate"),
    ("network-outbound", f"{OWN}/tmp/s"),
    (WRITE, "/dev/null"),
    ("file-ioctl", "/dev/ptmx"),
    ("process-exec", "/usr/bin/make"),
    ("process-fork", ""),
    ("signal", "same-sandbox"),
    ("ipc-posix-shm-write-data", "/psm_1234"),
    ("mach-lookup", "com.apple.system.opendirectoryd.libinfo"),
]
REFUSED = [
    *((operation, "") for operation in ("network-outbound", "network-inbound", "network-bind", "system-socket")),
    ("network-outbound", "/private/var/run/mDNSResponder"),
    ("network-outbound", "/private/var/run/docker.sock"),
    ("network-outbound", "/private/tmp/com.apple.launchd.x/Listeners"),
    ("network-outbound", f"{SHOP}/web.sock"),
    ("network-bind", f"{SHOP}/web.sock"),
    *(("mach-lookup", f"com.apple.{name}") for name in ("pasteboard.1", "lsd.open", "trustd", "logd")),
    *((operation, "") for operation in ("appleevent-send", "lsopen", "job-creation", "mach-register", "file-link")),
    *((operation, "") for operation in ("system-privilege", "iokit-open", "sysctl-write", "ipc-sysv-shm", "nvram-set")),
    ("signal", "others"),
    ("process-info-pidinfo", "others"),
    ("mach-priv-task-port", "others"),
    ("ipc-posix-shm-write-data", "/theirs"),
    (READ, f"{HOME}/.ssh/id_ed25519"),
    (READ, f"{HOME}/.netrc"),
    (READ, f"{SHOP}/.env"),
    (READ, "/private/tmp/other"),
    (READ, "/private/var/folders/ab/T/x"),
    (READ, f"{HOME}/.local/state/lockgate/key"),
    (WRITE, f"{HOME}/.local/state/lockgate/key"),
    (WRITE, "/private/tmp/x"),
    (WRITE, "/private/tmp/job.py"),
    (WRITE, f"{HOME}/.cache/x"),
    (WRITE, f"{HOME}/.zshrc"),
    (WRITE, f"{HOME}/Library/LaunchAgents/x.plist"),
    (WRITE, f"{HOME}/.ssh/known_hosts"),
    (WRITE, f"{HOME}/shop2/a"),
    (WRITE, "/dev/ttys001"),
    (READ, "/dev/ttys001"),
    ("file-ioctl", "/dev/tty"),
    ("file-ioctl", "/dev/ttys001"),
    (WRITE, "/dev/disk0"),
    *((WRITE, f"{SHOP}/{name}") for name in (".git/hooks/pre-commit", ".git/config", ".envrc", ".ENVRC", "build.lock")),
    *((WRITE, f"{SHOP}/{name}") for name in (".Claude/settings.json", "a/b/.vscode/tasks.json", "CLAUDE.md")),
    *((WRITE, f"{SHOP}/{name}") for name in (".github/workflows/x.yml", "sub/.git/hooks/x", ".husky/pre-push")),
    ("file-write-create", f"{SHOP}/.envrc"),
    *((MOVE, path) for path in (SHOP, f"{SHOP}/.git", f"{SHOP}/.git/hooks", f"{SHOP}/.env", f"{SHOP}/.envrc")),
]


@pytest.mark.parametrize(("operation", "what"), ALLOWED)
def test_what_work_needs(operation: str, what: str) -> None:
    assert Profile(profile(PLAN)).allows(operation, what)


@pytest.mark.parametrize(("operation", "what"), REFUSED)
def test_what_gets_out(operation: str, what: str) -> None:
    assert not Profile(profile(PLAN)).allows(operation, what)


def test_no_operation_is_allowed_that_was_not_thought_of() -> None:
    known = {
        "process-exec",
        "process-fork",
        "process-info*",
        "signal",
        "sysctl-read",
        "ipc-posix-sem",
        "ipc-posix-shm*",
    }
    known |= {"pseudo-tty", "mach-lookup", "file-read*", "file-write*", "file-ioctl", "file-read-metadata"}
    assert set(operations(profile(PLAN))) - known == {"network-bind", "network-inbound", "network-outbound"}


NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters='/"'), min_size=1, max_size=8)


@given(NAMES.filter(lambda name: name.isprintable()), NAMES.filter(lambda name: name.isprintable()))
def test_any_name_is_quoted(folder: str, name: str) -> None:
    """No name of a folder says more than itself."""
    root = f"/r/{folder}"
    mounts = (Mount(READ_ONLY, "/", "/"), Mount(WRITABLE, root, root), Mount(EMPTY, f"{root}/{name}"))
    said = Profile(profile(Plan(mounts, root, {}, ("true",), (("**", ".envrc"),))))
    assert not said.allows(READ, f"{root}/{name}/x")
    assert not said.allows(WRITE, f"{root}/a/.envrc")
    assert said.allows(WRITE, f"{root}/{name}2/x")
    assert not said.allows(WRITE, f"/r/{folder}2/x")


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a\0b", "a\u202eb"])
def test_a_name_that_cannot_be_written_is_not_contained(name: str) -> None:
    mounts = (Mount(READ_ONLY, "/", "/"), Mount(WRITABLE, f"/r/{name}", f"/r/{name}"))
    with pytest.raises(ContainmentError):
        command_line(Plan(mounts, "/", {}, ("true",), (("**", ".envrc"),)), "/usr/bin/sandbox-exec")


def test_its_own_folders_are_told_by_the_environment() -> None:
    told = environment(PLAN)
    assert (told["TMPDIR"], told["XDG_CACHE_HOME"], told["PATH"]) == (f"{OWN}/tmp", f"{OWN}/cache", "/usr/bin")
