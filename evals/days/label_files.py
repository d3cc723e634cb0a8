"""Public sessions in the order in which they began: how many are labelled by a file that an earlier one wrote.

    .venv/bin/python evals/days/label_files.py --from FOLDER [--verbose] [PROJECT...]

FOLDER is that of ``replay.py``. All sessions of a project share one state, and what an agent wrote lies in the project
when its call comes back. Each project is replayed twice: with the labels of files, and without. A session gains a label
where it is untrusted in the first run alone.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from replay import MODES, Replay
from transcripts import Made, Session, sessions

from lockgate.core.events import Answer, Context
from lockgate.core.model import Label, Subject, Verdict
from lockgate.gate import Monitor
from lockgate.gate.session.endorsements import list_labelled_files
from lockgate.resources.host_view import HostView


class Told(NamedTuple):
    """What became of one project."""

    untrusted: tuple[bool, ...]
    """Of each session whether it was untrusted at its end."""
    written: frozenset[str]
    """The files that agents wrote."""
    labelled: tuple[str, ...]
    """Those of them that are labelled, with their sources."""


class Lasting(Replay):
    """The sessions of one project, one after the other, whose files stay."""

    def __init__(self, root: Path, snapshot: Path, *, labels: bool) -> None:
        super().__init__(root, snapshot, frozenset())
        self._labels, self.written = labels, set[str]()

    def run(self, found: list[Session]) -> Told:
        """Replay all sessions."""
        untrusted = []
        for session in found:
            for _ in self.ask(session, MODES[0]):
                pass
            with self._gate.parts.store.reading() as tx:
                name = f"5e551011-0000-4000-8000-{self._number:012x}"
                untrusted.append(Label.UNTRUSTED in tx.labels(Subject(name)))
        with self._gate.parts.store.reading() as tx:
            labelled = tuple(f"{file.path} from {file.source}" for file in list_labelled_files(tx))
        return Told(tuple(untrusted), frozenset(self.written), labelled)

    def _tell(self, name: str, payload: Mapping[str, Any]) -> Answer | None:
        made = self._gate
        answer = super()._tell(name, payload)
        if made is None and not self._labels:
            earlier = self._gate.parts.earlier

            def without(context: Context, around: HostView) -> HostView:
                return earlier(context, around)._replace(labelled_files=dict, labelled_content=lambda _: "")

            self._gate = Monitor(self._gate.parts._replace(earlier=without))
        if payload["hook_event_name"] == "PreToolUse" and answer is not None and answer.verdict is not Verdict.DENY:
            self._write(Made(payload["tool_name"], payload["tool_input"], None))
        return answer

    def _write(self, made: Made) -> None:
        """Do what a tool for files does, where its file is one of the project."""
        path = made.given.get("file_path")
        if made.tool not in ("Write", "Edit", "MultiEdit") or not isinstance(path, str):
            return
        place = Path(path).resolve()
        if not place.is_relative_to(self._place):
            return
        self.written.add(str(place))
        text = place.read_text("utf-8", "replace") if place.is_file() else ""
        edits = made.given.get("edits", [made.given])
        for edit in edits if isinstance(edits, list) else []:
            old, new = str(edit.get("old_string") or ""), str(edit.get("new_string") or "")
            text = text.replace(old, new, 1) if old in text else f"{text}\n{new}"
        if made.tool == "Write":
            text = str(made.given.get("content") or "")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8", "replace")


def told(folder: Path, projects: Sequence[str]) -> Iterator[tuple[str, Told, Told]]:
    """Each project with what became of it, with and without the labels of files; all of them where none is named."""
    found = [each for each in sessions(folder) if not projects or each.project in projects]
    for project in sorted({session.project for session in found}):
        mine = sorted((each for each in found if each.project == project), key=lambda each: each.began)
        both = []
        for labels in (True, False):
            root = Path(tempfile.mkdtemp(prefix="lockgate-files-", dir="/var/tmp"))
            try:
                both.append(Lasting(root, folder / project.replace("/", "+") / "repo", labels=labels).run(mine))
            finally:
                shutil.rmtree(root, ignore_errors=True)
        yield project, both[0], both[1]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="folder", type=Path, required=True)
    parser.add_argument("--verbose", action="store_true", help="show each labelled file")
    parser.add_argument("projects", nargs="*", metavar="PROJECT", help="OWNER/NAME; all that are listed by default")
    given = parser.parse_args()
    count, before, gained, written, labelled = 0, 0, 0, 0, 0
    for project, with_labels, without in told(given.folder, given.projects):
        more = sum(now and not then for now, then in zip(with_labels.untrusted, without.untrusted, strict=True))
        count += len(without.untrusted)
        before += sum(without.untrusted)
        gained += more
        written += len(with_labels.written)
        labelled += len(with_labels.labelled)
        print(
            f"{project}: {len(without.untrusted)} sessions, {sum(without.untrusted)} untrusted, {more} more by a file"
        )
        for file in with_labels.labelled if given.verbose else ():
            print(f"      {file[:200]}", flush=True)
    print(f"{count} sessions: {before} untrusted, {gained} more by a file ({100 * gained / max(count, 1):.1f} %)")
    print(f"{written} files written: {labelled} labelled ({100 * labelled / max(written, 1):.1f} %)")


if __name__ == "__main__":
    main()
