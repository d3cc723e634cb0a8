"""Whether anything gets out of a sandbox: every attack of ``attacks.yaml``, as it is and contained.

    .venv/bin/python evals/containment/exfiltration.py [NAME...] [--way WAY] [--some N] [--jobs N] [--verbose]

Each runs in a world of its own (``world.py``). As it is, it must be heard there: else it proves nothing. Contained,
in a session that is untrusted and secret and through the real hook, nobody may hear anything. Exit status 0 where both
hold for all, 1 where not. Linux only.
"""

from __future__ import annotations

import argparse
import json
import secrets
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from starting import LAUNCHERS

HERE = Path(__file__).resolve().parent
WAYS = ("bubblewrap", "namespaces")
_NAMESPACES = ("--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts")
_SECONDS = 120


class Outcome(NamedTuple):
    """What came of one attack."""

    name: str
    control: dict[str, Any]
    contained: dict[str, dict[str, Any]]
    """By way."""
    expected: str

    @property
    def proves(self) -> bool:
        """Whether it ran each time, and the expected one heard the token where there was no sandbox."""
        heard = self.control["heard"]
        everywhere = [self.control, *self.contained.values()]
        return all(told["ran"] for told in everywhere) and any(
            whole and who.startswith(self.expected) for who, whole in heard.items()
        )

    @property
    def leaks(self) -> bool:
        """Whether anybody heard anything where there was one."""
        return any(told["heard"] for told in self.contained.values())


def attacks() -> list[dict[str, Any]]:
    """The attacks, in the file's order."""
    return yaml.safe_load((HERE / "attacks.yaml").read_text("utf-8"))


def world(order: dict[str, Any]) -> dict[str, Any]:
    """What came of an order in a world of its own."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
    }
    done = subprocess.run(
        ["unshare", *_NAMESPACES, "--mount-proc", sys.executable, str(HERE / "world.py")],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        env=environment,
        cwd="/",
    )
    if done.returncode:
        raise SystemExit(f"no world for {order.get('name', 'the session')}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def tried(attack: dict[str, Any], ways: tuple[str, ...], kept: dict[str, str]) -> Outcome:
    """Try one attack: first as it is, then contained."""
    launcher = LAUNCHERS[attack["by"]]
    order = {**attack, "command": launcher.command, "files": dict(launcher.files(attack["code"]))}
    order |= {"kept": kept, "token": secrets.token_hex(8), "way": ""}
    control = world({**order, "mode": "control"})
    contained = {way: world({**order, "mode": "contained", "way": way}) for way in ways}
    return Outcome(attack["name"], control, contained, attack["heard"])


def begun() -> dict[str, str]:
    """The state of a session that is untrusted and secret: files of the gate's, by name."""
    return world({"mode": "prepare", "token": "", "files": {}, "way": ""})


def run(chosen: list[dict[str, Any]], ways: tuple[str, ...], jobs: int = 2) -> list[Outcome]:
    """Try attacks, each in worlds of its own."""
    kept = begun()
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda attack: tried(attack, ways, kept), chosen))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--way", choices=WAYS, action="append")
    parser.add_argument("--some", type=int, default=1, help="take every Nth attack")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="show what each attack said")
    given = parser.parse_args()
    chosen = [attack for attack in attacks() if not given.names or attack["name"] in given.names][:: given.some]
    outcomes = run(chosen, tuple(given.way or WAYS), given.jobs)
    for outcome in outcomes:
        _show(outcome, verbose=given.verbose)
    bad = [outcome for outcome in outcomes if not outcome.proves or outcome.leaks]
    decisions = Counter(next(iter(outcome.contained.values()))["decision"] for outcome in outcomes)
    print(
        f"{len(outcomes)} attacks: {sum(outcome.proves for outcome in outcomes)} heard as they are, "
        f"{sum(outcome.leaks for outcome in outcomes)} heard contained; the gate said "
        + ", ".join(f"{word} to {count}" for word, count in decisions.most_common())
    )
    raise SystemExit(1 if bad else 0)


def _show(outcome: Outcome, *, verbose: bool) -> None:
    contained = "; ".join(f"{way}: {', '.join(told['heard']) or '-'}" for way, told in outcome.contained.items())
    decision = next(iter(outcome.contained.values()))["decision"]
    mark = "LEAK" if outcome.leaks else "ok" if outcome.proves else "NO PROOF"
    print(f"{mark:9}{outcome.name:44}{decision:9}heard as it is: {', '.join(outcome.control['heard']) or '-'}")
    if outcome.leaks or verbose:
        print(f"{'':9}{contained}")
    if verbose or not outcome.proves:
        print(f"{'':9}control: status {outcome.control['status']} {outcome.control['said']!r}")
    for way, told in outcome.contained.items():
        if verbose:
            print(f"{'':9}{way}: status {told['status']} {told['said']!r}")


if __name__ == "__main__":
    main()
