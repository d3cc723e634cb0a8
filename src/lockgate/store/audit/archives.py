"""Archives: the records that a chain is about to lose, as a compressed file that verifies, alone and with the rest."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, TextIO, cast

from lockgate.core.errors import AuditError, StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.audit.exports import export_lines, read_export
from lockgate.store.files import publish
from lockgate.store.rows import AuditCheckpoint, AuditRow
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from lockgate.store.audit.chain import Item

_GZIP = b"\x1f\x8b"  # RFC 1952, section 2.3.1
_LINE = 64_000_000
"""Characters of the longest line that is read; a record has far fewer, and a small file can hold very many."""


def archive_name(first: int, end: AuditCheckpoint) -> str:
    """The file name of an archive: which records it has, sortable, and the beginning of the last one's digest."""
    return f"lockgate-audit-{first:012d}-{end.seq:012d}-{end.digest[:8]}.jsonl.gz"


def write_archive(path: str, items: Iterable[Item], end: AuditCheckpoint) -> None:
    """Write an archive that only its owner can read; it is on the disk, whole, before it has its name.

    Args:
        path: The file, which must not exist.
        items: A checkpoint, and the records from there on.
        end: The checkpoint that the rest of the chain begins with.

    Raises:
        AuditError: It cannot be written, or there is a file already; nothing is left then.
    """

    def make(draft: str) -> None:
        source = iter(items)
        base = next(source)
        assert isinstance(base, AuditCheckpoint)
        rows = (item for item in source if isinstance(item, AuditRow))
        # Without a name and a time in it, the same records give the same file.
        with open(draft, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            for line in export_lines(rows, end, base):
                packed.write(f"{line}\n".encode())

    if os.path.lexists(path):
        raise AuditError(f"{path} is there already")
    try:
        publish(path, make)
    except StoreError as error:
        raise AuditError(str(error)) from error


def file_digest(path: str) -> str:
    """SHA-256 of a file, hexadecimal.

    Raises:
        AuditError: It cannot be read.
    """
    digest = sha256()
    try:
        with open(path, "rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    except OSError as error:
        raise AuditError(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest()


@contextmanager
def open_records(path: str) -> Iterator[Iterator[Item]]:
    """Open an export or an archive, compressed or not.

    Args:
        path: The file, which may be a pipe; ``-`` is standard input.

    Raises:
        AuditError: It cannot be opened, or, while it is read, it is no export.
    """
    try:
        with ExitStack() as stack:
            opened = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))
            raw = io.BufferedReader(cast("io.RawIOBase", opened))
            stack.callback(raw.detach)
            packed = raw.peek(len(_GZIP)).startswith(_GZIP)
            file = stack.enter_context(gzip.GzipFile(fileobj=raw)) if packed else raw
            text = io.TextIOWrapper(cast("BinaryIO", file), "utf-8", "surrogateescape")
            stack.callback(text.detach)
            yield read_export(_lines(text))
    except OSError as error:
        raise AuditError(f"cannot read {path}: {error.strerror or error}") from error


def _lines(file: TextIO) -> Iterator[str]:
    try:
        while line := file.readline(_LINE):
            yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise AuditError(f"the file is damaged: {error}") from error
