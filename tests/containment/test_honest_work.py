"""What projects do all day works in a sandbox as it does without one."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path

import pytest

from containment.machine import Machine
from lockgate import contain

pytestmark = pytest.mark.sampled


def test_pytest(machine: Machine) -> None:
    machine.file("src/sums.py", "def add(a, b):\n    return a + b\n")
    machine.file("tests/test_sums.py", "from sums import add\n\ndef test_add(tmp_path):\n    assert add(1, 2) == 3\n")
    machine.file("pyproject.toml", "[tool.pytest.ini_options]\npythonpath = ['src']\n")
    done = machine.run(f"{sys.executable} -m pytest -q")
    assert done.returncode == 0, done
    assert "1 passed" in done.stdout
    assert (machine.project / ".pytest_cache").is_dir()


def test_make_and_gcc(machine: Machine) -> None:
    machine.file("main.c", '#include <stdio.h>\nint main(void) { puts("made"); return 3; }\n')
    machine.file("Makefile", "main: main.c\n\tgcc -O1 -o main main.c\n\nrun: main\n\t./main\n")
    done = machine.run("make -s run; ./main")
    assert done.returncode == 3
    assert done.stdout.startswith("made\n")


def test_git(machine: Machine) -> None:
    machine.git()
    script = (
        "git status --short && echo two >> one.txt && git add -A && git commit -qm two && git switch -qc topic && "
        "git stash list && git log --oneline | wc -l && git tag v1 && git gc -q && git diff HEAD~1 --stat"
    )
    done = machine.run(script)
    assert done.returncode == 0, done
    assert "2\n" in done.stdout
    assert machine.outside("git log --format=%s topic").stdout.split() == ["two", "one"]
    assert machine.outside("git fsck 2>&1; git status --short").stdout.strip().splitlines()[-1:] in ([], ["?? x"])


def test_git_in_another_work_tree(machine: Machine) -> None:
    machine.git()
    machine.outside("git worktree add -q ../tree -b side")
    main, machine.project = machine.project, machine.project.parent / "tree"
    done = machine.run(
        "echo x > x && git add x && git commit -qm side && echo evil >> $(git rev-parse --git-common-dir)/config"
    )
    assert "evil" not in (main / ".git" / "config").read_text()
    machine.project = main
    assert machine.outside("git log -1 --format=%s side").stdout == "side\n", done


def test_git_is_read_only_where_nobody_speaks_of_it(machine: Machine) -> None:
    machine.git()
    machine.file("x.sh", "echo x > .git/index.lock; ls .git/HEAD\n")
    done = machine.run("sh x.sh")
    assert done.stdout == ".git/HEAD\n"
    assert not (machine.project / ".git/index.lock").exists()
    machine.run("git status; sh x.sh", options=("--background",))
    assert not (machine.project / ".git/index.lock").exists()


def test_a_work_tree_of_a_bare_repository(machine: Machine) -> None:
    """Its hooks have no place that the table knows; so nothing of it is written."""
    machine.git()
    machine.outside("git clone -q --bare . ../bare && git -C ../bare worktree add -q ../tree -b side")
    machine.project = machine.project.parent / "tree"
    machine.run("git status; echo evil > $(git rev-parse --git-common-dir)/hooks/pre-commit")
    assert not (machine.project.parent / "bare/hooks/pre-commit").exists()


def test_node(machine: Machine) -> None:
    machine.file("package.json", '{"name": "x", "scripts": {"test": "node test.js"}}')
    machine.file("test.js", "const fs = require('fs'); fs.writeFileSync('out', 'x'); console.log('tested')\n")
    done = machine.run("node test.js && npm test --silent")
    assert done.returncode == 0, done
    assert done.stdout == "tested\ntested\n"


def test_a_virtual_environment(machine: Machine) -> None:
    done = machine.run(f"{sys.executable} -m venv env && env/bin/python -c 'import sys; print(sys.prefix)'")
    assert done.stdout.strip() == str(machine.project / "env"), done


def test_a_virtual_environment_of_the_path_below_tmp(machine: Machine) -> None:
    """What lies in ``/tmp`` is hidden, but for what the person's own ``PATH`` needs."""
    environment = machine.root / "env"
    (environment / "bin").mkdir(parents=True)
    for name in ("pyvenv.cfg", "library"):
        (environment / name).write_text(name)
    (environment / "bin/tool").write_text("#!/bin/sh\ncat ${0%/*}/../library\n")
    (environment / "bin/tool").chmod(0o755)
    machine.environment["PATH"] += f":{environment}/bin"
    assert machine.run("tool").stdout == "library"


def test_the_gate_itself_in_a_virtual_environment_below_tmp(machine: Machine) -> None:
    """As in a clone in ``/tmp``, from which everything runs, and which is on nobody's ``PATH``."""
    environment = machine.root / "env"
    venv.create(environment, symlinks=True, with_pip=False)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib"))  # the libraries that a gate loads
    machine.end()
    machine.interpreter = str(environment / "bin" / "python")
    machine.begin()
    done = machine.run("echo inside")
    assert done.stdout == "inside\n", done


def test_processes_of_python(machine: Machine) -> None:
    machine.file(
        "pool.py",
        "from multiprocessing import get_context\n"
        "if __name__ == '__main__':\n"
        "    for kind in ('fork', 'spawn', 'forkserver'):\n"
        "        with get_context(kind).Pool(2) as pool:\n"
        "            print(pool.map(abs, [-1, 2]))\n",
    )
    done = machine.run(f"{sys.executable} pool.py")
    assert done.stdout == "[1, 2]\n" * 3, done


def test_pipes_and_exit_codes(machine: Machine) -> None:
    assert machine.run("seq 5 | tail -2 | tac").stdout == "5\n4\n"
    for status in (0, 1, 42, 126, 127, 255):
        assert machine.run(f"exit {status}").returncode == status
    assert machine.run("nothing-of-this-name").returncode == 127
    assert machine.run("kill -9 $$").returncode == 137
    assert machine.run("kill -TERM $$").returncode == 143
    assert machine.run("printf", "%s|", "a b", "$HOME", "'").stdout == "a b|$HOME|'|"


def test_output_and_input_of_any_size(machine: Machine) -> None:
    done = machine.run("cat", input="x" * 5_000_000)
    assert done.stdout == "x" * 5_000_000
    done = machine.run("head -c 20000000 /dev/zero | tr '\\0' y; echo end >&2")
    assert (len(done.stdout), done.stderr) == (20_000_000, "end\n")
    assert machine.run("yes | head -1").stdout == "y\n"


@pytest.mark.parametrize("cached", [False, True])
def test_npm_packs_whether_or_not_the_person_has_a_cache(machine: Machine, cached: bool) -> None:
    """npm makes its cache and its logs where it can."""
    machine.file("package.json", '{"name": "a", "version": "1.0.0"}')
    if cached:
        (machine.home / ".npm" / "_cacache" / "tmp").mkdir(parents=True)
    done = machine.run("npm pack --dry-run")
    assert (done.returncode, done.stdout) == (0, "a-1.0.0.tgz\n"), done.stderr
    assert "npm error" not in done.stderr
    assert "Log files were not written" not in done.stderr
    assert [path.name for path in (machine.home / ".npm").rglob("*")] == (["_cacache", "tmp"] if cached else [])


def test_npm_takes_packages_from_the_persons_cache_where_it_is_told_to(machine: Machine) -> None:
    """The cache is filled here as ``npm install`` does it, from a package that lies on this machine."""
    machine.file("shout/package.json", '{"name": "shout", "version": "1.0.0"}')
    environment = {**os.environ, "HOME": str(machine.home), "npm_config_cache": str(machine.home / ".npm")}
    subprocess.run(["npm", "pack", "--silent"], cwd=machine.project / "shout", env=environment, check=True)
    archive = machine.project / "shout" / "shout-1.0.0.tgz"
    subprocess.run(["npm", "cache", "add", str(archive)], cwd=machine.project, env=environment, check=True)
    assert "shout" in machine.run("npm cache ls --offline").stdout
    assert "shout" not in machine.run("npm cache ls").stdout


QUOTING = (
    "echo 'single' \"double $((1 + 1))\" \\$HOME `echo back`",
    "cat <<'END'\n$x `y` \"z\" 'q'\nEND",
    "printf '%s\\n' \"a'b\" 'c\"d' $'e\\tf' \\\n  last # comment",
    "x=5; f() { echo $x \"$@\"; }; f 'a  b'; [[ $x == 5 ]] && echo yes",
    "echo ä€😀 '!' !! \\\\",
)


@pytest.mark.parametrize("text", QUOTING)
def test_a_command_says_what_it_says(machine: Machine, text: str) -> None:
    expected = machine.outside(text).stdout
    assert machine.run(text).stdout == expected
    assert machine.run(text, options=("--folder-to=1",)).stdout == expected + str(machine.project)


def test_the_folder_that_it_ended_in(machine: Machine) -> None:
    machine.file("sub/x")
    assert machine.run("cd sub", options=("--folder-to=1",)).stdout == str(machine.project / "sub")
    for text in ("cd sub; exit 3", "cd /proc", "cd /nowhere", "cd /tmp; mkdir d; cd d"):
        assert machine.run(text, options=("--folder-to=1",)).stdout in (str(machine.project), "/proc")


def test_a_folder_that_is_gone_does_not_hide_how_a_command_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError

    reader, writer = os.pipe()
    monkeypatch.setattr(os, "getcwd", gone)
    contain.tell_folder(writer, "/no/such/folder")
    os.close(writer)
    assert os.read(reader, 1) == b""
    os.close(reader)
    contain.tell_folder(writer, "/")


@pytest.mark.parametrize("more", range(10))
def test_any_number_of_descriptors(machine: Machine, more: int) -> None:
    """The run's own descriptors get out of the way of each other, whatever numbers are free."""
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(more)]
    done = machine.run("cd /usr", options=("--folder-to=1",), pass_fds=held)
    for descriptor in held:
        os.close(descriptor)
    assert (done.stdout, done.stderr) == ("/usr", "")


def test_signals_are_passed_on(machine: Machine) -> None:
    text = "trap 'echo stopped; exit 9' TERM INT; echo ready > ready; while :; do sleep 0.05; done"
    running = subprocess.Popen(
        machine.argv(text), cwd=machine.project, env=machine.environment, stdout=subprocess.PIPE, text=True
    )
    while not (machine.project / "ready").exists():
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    said, _ = running.communicate(timeout=20)
    assert (said, running.returncode) == ("stopped\n", 9)


def test_temporary_files_and_the_cache_last_and_are_not_those_outside(machine: Machine) -> None:
    machine.write(".cache/outside", "theirs")
    machine.run("echo mine > ~/.cache/mine")
    assert machine.run("cat ~/.cache/mine; ls ~/.cache").stdout == "mine\nmine\n"
    assert not (machine.home / ".cache" / "mine").exists()
    assert machine.run("mktemp -d").returncode == 0


def test_what_was_left_long_ago_is_dropped(machine: Machine) -> None:
    machine.run("echo mine > ~/.cache/mine")
    (own,) = [path for path in (machine.state / "contained").iterdir() if path.is_dir()]
    kept = machine.write("kept/file", "mine")
    for name, days in (("old", 40), ("young", 20)):
        folder = own.parent / name
        folder.mkdir()
        (folder / "link").symlink_to(kept.parent)
        os.utime(folder, (time.time() - days * 86_400,) * 2)
    machine.end()
    machine.begin()  # a gate looks for it now and then, and when it has planned for the first time
    machine.run("true")
    deadline = time.monotonic() + 10
    while (own.parent / "old").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert (own.parent / "young").exists()
    assert kept.read_text() == "mine"
    assert machine.run("cat ~/.cache/mine").stdout == "mine\n"


def test_a_temporary_file_that_the_command_names(machine: Machine) -> None:
    """An agent writes a script there with another tool, and runs it."""
    with tempfile.TemporaryDirectory(prefix="lockgate-test-") as folder:
        script, other = Path(folder, "job.py"), Path(folder, "other.txt")
        script.write_text("import os; print('ran', os.path.exists('other.txt'))\n")
        other.write_text("other")
        done = machine.run(f"python3 {script}; cat {other}; echo evil > {script}; cat {other}x")
        assert done.stdout == "ran False\nother", done
        assert script.read_text().startswith("import os")


def test_a_package_manager_does_not_try_again_where_nobody_answers(machine: Machine) -> None:
    machine.environment["PIP_RETRIES"] = "2"
    done = machine.run("echo $npm_config_fetch_retries $YARN_HTTP_RETRY $PIP_RETRIES $UV_HTTP_RETRIES $CARGO_NET_RETRY")
    assert done.stdout == "0 0 2 0 0\n"


FOLDERS_FOR_ALL = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock")


def test_temporary_folders_are_open_to_all(machine: Machine) -> None:
    """Programs check it, and so do tests of programs."""
    known = [path for path in FOLDERS_FOR_ALL if os.path.isdir(path) and os.stat(path).st_mode & 0o1777 == 0o1777]
    done = machine.run(
        f"stat -c '%n %a' {' '.join(known)}; umask 077; touch {' '.join(f'{path}/lockgate-test' for path in known)}"
    )
    assert known and done.stdout.split("\n")[:-1] == [f"{path} 1777" for path in known], done
    assert done.returncode == 0
    assert stat.S_IMODE(machine.state.stat().st_mode) == 0o700


QUEUE = """
import ctypes, os
library = ctypes.CDLL("librt.so.1", use_errno=True)
queue = library.mq_open(b"/lockgate-test", 0o102, 0o600, None)
if queue < 0:
    raise SystemExit(print(os.strerror(ctypes.get_errno())))
assert library.mq_send(queue, b"told", 4, 0) == 0
told = ctypes.create_string_buffer(1 << 16)
assert library.mq_receive(queue, told, len(told), None) == 4
library.mq_unlink(b"/lockgate-test")
print(told.value.decode())
"""


def test_message_queues(machine: Machine) -> None:
    """They work as outside, and where a kernel has none, the error is the same."""
    has_queues = "mqueue" in Path("/proc/filesystems").read_text()
    expected = "told" if has_queues else os.strerror(errno.ENOSYS)
    assert (machine.python(QUEUE, contained=False), machine.python(QUEUE)) == (expected, expected)
