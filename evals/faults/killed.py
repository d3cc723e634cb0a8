"""What becomes of the calls of many sessions whose gate is killed once: how many are refused, how many recorded.

python evals/faults/killed.py [--client native|python] [--sessions 50] [--calls 13] [--rounds 1]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from world import Ask, Host

from lockgate.store.audit.refusals import FOLDER
from lockgate.store.opening import open_store
from lockgate.system.error_log import NAME

_UP_SECONDS = 30.0


def call(session: int, number: int) -> bytes:
    """A harmless call, which is refused only where it could not be decided in time."""
    return json.dumps(
        {
            "hook_event_name": "PreToolUse",
            "session_id": f"session-{session}",
            "cwd": "/",
            "transcript_path": "/nowhere.jsonl",
            "permission_mode": "default",
            "tool_name": "Bash",
            "tool_input": {"command": f"git status --short # {number}"},
            "tool_use_id": f"toolu_{session}_{number}",
        }
    ).encode()


def up(host: Host) -> None:
    """Wait until the gate answers."""
    end = time.monotonic() + _UP_SECONDS
    while not host.answers():
        if time.monotonic() > end:
            raise SystemExit("no gate comes up")
        time.sleep(0.05)


def one_round(ask: Ask, host: Host, sessions: int, calls: int) -> tuple[list[tuple[str, float, bool]], int]:
    """Let all sessions work, and kill the gate in between; each call with its time and whether it was refused."""
    up(host)
    done: list[tuple[str, float, bool]] = []
    killed = [0]
    half = threading.Event()

    def session(index: int) -> None:
        for number in range(calls):
            began = time.monotonic()
            code, out, _ = ask(call(index, number))
            done.append((f"toolu_{index}_{number}", time.monotonic() - began, code != 0 or b'"deny"' in out))
            if len(done) >= sessions * calls // 3:
                half.set()

    def kill() -> None:
        half.wait()
        for pid in host.gates():
            os.kill(pid, signal.SIGKILL)
            killed[0] += 1

    killer = threading.Thread(target=kill)
    killer.start()
    with ThreadPoolExecutor(sessions) as crowd:
        list(crowd.map(session, range(sessions)))
    killer.join()
    return done, killed[0]


def swept(ask: Ask, folder: Path) -> None:
    """Let others work, until they have recorded what was kept."""
    for number in range(20):
        ask(call(10_000, number))
        if not folder.exists() or not list(folder.iterdir()):
            return
        time.sleep(1)


def recorded(state: str) -> dict[str, str]:
    """The calls in the audit, with why the last record of each says that nothing was decided."""
    store = open_store(state, busy_seconds=20)
    try:
        with store.reading() as tx:
            bodies = [json.loads(row.body) for row in tx.audit()]
            return {str(body.get("call")): f"{body.get('by', '')}: {body.get('because', '')}" for body in bodies}
    finally:
        store.close()


def main() -> int:
    """Run it, and print one line for each round."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--client", choices=("native", "python"), default="native")
    options.add_argument("--sessions", type=int, default=50)
    options.add_argument("--calls", type=int, default=13)
    options.add_argument("--rounds", type=int, default=1)
    given = options.parse_args()
    lost = 0
    for number in range(given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            host = Host(Path(folder))
            hooks = host.hooks if given.client == "native" else host.python_hooks
            ask = hooks("--event", "PreToolUse")
            try:
                host.start_gate()
                done, killed = one_round(ask, host, given.sessions, given.calls)
                refused = {name for name, _, no in done if no}
                swept(ask, Path(host.where.state, FOLDER))
                known = recorded(host.where.state)
                log = Path(host.where.state, NAME)
                lines = len(log.read_text().splitlines()) if log.exists() else 0
            finally:
                for pid in host.gates():
                    os.kill(pid, signal.SIGKILL)
        times = sorted(seconds for _, seconds, _ in done)
        lost += len(refused - known.keys())
        print(
            f"round {number + 1}: {len(done)} calls, gate killed {killed} x, refused {len(refused)},"
            f" of these recorded {len(refused & known.keys())}, lines in the log {lines};"
            f" p50 {times[len(times) // 2]:.2f} s, p99 {times[len(times) * 99 // 100]:.2f} s,"
            f" slowest {times[-1]:.2f} s",
            flush=True,
        )
        for why, count in Counter(known.get(name, "no record") for name in refused).most_common():
            print(f"  {count} x {why}")
    print(f"refusals without a trace: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
