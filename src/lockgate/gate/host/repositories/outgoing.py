"""Which files a push sends."""

from __future__ import annotations

from lockgate.gate.host.repositories.repository import Repository, repository_at


def outgoing(folder: str, home: str, remote: str, revision: str) -> dict[str, str] | None:
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
    return repository.sent(remote or "origin", revision) if isinstance(repository, Repository) else None
