"""All that the analysis may know beside the call itself; the gate hands it in, so that the analysis stays pure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType

from lockgate.core.model import Category, Origin
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.core.version import resource_table

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

EVERY: frozenset[Category | None] = frozenset({*Category, None})
"""What a rule overrules that holds whatever our own knowledge says."""


class CategoryRule(Record):
    """A category that a person's configuration gives to a command or a tool."""

    category: Category
    rule: str
    """Which rule it was, for the evidence: ``lockbox.json:bash_patterns.safe[0]``."""
    overrules: frozenset[Category | None] = frozenset()
    """What the rule replaces, by the category that our own knowledge gives; ``None`` is where only ``execute`` acts.

    Where that category is not in here the rule only adds. :func:`lockgate.resources.categories.overrule` does this.
    """
    vouched: bool = False
    """Whether a person's or a fleet's layer says it of a tool by name: then one that only acts is no source."""


class Service(Record):
    """What a person declares about a service: an MCP server, an MCP tool, a tool, or a host.

    Each flag is ``True``, ``False`` or ``None``: not declared, so that it is as where nothing is declared at all.
    """

    public_source: bool | None = None
    """Whether strangers can write what it returns."""
    secret_data: bool | None = None
    """Whether it returns private data."""
    public_sink: bool | None = None
    """Whether what is sent to it can reach strangers."""
    dangerous_writes: bool | None = None
    """Whether it can change or delete what matters."""
    forbidden: bool = False
    """Whether agents may not use it at all."""
    rule: str = ""
    vouched: bool = False
    """Whether all of this is said in a person's or a fleet's layer, none of it in a project's."""


class TrustedDomain(Record):
    """A host that a person trusts. ``host`` may start with ``*.``."""

    host: str
    content: bool = False
    """Whether also what it returns is trusted. Otherwise only sending to it is."""
    vouched: bool = False
    """Whether a person's or a fleet's layer says so, not a project's."""


class ScriptFile(Record):
    """A file that a command runs, as it is now. It can be another one by the time it runs."""

    text: str
    changed: float = 0.0
    """When it was last changed, in seconds since the epoch: the time of change of its inode, which nobody can set."""


def no_category(*_: object) -> CategoryRule | None:
    """Say that no rule matches."""
    return None


def no_script(_: str) -> ScriptFile | None:
    """Say that a file cannot be read."""
    return None


def no_service(_: str) -> Service | None:
    """Say that nothing is declared."""
    return None


class AnalysisRules(Record):
    """The part of a compiled configuration that the analysis reads."""

    command_category: Callable[[str, tuple[str | None, ...]], CategoryRule | None] = no_category
    """For one simple command: its text with quoting resolved, and its words (``None`` where dynamic)."""
    tool_category: Callable[[str], CategoryRule | None] = no_category
    """For one tool name, MCP tools too; covers ``tools``, ``mcp_tools`` and ``mcp_default``."""
    service: Callable[[str], Service | None] = no_service
    """For an MCP tool name, an MCP server (``mcp__server``), a tool name or a host."""
    unknown_has_all: bool = False
    """Whether a service of which nothing is declared also returns private data and changes what matters."""
    trusted_domains: tuple[TrustedDomain, ...] = ()
    protected_paths: tuple[str, ...] = ()
    """Further path patterns that agents may not write (tamper)."""
    secret_paths: tuple[str, ...] = ()
    persistent_paths: tuple[str, ...] = ()


class OwnDatabase(Record):
    """A database in which the gate keeps everything, on a server of this machine."""

    name: str
    port: int
    host: str = ""
    """The name that this machine calls itself by."""


class Repository(Protocol):
    """A repository of git, as far as it tells which files a command takes out of it. Paths count from its root."""

    @property
    def root(self) -> str:
        """The folder in which its work tree begins, absolute."""

    def tree(self, revision: str) -> Mapping[str, str] | None:
        """The files of a revision, each with the name of its content; ``None`` where they cannot be told.

        Args:
            revision: As git reads it (``main``, ``HEAD~2``, ``stash@{0}``); empty for the index.
        """

    def knows(self, word: str) -> bool:
        """Whether a word may be a revision."""

    def commits(self, one: str, other: str) -> tuple[str, ...] | None:
        """The commits that the second revision has and the first has not; ``None`` where that cannot be told."""

    def base(self, one: str, other: str) -> str | None:
        """The revision from which two others come; ``None`` where that cannot be told, or where there are several."""

    def holds(self, path: str, content: str) -> bool:
        """Whether this content lies at a path of the work tree; with an empty name, whether nothing lies there."""

    def pushes_to(self, remote: str) -> tuple[str, ...] | None:
        """All addresses that ``git push`` may send to.

        Args:
            remote: Its first operand, a name or an address; empty where it has none.

        Returns:
            ``None`` where that cannot be told, and where a hook or a program of the repository would run on the way.
        """


class HostView(Record):
    """Facts about the machine and the project, as values and pure look-ups."""

    home: str = "/home/user"
    real_home: str = ""
    """The same with links resolved; empty: ``realpath`` tells."""
    workspace: str = ""
    """The project's root folder, absolute; empty where it is not known."""
    own_paths: tuple[str, ...] = ()
    """Folders and files that belong to the gate: state, configuration, code. Absolute, no trailing slash."""
    state_paths: tuple[str, ...] = ()
    """Those of them that hold the gate's state: links and passwords in it are as good as a person's yes."""
    own_ports: Callable[[], frozenset[int]] = frozenset
    """Ports of loopback at which the gate listens for a person. Asked only where a call talks to this machine."""
    contained_ports: Callable[[], frozenset[int]] = frozenset
    """Ports of loopback in the network of this session's contained commands. Asked as those above are."""
    own_database: Callable[[], OwnDatabase | None] = lambda: None
    """The gate's store, where it is a database on this machine. Asked only where a client of such databases runs."""
    client_paths: tuple[str, ...] = ()
    """Folders that hold this client's transcripts and the output of its background tasks."""
    session_results: tuple[str, ...] = ()
    """Path patterns of results of this very session's own calls: their labels were given when the calls ran."""
    variables: Mapping[str, str] = MappingProxyType({})
    """Variables of the environment that the analysis may resolve in words (``HOME``, ``TMPDIR``, ``PWD``)."""
    program_folders: tuple[str, ...] = ()
    """Folders of the project in which the shell looks for programs (``PATH``): ``.venv/bin`` where it is activated.

    Spelt as the workspace is; a relative one counts from where a command runs.
    """
    exported: Callable[[str], bool] = lambda _: False
    """Whether a variable is in the environment in which a command begins, so that programs get what it is set to."""
    realpath: Callable[[str], str] = str
    """Resolves symbolic links of an absolute path as far as it exists. The identity in tests."""
    may_be_zsh: bool = False
    """Whether the client may run its commands with zsh."""
    shell_stays: bool = False
    """Whether a command runs in the shell that the one before has left, with its functions, options and folder."""
    python_files: Callable[[str], frozenset[str]] = lambda _: frozenset()
    """Names in a folder that Python can import: files, and folders that are packages."""
    is_git_folder: Callable[[str], bool] = lambda _: False
    """Whether a folder is a repository by itself, without a work tree: it holds ``HEAD``, ``objects`` and ``refs``."""
    git_settings: Callable[[str], str | None] = lambda _: ""
    """The text of the settings of the repository whose work tree begins at a folder.

    Empty where none begins there, or one whose settings lie in the project's own ``.git``; ``None`` where they cannot
    be read, or where the repository has hooks.
    """
    hook_folders: Callable[[], tuple[str, ...]] = lambda: ()
    """Absolute folders whose programs git runs as hooks, where settings name them (``core.hooksPath``)."""
    read_script: Callable[[str], ScriptFile | None] = no_script
    """Reads a file that a command runs, by its absolute path.

    Only a small, regular file of UTF-8 text inside the workspace, with links resolved; ``None`` for all others.
    """
    read_skills: Callable[[str, str], tuple[str | None, ...]] = lambda name, cwd: ()
    """The texts of the client's skills that a name could mean in a folder; ``None`` for one that cannot be read."""
    nested_skills: Callable[[str], tuple[str | None, ...] | None] = lambda _: ()
    """The same of skills below the root of the project; ``None`` where there are too many folders to look at each."""
    skills_run: bool = False
    """Whether the client runs the commands in a skill's text before an agent reads it."""
    shares_tasks: Callable[[], bool] = lambda: False
    """Whether the session's list of tasks may be one that other sessions write to. Asked only where it is read."""
    is_there: Callable[[str], bool] = lambda _: False
    """Whether there is a file at an absolute path, inside the workspace."""
    is_known_program: Callable[[str], bool] = lambda _: True
    """Whether a name is that of a program which people start; any may be, where nothing is known of programs."""
    names_in: Callable[[str], tuple[str, ...] | None] = lambda _: None
    """All names in an absolute folder of the workspace, none where there is no such folder.

    ``None`` where it lies elsewhere, has a great many, or cannot be looked into.
    """
    find_below: Callable[[str, str], tuple[str, ...] | None] = lambda *_: None
    """The absolute paths of all that has a name at any depth of a folder of the workspace.

    ``None`` where that cannot be told: the folder lies elsewhere, holds too much, or a link in it leads out of it.
    """
    repository: Callable[[str], Repository | None] = lambda _: None
    """The repository that git finds from an absolute folder upwards; ``None`` where nothing is known of the disk."""
    copied: Callable[[str], tuple[str, ...] | None] | None = None
    """The paths of all that lies below an absolute folder, told from there; none where it is no folder.

    ``None`` where that cannot be told; instead of the look-up, where nothing is known of the disk.
    """
    is_seen_by_contained_only: Callable[[str], bool] = lambda _: False
    """Whether a file at an absolute path is seen by contained commands of this project alone, in their own ``/tmp``."""
    kept_files: Callable[[], Mapping[str, tuple[Origin, ...]]] = dict
    """What lies in files that earlier calls have written, by absolute path: secrets, and code from the network."""
    labelled_files: Callable[[], Mapping[str, str]] = dict
    """Files into which earlier calls have written a stranger's text, by absolute path: from where it came.

    Any file may be one where ``/`` is among them.
    """
    labelled_content: Callable[[str], str] = lambda _: ""
    """The same of a file at an absolute path, by what it holds; empty for others."""
    keeps_any: Callable[[], bool] = lambda: False
    """Whether there is a file, or a content, of which something is known."""
    kept_content: Callable[[str], tuple[Origin, ...]] = lambda _: ()
    """The same of a file at an absolute path, by what it holds."""
    outgoing: Callable[[str, str, str], Mapping[str, tuple[Origin, ...]] | None] = lambda *_: None
    """What a push would send that the other side does not have: paths, each with what is known to lie there.

    Asked with an absolute folder of the repository, the remote (empty: the usual one) and the revision. ``None`` where
    that cannot be told.
    """
    rules: AnalysisRules = AnalysisRules()

    @property
    def helpers(self) -> tuple[str, ...]:
        """Names of programs that clients, git and others start, and that no install puts into a project."""
        return _helpers()


@cache
def _helpers() -> tuple[str, ...]:
    return tuple(name for row in resource_table("helpers") for name in row["names"])


def records_folder(transcript: str, roots: Iterable[str]) -> tuple[str, ...]:
    """Where a client keeps the records of a session: the folder of its transcript.

    In a folder that also holds one of the roots, only the transcript is a record, and what has its name without an
    ending.

    Args:
        transcript: An absolute path; empty where there is none.
        roots: Absolute paths of folders with other files: the home folder, the project. An empty one is passed over.
    """
    if not posixpath.isabs(transcript):
        return ()
    folder = posixpath.dirname(posixpath.normpath(transcript))
    below = folder.rstrip("/") + "/"
    if any(root and f"{posixpath.normpath(root)}/".startswith(below) for root in roots):
        return transcript, posixpath.splitext(transcript)[0]
    return (folder,)
