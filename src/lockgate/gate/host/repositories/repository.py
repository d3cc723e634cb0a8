"""A git repository on this machine, as far as the analysis asks: which files a revision has."""

from __future__ import annotations

import heapq
import os
import re
import stat

from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.host.repositories.index import LINK, files_of, mark_name
from lockgate.gate.host.repositories.objects import Objects
from lockgate.gate.host.repositories.revisions import EMPTY, Revisions
from lockgate.system import caller
from lockgate.system.digests import sha1
from lockgate.system.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_FILES = 50_000
"""Most files of a revision that are looked at."""
_MOST_SENT = 5_000
"""Most files that a push is found to send: beyond that nothing is told, as it takes too long."""
_MOST_FOLDERS = 5_000
_MOST_ENTRIES = 400_000
"""Most names in folders of all revisions that are looked at."""
_MOST_COMMITS = 3_000
_MOST_PICKED = 300
_FIRST, _SECOND, _BEFORE = 1, 2, 4
_BOTH = _FIRST | _SECOND
"""How a commit is reached: from which of two, and whether it lies before a commit that both have."""
_MOST_INDEX = 16 * 1024 * 1024
_MOST_CONTENT = 1024 * 1024
_LEADING = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
                      "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_GRAFT_FILE"})  # fmt: skip
"""Variables with which git reads something else."""
_EXTENSIONS = frozenset({"noop", "preciousobjects", "partialclone", "worktreeconfig"})
"""Extensions that change nothing of how a repository is read."""
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\](.*)')


def repository_at(folder: str, home: str = "") -> GitRepository | UnreadableRepository:
    """The repository that git finds from a folder upwards.

    Args:
        folder: Absolute.
        home: The user's home folder, for the user's own settings.
    """
    try:
        root, git = _find_repository(os.path.realpath(folder))
        common = _common(git)
        if not _is_plain(git, common) or not _LEADING.isdisjoint(caller.environ()):
            return UnreadableRepository(root)
        return GitRepository(root, git, common, home)
    except (OSError, ValueError, LookupError):
        return UnreadableRepository(folder)


class UnreadableRepository:
    """A repository of which nothing can be told."""

    def __init__(self, root: str) -> None:
        self.root = root

    def tree(self, revision: str) -> Mapping[str, str] | None:
        """Nothing is known."""
        return None

    def commit(self, revision: str) -> str:
        """Nothing is known."""
        return ""

    def content(self, commit: str, path: str) -> bytes | None:
        """Nothing is known. Raises ``LookupError``."""
        raise LookupError(path)

    def knows(self, word: str) -> bool:
        """Anything may be a revision."""
        return True

    def commits(self, one: str, other: str) -> tuple[str, ...] | None:
        """Nothing is known."""
        return None

    def base(self, one: str, other: str) -> str | None:
        """Nothing is known."""
        return None

    def holds(self, path: str, content: str) -> bool:
        """Nothing is known."""
        return False

    def pushes_to(self, remote: str) -> tuple[str, ...] | None:
        """Nothing is known."""
        return None


class GitRepository:
    """A repository that can be read. It is looked at anew for each call."""

    def __init__(self, root: str, git: str, common: str, home: str = "") -> None:
        self.root = root
        self._git, self._common, self._home = git, common, home
        self._objects = Objects(os.path.join(common, "objects"))
        self._revisions = Revisions(git, common, self._objects)
        self._usable = not (self._revisions.replaces() or any(map(os.path.exists, _list_substitute_files(common))))
        self._whole = not os.path.exists(os.path.join(common, "shallow"))
        self._left = _MOST_ENTRIES
        self._entries: dict[str, list[tuple[int, str, str]]] = {}
        self._trees: dict[str, Mapping[str, str] | None] = {}
        self._compared: set[tuple[str, str, str]] = set()
        """Pairs of folders that were compared for a push, and where they lie: commits have most of them in common."""

    def tree(self, revision: str) -> Mapping[str, str] | None:
        """The files of a revision, or of the index where it is empty, each with the name of its content."""
        if revision not in self._trees:
            try:
                self._trees[revision] = self._files(revision) if self._usable else None
            except (OSError, LookupError, ValueError):
                self._trees[revision] = None
        return self._trees[revision]

    def commit(self, revision: str) -> str:
        """The full name of the commit that a revision is; empty where it is none."""
        try:
            return self._revisions.find(revision) if self._usable else ""
        except (OSError, LookupError, ValueError):
            return ""

    def content(self, commit: str, path: str) -> bytes | None:
        """What a file holds in a commit; ``None`` where there is nothing at its path.

        Raises:
            LookupError: It cannot be read, or is no regular file.
        """
        try:
            name, kind = self._revisions.commit(commit).tree, 0o4
            for part in path.split("/"):
                there = {entry: (mode >> 12, content) for mode, entry, content in self._list(name)}
                if kind != 0o4 or part not in there:
                    return None
                kind, name = there[part]
            if kind != 0o10 or not self._usable:
                raise LookupError(path)
            return self._objects.read(name).content
        except (OSError, ValueError) as error:
            raise LookupError(path) from error

    def knows(self, word: str) -> bool:
        """Whether a word may be a revision."""
        try:
            return self._revisions.may_be(word)
        except (OSError, LookupError, ValueError):
            return True

    def base(self, one: str, other: str) -> str | None:
        """The commit from which two others come, where there is just one."""
        walked = self._walk_tree(one, other)
        best = [name for name, by in walked.items() if by & _BOTH == _BOTH and not by & _BEFORE] if walked else []
        return best[0] if len(best) == 1 else None

    def commits(self, one: str, other: str) -> tuple[str, ...] | None:
        """The commits that the second revision has and the first has not, a few hundred at most."""
        walked = self._walk_tree(one, other)
        found = tuple(name for name, by in walked.items() if by & _BOTH == _SECOND) if walked is not None else None
        return found if found is None or len(found) <= _MOST_PICKED else None

    def _walk_tree(self, one: str, other: str) -> dict[str, int] | None:
        try:
            if not (self._usable and self._whole):
                return None
            return self._walk(self._revisions.find(one), self._revisions.find(other))
        except (OSError, LookupError, ValueError):
            return None

    def holds(self, path: str, content: str) -> bool:
        """Whether this content lies at a path of the work tree; with an empty name, whether nothing lies there."""
        full = os.path.join(self.root, path)
        try:
            mode = os.lstat(full).st_mode
            if stat.S_ISLNK(mode):
                return content == LINK + _name(os.fsencode(os.readlink(full)))
            data = read_regular(full, _MOST_CONTENT, follow=False)
        except (FileNotFoundError, NotADirectoryError):
            return not content
        except (OSError, ValueError):
            return False
        # With ``core.autocrlf`` the lines of a work tree end otherwise.
        return content in (_name(data), _name(data.replace(b"\r\n", b"\n")))

    def pushes_to(self, remote: str) -> tuple[str, ...] | None:
        """All addresses that ``git push`` may send to."""
        from lockgate.gate.host.repositories.remotes import find_push_addresses

        return find_push_addresses(self.root, self._git, self._common, self._home, remote) if self._home else None

    def find_sent_files(self, remote: str, revision: str) -> dict[str, str] | None:
        """The files that a push of a revision sends and that the other side does not have, as far as is known here.

        Args:
            remote: The name of the remote; of one of which nothing is known here it has none of the files.
            revision: What is pushed.

        Returns:
            Paths with the names of their contents; ``None`` where that cannot be told.
        """
        try:
            tip = self._revisions.commit(self._revisions.find(revision))
        except (OSError, LookupError, ValueError):
            return None
        found: dict[str, str] = {}
        self._compared.clear()
        for base in (f"{remote}/{revision}", *(f"{remote}/{name}" for name in ("HEAD", "main", "master", "develop"))):
            commits = self.commits(f"refs/remotes/{base}", revision)
            if commits is None:
                continue
            try:
                before = self._revisions.commit(self._revisions.find(f"refs/remotes/{base}")).tree
                for name in commits:
                    self._add_differences(before, self._revisions.commit(name).tree, "", found)
                return found
            except (OSError, LookupError, ValueError):
                return None
        try:
            self._add_differences("", tip.tree, "", found)
        except (OSError, LookupError, ValueError):
            return None
        return found

    def _add_differences(self, one: str, other: str, above: str, found: dict[str, str]) -> None:
        """Add the files of a folder that another one does not have like this."""
        if (one, other, above) in self._compared:
            return
        self._compared.add((one, other, above))
        before = {path: (mode, content) for mode, path, content in self._list(one)} if one else {}
        for mode, path, content in self._list(other):
            if before.get(path) == (mode, content):
                continue
            if mode >> 12 == 0o4:
                kind, same = before.get(path, (0, ""))
                self._add_differences(same if kind >> 12 == 0o4 else "", content, f"{above}{path}/", found)
            else:
                found[above + path] = content
            if len(found) > _MOST_SENT:
                raise LookupError(other)

    def _files(self, revision: str) -> dict[str, str]:
        if not revision:
            try:
                return files_of(read_regular(os.path.join(self._git, "index"), _MOST_INDEX))
            except FileNotFoundError:
                return {}
        name = self._revisions.find(revision)
        if name == EMPTY:
            return {}
        found: dict[str, str] = {}
        folders = [("", self._revisions.commit(name).tree)]
        count = 0
        while folders:
            above, tree = folders.pop()
            count += 1
            for mode, path, content in self._list(tree):
                if mode >> 12 == 0o4:
                    folders.append((f"{above}{path}/", content))
                else:
                    found[above + path] = mark_name(mode, content)
            if len(found) + len(folders) > MOST_FILES or count > _MOST_FOLDERS:
                raise LookupError(revision)
        return found

    def _list(self, tree: str) -> list[tuple[int, str, str]]:
        """What stands in a folder of a revision. Revisions have most of them in common."""
        if tree not in self._entries:
            self._entries[tree] = self._read(tree)
        return self._entries[tree]

    def _read(self, tree: str) -> list[tuple[int, str, str]]:
        tree_object = self._objects.read(tree)
        if tree_object.kind != "tree":
            raise LookupError(tree)
        data, found, at = tree_object.content, [], 0
        while at < len(data):
            space = data.index(b" ", at)
            end = data.index(b"\0", space)
            path = data[space + 1 : end].decode("utf-8", "surrogateescape")
            if not path or "/" in path:
                raise ValueError("a name that is a path")
            found.append((int(data[at:space], 8), path, data[end + 1 : end + 21].hex()))
            at = end + 21
            self._left -= 1
            if self._left < 0:
                raise LookupError("too much to read")
        return found

    def _walk(self, one: str, other: str) -> dict[str, int] | None:
        """The commits of both, newest first, until only what lies before a common one is left; how each is reached.

        Of those that both have only the last ones are not marked as lying before another.
        """
        flags: dict[str, int] = {}
        queue: list[tuple[int, str]] = []

        def reach(name: str, by: int) -> None:
            if flags.get(name, 0) & by != by:
                flags[name] = flags.get(name, 0) | by
                heapq.heappush(queue, (-self._revisions.commit(name).date, name))

        reach(one, _FIRST)
        reach(other, _SECOND)
        while any(not flags[name] & _BEFORE for _, name in queue):
            if len(flags) > _MOST_COMMITS:
                return None
            _, name = heapq.heappop(queue)
            by = flags[name] | (_BEFORE if flags[name] & _BOTH == _BOTH else 0)
            for parent in self._revisions.commit(name).parents:
                reach(parent, by)
        return flags


def _name(data: bytes) -> str:
    """The name that git gives to a content."""
    return sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _find_repository(folder: str) -> tuple[str, str]:
    """The root of the work tree around a folder, and the folder of its repository. Raises ``LookupError``."""
    while True:
        place = os.path.join(folder, ".git")
        if os.path.isdir(place) and os.path.exists(os.path.join(place, "HEAD")):
            return folder, place
        if os.path.lexists(place):
            text = read_regular(place, 4096, follow=False).decode("utf-8", "surrogateescape")
            mark, _, target = text.partition(" ")
            if mark != "gitdir:":
                raise LookupError(place)
            return folder, os.path.realpath(os.path.join(folder, target.rstrip("\r\n")))
        if folder == os.path.dirname(folder) or os.path.exists(os.path.join(folder, "HEAD")):
            raise LookupError(folder)
        folder = os.path.dirname(folder)


def _common(git: str) -> str:
    """The folder that a repository shares with its other work trees."""
    try:
        text = read_regular(os.path.join(git, "commondir"), 4096).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return git
    return os.path.realpath(os.path.join(git, text.strip()))


def _list_substitute_files(common: str) -> list[str]:
    """Files by which git may read other objects than those that stand under a name."""
    names = ("info/grafts", "objects/info/commit-graphs", "objects/pack/multi-pack-index")
    return [os.path.join(common, name) for name in (*names, "objects/pack/multi-pack-index.d")]


def _is_plain(git: str, common: str) -> bool:
    """Whether the settings of a repository leave it where, and what, it is taken for."""
    for file in (os.path.join(common, "config"), os.path.join(git, "config.worktree")):
        try:
            text = read_regular(file, 256 * 1024).decode("utf-8-sig", "replace").lower()
        except FileNotFoundError:
            continue
        if any(_leads_elsewhere(section, key) for section, key in _settings(text)):
            return False
    return True


def _leads_elsewhere(section: str, key: str) -> bool:
    return (section == "extensions" and bool(key) and key not in _EXTENSIONS) or (section, key) == ("core", "worktree")


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Sections and keys of a file of settings. Behind a backslash a line can be a value: it is read in both ways."""
    sections, goes_on = {""}, False
    for line in map(str.strip, text.split("\n")):
        rest, before = line, sections
        while header := _SECTION.match(rest):
            sections, rest = {header[1]}, header[2].strip()
        sections = sections | before if goes_on else sections
        key = re.split(r"[\s=]", rest, maxsplit=1)[0]
        yield from ((section, key) for section in sections)
        goes_on = line.endswith("\\")


def find_outgoing(folder: str, home: str, remote: str, revision: str) -> dict[str, str] | None:
    """The files in commits that a push sends and that the other side does not have.

    Args:
        folder: Absolute, in the repository.
        home: The user's home folder.
        remote: The remote as the command names it; empty for the usual one.
        revision: What is pushed.

    Returns:
        Paths from the root of the repository, each with the name that git gives to its content; ``None`` where nothing
        can be told.
    """
    repository = repository_at(folder, home)
    return repository.find_sent_files(remote or "origin", revision) if isinstance(repository, GitRepository) else None
