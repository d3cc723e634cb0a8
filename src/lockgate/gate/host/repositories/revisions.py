"""Resolves a revision as *gitrevisions* says: refs, their logs, parents, abbreviated names."""

from __future__ import annotations

import errno
import os
import re
from itertools import takewhile

from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.host.repositories.graph import Commit, Graph
from lockgate.system.files import open_regular, read_regular

if TYPE_CHECKING:
    from lockgate.gate.host.repositories.objects import Objects

_SUFFIX = re.compile(r"\^\{(?P<kind>commit|tree|)\}|\^(?P<parent>\d{0,4})|~(?P<steps>\d{0,6})|@\{(?P<at>[^{}]*)\}")
_FULL, _SHORT = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{4,40}")
_HEX = re.compile(r"(?:.*-g)?[0-9A-Fa-f]{4,40}", re.DOTALL)
"""The beginning of a name as git reads it: in either case, and at the end of what `git describe` prints."""
_REF = re.compile(r"[^\x00-\x20~^:?*\[\\\x7f-]?[^\x00-\x20~^:?*\[\\\x7f]*")
_ENTRY = re.compile(r"[0-9a-f]{40} ([0-9a-f]{40}) [^>]*> [1-9][0-9]* [+-][0-9]{4}(?:\t(.*))?", re.DOTALL)
"""A line of a log: the object that the ref then led to, and why."""
_PACKED = re.compile(r"([0-9a-f]{40}) (refs/.+)", re.DOTALL)
_MOVED = re.compile(r"checkout: moving from (\S+) to \S+")
_MOST_BYTES = 16 * 1024 * 1024
_MOST_STEPS, _MOST_REFS = 1000, 10_000
EMPTY = ""
"""A parent that a commit does not have: git refuses such a revision, and nothing is written."""
_LONGEST = 4096
"""Bytes of a ref's file that are read."""
_OWN = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""Refs that each work tree has for itself."""


class Revisions:
    """Revisions of one repository. A name that cannot be told, or could be several, is a ``LookupError``."""

    def __init__(self, folder: str, common: str, objects: Objects) -> None:
        self._folder, self._common, self._objects = folder, common, objects
        self._graph = Graph(os.path.join(common, "objects"))
        self._commits: dict[str, Commit] = {}
        self._packed: dict[str, str] | None = None

    def commit(self, name: str) -> Commit:
        """A commit, by its full name or that of a tag of it."""
        if name not in self._commits:
            self._commits[name] = self._read(name)
        return self._commits[name]

    def _read(self, name: str) -> Commit:
        for _ in range(5):
            found = self._objects.read(name)
            lines = found.content.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
            fields = [line.partition(" ")[::2] for line in lines]
            if found.kind == "commit":
                # What comes behind the author is no parent to git, whatever its name.
                parents = tuple(value for _, value in takewhile(lambda field: field[0] == "parent", fields[1:]))
                dates = [value.rsplit(" ", 2)[-2:][0] for field, value in fields if field == "committer"]
                date = int(dates[0]) if dates and dates[0].isdecimal() else 0
                commit = Commit(fields[0][1], parents, date)
                if fields[0][0] != "tree" or not self._graph.agrees(name, commit):
                    break
                return commit
            if found.kind != "tag" or fields[0][0] != "object":
                break
            name = fields[0][1]
        raise LookupError(name)

    def find(self, text: str) -> str:
        """The full name of the commit that a revision is; ``EMPTY`` for a parent that there is not."""
        start = min((at for mark in ("~", "^", "@{") if (at := text.find(mark)) >= 0), default=len(text))
        base, rest = text[:start], text[start:]
        suffixes = []
        while rest:
            suffix = _SUFFIX.match(rest)
            if suffix is None:
                raise LookupError(text)
            suffixes.append(suffix)
            rest = rest[suffix.end() :]
        if suffixes and suffixes[0]["at"] is not None:
            name = self._read_log(base, suffixes.pop(0)["at"])
        else:
            name = self._read_name("HEAD" if base in ("", "@") else base)
        for suffix in suffixes:
            name = self._step(name, suffix)
        return name

    def _step(self, name: str, suffix: re.Match[str]) -> str:
        if suffix["at"] is not None or name == EMPTY:
            raise LookupError(name)
        if suffix["kind"] is not None or suffix["parent"] == "0":
            return name
        if suffix["parent"] is not None:
            parents = self.commit(name).parents
            number = int(suffix["parent"] or "1")
            return parents[number - 1] if number <= len(parents) else EMPTY
        for _ in range(min(int(suffix["steps"] or "1"), _MOST_STEPS + 1)):
            parents = self.commit(name).parents
            if not parents:
                return EMPTY
            name = parents[0]
        if int(suffix["steps"] or "1") > _MOST_STEPS:
            raise LookupError(name)
        return name

    def _read_log(self, base: str, at: str) -> str:
        """What a log of a ref says: ``stash@{1}``, and ``@{-1}`` for the branch before."""
        if at.startswith("-") and at[1:].isdecimal() and base in ("", "@"):
            moved = [match[1] for _, why in reversed(self._log("HEAD")) if (match := _MOVED.fullmatch(why))]
            number = int(at[1:])
            if not 0 < number <= len(moved):
                raise LookupError(at)
            return self._read_name(moved[number - 1])
        if not at.isdecimal():
            raise LookupError(at)
        if base == "HEAD":
            ref = "HEAD"
        elif base in ("", "@"):
            raise LookupError(at)
        else:
            refs = self._refs(base)
            if len(refs) != 1:
                raise LookupError(base)
            ref = refs[0]
        entries = self._log(ref)
        if int(at) >= len(entries):
            raise LookupError(at)
        name = entries[-1 - int(at)][0]
        if int(at) == 0 and name != self._read_name(base):
            raise LookupError(at)
        return name

    def _log(self, ref: str) -> list[tuple[str, str]]:
        """The entries of a log, oldest first: the name of an object, and why. Git passes over what is no entry."""
        folder = self._folder if ref == "HEAD" else self._common
        try:
            data = read_regular(os.path.join(folder, "logs", ref), _MOST_BYTES)
        except (OSError, ValueError) as error:
            raise LookupError(ref) from error
        *lines, rest = data.decode("utf-8", "replace").split("\n")
        found = [(match[1], match[2] or "") for line in lines if (match := _ENTRY.fullmatch(line))]
        if rest or len(found) < len(lines):
            raise LookupError(ref)
        return found

    def may_be(self, word: str) -> bool:
        """Whether a word may be a revision: it is not spelt like a name, or there is something of that name."""
        plain = _REF.fullmatch(word) is not None and "@" not in word and ".." not in word
        return not plain or _HEX.fullmatch(word) is not None or bool(self._refs(word))

    def _read_name(self, text: str) -> str:
        if _FULL.fullmatch(text.lower()):
            # `git checkout` prefers a branch of that name.
            if self._value(f"refs/heads/{text}"):
                raise LookupError(text)
            return text.lower()
        if not _REF.fullmatch(text) or ".." in text or text.startswith("/"):
            raise LookupError(text)
        found = {value for ref in self._refs(text) if (value := self._value(ref))}
        if _SHORT.fullmatch(text):
            found |= {name for name in self._objects.names_with_prefix(text) if self._is_commit(name)}
        if len(found) != 1:
            raise LookupError(text)
        return found.pop()

    def _is_commit(self, name: str) -> bool:
        return self._objects.read(name).kind in ("commit", "tag")

    def _refs(self, text: str) -> list[str]:
        """The refs that a name can mean. Which of several it is depends on who asks."""
        forms = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
        found = [ref for form in forms if self._value(ref := form.format(text))]
        if not found:
            # What `git checkout` makes a branch of.
            found = [ref for ref in self._remote_heads() if ref.split("/", 3)[3] == text]
        return found

    def _remote_heads(self) -> list[str]:
        place = os.path.join(self._common, "refs", "remotes")
        found = {ref for ref in self._read_packed_refs() if ref.startswith("refs/remotes/") and ref.count("/") > 2}
        for folder, _, names in os.walk(place):
            for name in names:
                found.add(os.path.relpath(os.path.join(folder, name), self._common))
            if len(found) > _MOST_REFS:
                raise LookupError(place)
        return sorted(ref for ref in found if ref.count("/") > 2)

    def _value(self, ref: str, depth: int = 0) -> str:
        """The name of the object that a ref leads to; empty where there is no such ref."""
        own = not ref.startswith("refs/") or ref.startswith(_OWN)
        path = os.path.join(self._folder if own else self._common, ref)
        if os.path.islink(path):
            raise LookupError(ref)  # git takes for a ref's name what the link says
        try:
            text = _read_beginning(path).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return self._read_packed_refs().get(ref, "")
        except (OSError, ValueError) as error:
            raise LookupError(ref) from error
        if text.startswith("ref:"):
            return self._value(text[4:].strip(), depth + 1) if depth < 5 else ""
        name = re.split(r"\s", text, maxsplit=1)[0].lower()
        return name if _FULL.fullmatch(name) else ""

    def _read_packed_refs(self) -> dict[str, str]:
        if self._packed is None:
            try:
                data = read_regular(os.path.join(self._common, "packed-refs"), _MOST_BYTES)
            except FileNotFoundError:
                data = b""
            except (OSError, ValueError) as error:
                raise LookupError("packed-refs") from error
            text = data.decode("utf-8", "surrogateescape")
            lines = [line for line in text.split("\n") if line and not line.startswith(("#", "^"))]
            found = {match[2]: match[1] for line in lines if (match := _PACKED.fullmatch(line))}
            if len(found) < len(lines):
                raise LookupError("a line that is no ref, or a ref that is there twice")
            self._packed = found
        return self._packed

    def replaces(self) -> bool:
        """Whether objects are replaced by others when they are read."""
        place = os.path.join(self._common, "refs", "replace")
        return os.path.exists(place) or any(ref.startswith("refs/replace/") for ref in self._read_packed_refs())


def _read_beginning(path: str) -> bytes:
    """What a ref's file begins with; all of it where it may lead to another ref."""
    if os.path.isdir(path):
        raise IsADirectoryError(path)
    descriptor = open_regular(path)
    try:
        data = os.read(descriptor, _LONGEST + 1)
    finally:
        os.close(descriptor)
    if len(data) > _LONGEST and data.startswith(b"ref:"):
        raise OSError(errno.EFBIG, "the file of a ref is too long")
    return data
