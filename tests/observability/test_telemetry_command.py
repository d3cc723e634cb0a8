"""``lockgate telemetry``, as real processes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import cast

import pytest
from click.testing import CliRunner, Result
from prometheus_client.parser import text_string_to_metric_families

from lockgate.cli.main import cli
from lockgate.service.observability.metrics_server import serve_metrics
from lockgate.service.observability.process import Exporter, only_exporter, run_exporter
from lockgate.service.observability.settings import Metrics, TelemetrySettings
from lockgate.store.sqlite.store import SqliteStore
from observability.collector import collecting
from support.ports import free_port

SECONDS = 60.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".config" / "lockgate").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def store(home: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(str(home / ".local" / "state" / "lockgate"))
    record(store, "before")
    yield store
    store.close()


def record(store: SqliteStore, event: str) -> None:
    with store.transaction() as tx:
        tx.append_audit(store.clock(), {"event": event})


def configure(home: Path, **said: object) -> None:
    (home / ".config" / "lockgate" / "lockgate.yaml").write_text(json.dumps({"observability": said}))


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["telemetry", *arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def until(there: Callable[[], object]) -> object:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with suppress(OSError):  # a file or a socket that is not there yet
            if found := there():
                return found
        time.sleep(0.02)
    raise AssertionError("it did not come")


@contextmanager
def running(*, code: int = 0) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "lockgate", "telemetry", "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, out) == (code, ""), err
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def get(port: int, path: str = "/metrics", host: str = "") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


def has(page: bytes, event: str) -> bool:
    return f'lockgate_audit_records_total{{event="{event}"}} 1.0'.encode() in page


def test_metrics_are_answered_written_and_follow_the_audit(home: Path, store: SqliteStore) -> None:
    port, file = free_port(), home / "lockgate.prom"
    configure(home, metrics={"listen": f"127.0.0.1:{port}", "file": str(file), "interval_seconds": 1})
    with running() as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"metrics at http://127.0.0.1:{port}/metrics; metrics in {file}\n"
        until(lambda: has(get(port)[1], "before"))
        record(store, "later")
        until(lambda: has(get(port)[1], "later"))
        until(lambda: has(file.read_bytes(), "later"))
        assert file.stat().st_mode & 0o777 == 0o644
        assert list(text_string_to_metric_families(file.read_text()))
        assert get(port, "/")[0] == 404
        # A page of another site that has its name point here is refused.
        for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example:80", "127.0.0.1.evil"):
            assert get(port, host=host)[0] == 403
        for host in ("localhost", f"localhost:{port}", "127.0.0.1", f"127.0.0.1:{port}", f"[::1]:{port}"):
            assert get(port, host=host)[0] == 200
        # Whoever says nothing keeps nobody else waiting for ever, and a second exporter does not run.
        second = subprocess.run(process.args, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert (second.returncode, "runs already" in second.stderr) == (1, True)
        # What the command prints includes what has just come, and does not disturb the exporter.
        record(store, "last")
        assert has(run("metrics").output.encode(), "last")
        until(lambda: has(get(port)[1], "last"))
    assert [path.name for path in home.iterdir() if path.name.startswith("lockgate")] == ["lockgate.prom"]


def test_metrics_on_a_socket_of_ones_own(home: Path, store: SqliteStore) -> None:
    path = home / "m.sock"
    configure(home, metrics={"listen": f"unix:{path}", "interval_seconds": 1})
    for _ in range(2):  # also over one that was left behind
        with running():
            until(lambda: path.exists() and path.stat().st_mode & 0o777 == 0o600)

            def page() -> bytes:
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(SECONDS)
                    connection.connect(str(path))
                    connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                    return b"".join(iter(lambda: connection.recv(65536), b""))

            until(lambda: has(page(), "before"))
        assert not path.exists()
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))


def test_a_file_that_is_no_socket_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("mine")
    with pytest.raises(OSError), serve_metrics(Metrics(listen=f"unix:{file}"), cast(Exporter, None)):
        pass
    assert file.read_text() == "mine"


def test_a_changed_configuration_is_taken_up_by_itself(home: Path, store: SqliteStore) -> None:
    file, port = home / "x.prom", free_port()
    configure(home, metrics={"file": str(file), "interval_seconds": 1})
    with running():
        until(lambda: has(file.read_bytes(), "before"))
        (home / ".config" / "lockgate" / "lockgate.yaml").write_text("{")  # an editor in the middle of it
        configure(home, metrics={"listen": f"127.0.0.1:{port}", "interval_seconds": 1})
        until(lambda: has(get(port)[1], "before"))
        file.unlink()
        record(store, "later")
        until(lambda: has(get(port)[1], "later"))
        assert not file.exists()
        configure(home, metrics={"interval_seconds": 1})
        until(lambda: get(port)[0] == 0)
        configure(home, metrics={"file": str(file), "interval_seconds": 1})
        until(lambda: has(file.read_bytes(), "later"))


def asked(port: int, sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    connection.sendall(sent)
    return connection


def test_who_is_slow_keeps_nobody_out_and_is_cut_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockgate.service.observability.metrics_server._SECONDS", 0.5)
    port, exporter = free_port(), Exporter(str(home / "state"), TelemetrySettings())
    exporter.page = b"metrics"
    with serve_metrics(Metrics(listen=f"127.0.0.1:{port}"), exporter), ExitStack() as stack:
        slow = [stack.enter_context(asked(port, b"GET /metrics HTT")) for _ in range(40)]
        assert get(port) == (200, b"metrics")
        # One that sends a little again and again has no more time than the others.
        for connection in slow:
            connection.settimeout(0.02)

        def over() -> bool:
            slow[:] = [connection for connection in slow if lives(connection)]
            return not slow

        until(over)
        assert get(port) == (200, b"metrics")


def lives(connection: socket.socket) -> bool:
    """Send one more letter; gives whether the other end still listens."""
    try:
        connection.sendall(b"P")
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def test_traces_and_logs_go_where_the_configuration_says(
    home: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Also a variable that the libraries listen to, and that is kept from them, is the configuration's to name.
    name = "OTEL_EXPORTER_OTLP_HEADERS"
    monkeypatch.setenv(name, "x-key=k")
    with collecting() as collector:
        otlp = {"endpoint": collector.endpoint, "headers_env": name}
        configure(home, otlp=otlp, metrics={"interval_seconds": 1})
        with running():
            until(lambda: (home / ".local/state/lockgate/telemetry.json").exists())
            record(store, "later")
            until(collector.logs)
            record(store, "last")
            until(lambda: len(collector.logs()) == 2)
        assert [log.event_name for log in collector.logs()] == ["lockgate.later", "lockgate.last"]
        assert [headers["x-key"] for _, headers, _ in collector.requests] == ["k", "k"]
        collector.requests.clear()
        assert run("check").output == f"{collector.endpoint} takes what is sent\n"
        assert len(collector.logs()) == 1
        collector.status = 400
        assert run("check", code=1).output == f"{collector.endpoint} does not take logs\n"


def test_what_is_not_configured_is_neither_done_nor_made(home: Path) -> None:
    assert "nothing is configured" in run("run", code=1).output
    assert "no collector is configured" in run("check", code=1).output
    configure(home, otlp={"endpoint": "http://127.0.0.1:1"})
    assert run("check").output == "nothing recorded yet, so nothing to send\n"
    assert "lockgate_store_up 0.0" in run("metrics").output
    assert not (home / ".local").exists()


@pytest.mark.parametrize(
    "said",
    [
        {"metrics": {"listen": "0.0.0.0:9464"}},
        {"metrics": {"listen": "10.0.0.1:9464"}},
        {"metrics": {"listen": "example.com:9464"}},
        {"metrics": {"listen": "unix:m.sock"}},
        {"metrics": {"file": "/etc/passwd"}},
        {"metrics": {"file": "x.prom"}},
        {"otlp": {}},
        {"otlp": {"endpoint": "http://collector.example:4318"}},
        {"otlp": {"endpoint": "https://user:password@collector.example"}},
        {"otlp": {"endpoint": "http://127.0.0.1.example"}},
        {"otlp": {"endpoint": "http://127.0.0.1:4318", "headers": {"a": "b"}}},
    ],
    ids=str,
)
def test_what_would_not_be_safe_is_no_configuration(home: Path, said: dict[str, object]) -> None:
    configure(home, **said)
    assert "nothing is configured" in run("run", code=1).output


def test_a_project_cannot_have_anything_sent(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = home / "project"
    (project / ".git").mkdir(parents=True)
    (project / "lockgate.yaml").write_text('observability: {otlp: {endpoint: "http://127.0.0.1:1"}}\n')
    monkeypatch.chdir(project)
    assert "nothing is configured" in run("run", code=1).output


def test_metrics_once_for_a_file_or_a_script(home: Path, store: SqliteStore) -> None:
    file = home / "out.prom"
    run("metrics", "--output", str(file))
    assert has(file.read_bytes(), "before")
    record(store, "later")
    run("metrics", "--output", str(file))
    assert has(file.read_bytes(), "before")
    assert has(file.read_bytes(), "later")
    assert json.loads(run("metrics", "--json").output)["audit_records"] == [[["before"], [1.0]], [["later"], [1.0]]]
    assert "cannot write" in run("metrics", "--output", str(home / "none" / "x"), code=1).output


def test_without_the_extra_it_is_said_what_is_missing(
    home: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] in ("prometheus_client", "opentelemetry"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    assert ".[observability]" in run("metrics", code=1).output
    configure(home, otlp={"endpoint": "http://127.0.0.1:1"})
    assert ".[observability]" in run("check", code=1).output
    assert run("metrics", "--json").output


def test_beside_something_else_it_runs_and_ends_with_it(home: Path, store: SqliteStore) -> None:
    state, told = home / ".local" / "state" / "lockgate", list[str]()
    with run_exporter(TelemetrySettings(), told.append):
        pass
    assert not (state / "telemetry.json").exists()
    path = home / "x.prom"
    configure(home, metrics={"file": str(path), "interval_seconds": 1})
    said = TelemetrySettings(Metrics(str(path)))
    with run_exporter(said, told.append):
        until(lambda: has(path.read_bytes(), "before"))
        with run_exporter(said, told.append):
            until(lambda: any("runs already" in each for each in told))
    with only_exporter(str(state)) as mine:
        assert mine


def test_it_ends_with_a_parent_that_was_killed(home: Path, store: SqliteStore) -> None:
    path = home / "x.prom"
    configure(home, metrics={"file": str(path), "interval_seconds": 1})
    script = (
        "import time\n"
        "from lockgate.service.observability.process import run_exporter\n"
        "from lockgate.service.observability.settings import Metrics, TelemetrySettings\n"
        f"with run_exporter(TelemetrySettings(Metrics({str(path)!r})), print):\n"
        "    time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], env=os.environ)
    until(path.exists)
    parent.kill()
    parent.wait()

    def free() -> bool:
        with only_exporter(str(home / ".local" / "state" / "lockgate")) as mine:
            return mine

    until(free)
