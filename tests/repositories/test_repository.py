"""What is read of a repository is what git itself says, and what git may read otherwise is not told."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import shutil
import subprocess
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.gate.host.repositories.index import files_of
from lockgate.gate.host.repositories.objects import _patch
from lockgate.gate.host.repositories.repository import GitRepository, UnreadableRepository, repository_at

pytestmark = pytest.mark.sampled

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "ann",
    "GIT_AUTHOR_EMAIL": "ann@example.com",
    "GIT_COMMITTER_NAME": "ann",
    "GIT_COMMITTER_EMAIL": "ann@example.com",
}


class Project:
    """A repository with some history, and git in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = int(time.time()) - 100_000  # git forgets old entries of its logs
        self.git("init", "-q", "-b", "main")
        for number in range(12):
            self.commit({"src/app.py": "x = 1\n" * (50 + number), f"docs/{number}.md": str(number)})
        self.git("checkout", "-q", "-b", "topic", "HEAD~4")
        self.commit({"src/topic.py": "y\n", "docs/é ü.md": "z\n"})
        self.git("tag", "-a", "v1.0", "-m", "first")
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", "--no-edit", "topic")
        self.git("tag", "merged")
        os.symlink("app.py", root / "src" / "link")
        self.commit({"bin/run": "#!/bin/sh\n"})

    def git(self, *words: str, data: str | None = None) -> str:
        self.clock += 60
        dates = {"GIT_AUTHOR_DATE": f"{self.clock} +0000", "GIT_COMMITTER_DATE": f"{self.clock} +0000"}
        environment = {**ENVIRONMENT, **dates, "HOME": str(self.root)}
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=environment, input=data, capture_output=True, text=True, check=True
        )
        return done.stdout

    def commit(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "work")

    def files(self, revision: str) -> dict[str, str]:
        """What git says that a revision, or the index, holds."""
        if revision:
            rows = [row.split("\t", 1) for row in self.git("ls-tree", "-r", "-z", revision).split("\0") if row]
            return {name: told.split()[2] for told, name in rows}
        rows = [row.split("\t", 1) for row in self.git("ls-files", "-s", "-z").split("\0") if row]
        return {name: told.split()[1] for told, name in rows}

    def read(self) -> GitRepository:
        found = repository_at(str(self.root))
        assert isinstance(found, GitRepository)
        return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """What each test has a copy of: its history takes fifty processes."""
    return Project(tmp_path_factory.mktemp("made"))


@pytest.fixture
def project(tmp_path: Path, made: Project) -> Project:
    copied = copy.copy(made)
    copied.root = tmp_path / "project"
    shutil.copytree(made.root, copied.root, symlinks=True)
    copied.git("update-index", "-q", "--refresh")  # the index has the numbers of the files that were copied
    return copied


def _bare(tree: object) -> dict[str, str]:
    assert isinstance(tree, dict)
    return {name: content.rpartition(":")[2] for name, content in tree.items()}


def _packed(project: Project) -> None:
    project.git("gc", "-q", "--aggressive")


def _half_packed(project: Project) -> None:
    project.git("repack", "-q", "-d")
    project.commit({"later.txt": "later"})
    project.git("pack-refs", "--all")


def _by_reference(project: Project) -> None:
    project.git("-c", "pack.threads=1", "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50")


STATES: list[Callable[[Project], None]] = [lambda _: None, _packed, _half_packed, _by_reference]
REVISIONS = ["HEAD", "", "@", "main", "topic", "v1.0", "HEAD~3", "HEAD^", "merged^2", "main~4", "topic^0",
             "v1.0^{commit}", "refs/heads/topic", "@{-1}", "HEAD@{2}"]  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_revisions_hold_what_git_says(project, state):
    state(project)
    repository = project.read()
    short = project.git("rev-parse", "--short", "topic").strip()
    for revision in [*REVISIONS, short, project.git("rev-parse", "main").strip()]:
        assert _bare(repository.tree(revision)) == project.files(revision), revision


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_the_index_is_read_in_each_version(project, version):
    project.git("add", "--intent-to-add", "--", "src/app.py")
    project.git("update-index", "--index-version", version)
    assert _bare(project.read().tree("")) == project.files("")


@pytest.mark.parametrize("state", STATES)
def test_bases_and_commits_are_those_of_git(project, state):
    state(project)
    repository = project.read()
    for one, other in [("main", "topic"), ("topic", "main"), ("main~6", "topic"), ("main", "main"), ("main~8", "main")]:
        assert repository.base(one, other) == project.git("merge-base", one, other).strip()
        found = repository.commits(one, other)
        assert found is not None
        assert set(found) == set(project.git("rev-list", f"{one}..{other}").split())


def test_a_parent_that_there_is_not_holds_nothing(project):
    first = project.git("rev-list", "--max-parents=0", "HEAD").strip()
    assert project.read().tree(f"{first}^") == {}
    assert project.read().tree("HEAD^3") == {}


def test_a_stash_is_read_with_its_parents(project):
    (project.root / "src" / "app.py").write_text("changed\n")
    (project.root / "new.txt").write_text("new\n")
    project.git("stash", "push", "-u")
    (project.root / "src" / "app.py").write_text("changed again\n")
    project.git("stash")
    repository = project.read()
    for revision in ("stash@{0}", "stash@{1}", "stash@{1}^1", "stash@{1}^3", "stash"):
        assert _bare(repository.tree(revision)) == project.files(revision)
    assert repository.tree("stash@{0}^3") == {}
    assert repository.tree("stash@{2}") is None


def test_another_work_tree_has_its_own_head_and_index(project, tmp_path):
    project.git("worktree", "add", "-q", "../beside", "topic")
    beside = repository_at(str(tmp_path / "beside" / "src"))
    assert beside.root == str(tmp_path / "beside")
    assert _bare(beside.tree("HEAD")) == _bare(beside.tree("")) == project.files("topic")
    assert _bare(beside.tree("main")) == project.files("main")


def test_what_lies_there_is_compared_by_content(project):
    repository = project.read()
    files = repository.tree("HEAD")
    assert files is not None
    assert repository.holds("src/app.py", files["src/app.py"])
    assert repository.holds("src/link", files["src/link"])
    assert repository.holds("not/there", "")
    assert not repository.holds("src/app.py", "")
    (project.root / "src" / "app.py").write_text("another\n")
    assert not repository.holds("src/app.py", files["src/app.py"])
    # A file that says where a link would lead is no link.
    (project.root / "src" / "link").unlink()
    (project.root / "src" / "link").write_text("app.py")
    assert not repository.holds("src/link", files["src/link"])


def test_lines_may_end_as_on_another_system(project):
    text = (project.root / "src" / "app.py").read_bytes()
    (project.root / "src" / "app.py").write_bytes(text.replace(b"\n", b"\r\n"))
    files = project.read().tree("HEAD")
    assert files is not None
    assert project.read().holds("src/app.py", files["src/app.py"])


@pytest.mark.parametrize("word", ["src/app.py", "docs", "nothing"])
def test_a_name_of_a_file_is_no_revision(project, word):
    assert not project.read().knows(word)


@pytest.mark.parametrize(
    "word",
    [
        "main",
        "topic",
        "v1.0",
        "HEAD~2",
        "@",
        "deadbeef",
        "main..topic",
        ":/work",
        "@{-1}",
        "DEADBEEF",
        "v1-3-gdeadbee",
        "x-gDEADB",
    ],
)
def test_what_may_be_a_revision_counts_as_one(project, word):
    assert project.read().knows(word)


# ---------------------------------------------------------------- what git may read otherwise is not told
def _evil(project: Project) -> str:
    """The name of a commit that holds something else."""
    blob = project.git("hash-object", "-w", "--stdin", data="evil").strip()
    tree = project.git("mktree", data=f"100644 blob {blob}\tCLAUDE.md\n").strip()
    return project.git("commit-tree", "-m", "x", tree).strip()


def _two_of_a_name(project: Project) -> None:
    project.git("tag", "topic", _evil(project))


def _replaced(project: Project) -> None:
    project.git("replace", "topic", _evil(project))


def _grafted(project: Project) -> None:
    (project.root / ".git" / "info" / "grafts").write_text("")


def _several_graphs(project: Project) -> None:
    project.git("commit-graph", "write", "--reachable", "--split")


def _index_of_packs(project: Project) -> None:
    project.git("gc", "-q")
    project.git("multi-pack-index", "write")


def _forged_graph(project: Project) -> None:
    """A graph that gives the branch the tree of another commit."""
    evil = project.git("rev-parse", f"{_evil(project)}^{{tree}}").strip()
    project.git("commit-graph", "write", "--reachable")
    graph = project.root / ".git" / "objects" / "info" / "commit-graph"
    graph.chmod(0o600)
    tree = project.git("rev-parse", "topic^{tree}").strip()
    data = graph.read_bytes()
    assert bytes.fromhex(tree) in data
    graph.write_bytes(data.replace(bytes.fromhex(tree), bytes.fromhex(evil)))


def _forged_object(project: Project) -> None:
    """A tree under another's name."""
    tree = project.git("rev-parse", "topic^{tree}").strip()
    evil = b"100644 CLAUDE.md\0" + bytes(20)
    place = project.root / ".git" / "objects" / tree[:2] / tree[2:]
    place.unlink()
    place.write_bytes(zlib.compress(b"tree %d\0" % len(evil) + evil))


def _forged_beside_a_pack(project: Project) -> None:
    project.git("gc", "-q")
    tree = project.git("rev-parse", "topic^{tree}").strip()
    place = project.root / ".git" / "objects" / tree[:2] / tree[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(b"tree 0\0"))


def _pack_out_of_order(project: Project) -> None:
    """A pack in which git finds another tree in the middle of names that are not sorted."""
    tree = bytes.fromhex(project.git("rev-parse", "topic^{tree}").strip())
    evil = b"100644 CLAUDE.md\0" + bytes.fromhex(project.git("rev-parse", "topic:src/app.py").strip())
    pack = b"PACK" + (2).to_bytes(4, "big") + (3).to_bytes(4, "big")
    start = len(pack)
    assert len(evil) < 16 * 128
    pack += bytes([0xA0 | len(evil) & 15, len(evil) >> 4]) + zlib.compress(evil)
    pack += hashlib.sha1(pack).digest()
    names = [tree[:1] + b"\xff" * 19, tree, tree[:1] + b"\xff" * 19]
    counts = b"".join((0 if byte < tree[0] else 3).to_bytes(4, "big") for byte in range(256))
    index = b"\xfftOc\0\0\0\2" + counts + b"".join(names) + bytes(12) + start.to_bytes(4, "big") * 3 + pack[-20:]
    index += hashlib.sha1(index).digest()
    place = project.root / ".git" / "objects" / "pack" / f"pack-{hashlib.sha1(pack).hexdigest()}"
    place.with_suffix(".pack").write_bytes(pack)
    place.with_suffix(".idx").write_bytes(index)
    assert "CLAUDE.md" in project.git("diff-tree", "-r", "--name-only", "main", "topic")


def _borrowed(line: str) -> Callable[[Project], None]:
    def forge(project: Project) -> None:
        (project.root / ".git" / "objects" / "info" / "alternates").write_text(line)

    return forge


def _link_to_a_name(project: Project) -> None:
    """A ref that is a link: git takes what it says for the name of another ref."""
    heads = project.root / ".git" / "refs" / "heads"
    (heads / "refs" / "heads").mkdir(parents=True)
    (heads / "refs" / "heads" / "evil").write_text(project.git("rev-parse", "topic"))
    (heads / "topic").unlink()
    project.git("update-ref", "refs/heads/evil", _evil(project))
    (heads / "topic").symlink_to("refs/heads/evil")
    assert "CLAUDE.md" in project.git("ls-tree", "topic")


def _long_ref(project: Project) -> None:
    (project.root / ".git" / "refs" / "tags" / "topic").write_text(_evil(project) + "\n" * 5000)
    assert "CLAUDE.md" in project.git("ls-tree", "topic")


def _large_letters(project: Project) -> None:
    (project.root / ".git" / "refs" / "tags" / "topic").write_text(_evil(project).upper())
    assert "CLAUDE.md" in project.git("ls-tree", "topic")


def _packed(text: str) -> Callable[[Project], None]:
    def forge(project: Project) -> None:
        names = {"evil": _evil(project), "plain": project.git("rev-parse", "topic").strip()}
        (project.root / ".git" / "refs" / "heads" / "topic").unlink()
        (project.root / ".git" / "packed-refs").write_text(text.format(**names))
        assert "CLAUDE.md" in project.git("ls-tree", "topic")

    return forge


def _settings(text: str) -> Callable[[Project], None]:
    def forge(project: Project) -> None:
        (project.root / ".git" / "config").write_text(f"{text}[core]\nrepositoryformatversion = 0\n")
        assert project.git("rev-parse", "--show-toplevel").strip() == "/"

    return forge


def _elsewhere(project: Project) -> None:
    project.git("config", "core.worktree", "/")


def _other_format(project: Project) -> None:
    project.git("config", "extensions.refStorage", "reftable")


FORGED = [_two_of_a_name, _replaced, _grafted, _several_graphs, _index_of_packs, _forged_graph, _forged_object,
          _forged_beside_a_pack, _elsewhere, _other_format, _pack_out_of_order, _link_to_a_name, _long_ref,
          _large_letters,
          *map(_borrowed, ('"/else\\150ere"\n', ".\n", "../objects\n" * 40)),
          *map(_packed, ("{evil} refs/heads/topic\n{plain} refs/heads/zz\u2028{plain} refs/heads/topic\n",
                         "{evil}\trefs/tags/topic\n{plain} refs/heads/topic\n")),
          *map(_settings, ("[user][core]worktree = /\n", "\ufeff[core]\nworktree = /\n",
                           "[core]\na = b\\\n[other]\nworktree = /\n",
                           "[core]\na = b\u2028[other]\nworktree = /\n"))]  # fmt: skip


@pytest.mark.parametrize("forge", FORGED)
def test_what_git_may_read_otherwise_is_not_told(project, forge):
    assert project.read().tree("topic") is not None
    forge(project)
    found = repository_at(str(project.root)).tree("topic")
    assert found is None or "CLAUDE.md" in found


def test_a_branch_named_like_an_object_is_not_told(project):
    name = project.git("rev-parse", "topic").strip()
    assert project.read().tree(name.upper()) == project.read().tree(name) is not None
    (project.root / ".git" / "refs" / "heads" / name).write_text(_evil(project))
    assert project.read().tree(name) is None


def test_a_message_is_no_change_of_branches(project):
    project.git("checkout", "-q", "topic")
    project.git("checkout", "-q", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "checkout: moving from merged to main")
    assert project.read().tree("@{-1}") == project.files("topic")


def test_a_parent_behind_the_author_is_none(project):
    lines = project.git("cat-file", "commit", "topic").split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("committer "))
    lines.insert(at + 1, f"parent {project.git('rev-parse', 'main').strip()}")
    name = project.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", data="\n".join(lines)).strip()
    assert project.read().tree(f"{name}^2") == {}
    assert project.read().base("main", name) == project.git("merge-base", "main", name).strip()


@pytest.mark.parametrize("line", ["no entry\n", "{0} {0} ann <a> 0 +0000\tx\n", "{0} {0} ann <a> 1 +0000\tx"])
def test_a_log_with_lines_that_git_passes_over_is_not_told(project, line):
    with (project.root / ".git" / "logs" / "HEAD").open("a") as log:
        log.write(line.format(project.git("rev-parse", "HEAD").strip()))
    assert project.read().tree("HEAD@{1}") is None


# ---------------------------------------------------------------- what is made to be long
def _peak(act: Callable[[], object]) -> int:
    """The most bytes that something needs at a time."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_pack_that_is_cut_short_meanwhile_is_not_told(project):
    project.git("gc", "-q")
    found = project.read()
    assert found.tree("main")
    for pack in (project.root / ".git" / "objects" / "pack").glob("*.pack"):
        pack.chmod(0o600)
        os.truncate(pack, 0)
    assert found.tree("v1.0~2") is None


def test_a_delta_makes_no_more_than_it_says():
    def patch() -> None:
        with pytest.raises(ValueError, match="something else"):
            _patch(bytes(0x10000), b"\x80\x80\4\1" + b"\x80" * 1000)

    assert _peak(patch) < 1_000_000


def test_a_number_in_a_delta_ends():
    with pytest.raises(ValueError, match="too long"):
        _patch(b"", b"\xff" * 100_000)


def test_a_folder_that_holds_a_name_again_and_again_is_not_told(project, monkeypatch):
    monkeypatch.setattr("lockgate.gate.host.repositories.repository._MOST_ENTRIES", 1000)
    blob = project.git("hash-object", "-w", "--stdin", data="x").strip()
    rows = b"100644 a\0" + bytes.fromhex(blob)
    place = project.root / "tree"
    place.write_bytes(rows * 2000)
    tree = project.git("hash-object", "-t", "tree", "-w", "--literally", str(place)).strip()
    name = project.git("commit-tree", "-m", "x", tree).strip()
    assert project.read().tree(name) is None


def test_names_of_an_index_come_to_little_more_than_it_is_long(monkeypatch):
    entry = bytes(62) + b"\0" + b"x" * 20 + b"\0"
    data = b"DIRC" + (4).to_bytes(4, "big") + (3000).to_bytes(4, "big") + entry * 3000
    monkeypatch.setattr("lockgate.gate.host.repositories.index.MOST_BYTES", 1_000_000)
    with pytest.raises(ValueError, match="come to too much"):
        files_of(data)


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"])
def test_variables_that_lead_git_elsewhere(project, name, monkeypatch):
    monkeypatch.setenv(name, "/elsewhere")
    assert isinstance(repository_at(str(project.root)), UnreadableRepository)


def test_files_in_conflict_are_not_told(project):
    project.git("checkout", "-q", "topic")
    project.commit({"src/app.py": "theirs\n"})
    project.git("checkout", "-q", "main")
    project.commit({"src/app.py": "ours\n"})
    with pytest.raises(subprocess.CalledProcessError):
        project.git("merge", "topic")
    assert project.read().tree("") is None


def test_where_there_is_no_repository_nothing_is_told(tmp_path):
    assert repository_at(str(tmp_path)).tree("HEAD") is None
    assert repository_at(str(tmp_path / "nowhere")).knows("x")


@given(st.binary(max_size=300))
def test_an_index_of_any_bytes_is_refused_in_one_way(data):
    for start in (b"", b"DIRC\0\0\0\2\0\0\0\1", b"DIRC\0\0\0\4\0\0\0\1"):
        with contextlib.suppress(ValueError, IndexError):
            files_of(start + data)
