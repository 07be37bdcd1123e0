"""Read the statistics in a Parquet file's footer: rows, and for each column size, NULLs, minimum and maximum.

`parquet_columns` decides how far the statistics are believed.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from parquetry.data_files.footers.orc_statistics import from_bridge
from parquetry.data_files.footers.other_readers import find_obstacle
from parquetry.data_files.footers.parquet_columns import read_columns
from parquetry.data_files.footers.parquet_dictionaries import with_distinct_values
from parquetry.data_files.footers.parquet_footer import (
    ENCRYPTED_MAGIC,
    LENGTH_AND_MAGIC_BYTES,
    MAGIC,
    ParquetFooter,
)
from parquetry.data_files.footers.parquet_writers import parquet_writer
from parquetry.data_files.records import FileRecord
from parquetry.errors import FileCorruptError, FileMissingError, ParquetryError, WarehouseError

TAIL_BYTES = 64 * 1024
"""How much of a file's end is read before its footer's length is known. A footer is seldom longer."""


@dataclass(frozen=True, slots=True)
class FooterVisitor:
    """Sees footers while they are read, and takes the files that cannot be read.

    Attributes:
        look: called with the path and the footer of each Parquet file, by one of several threads; or None.
        broken: the reasons why files cannot be read, by their paths.
    """

    look: Callable[[str, ParquetFooter], None] | None = None
    broken: dict[str, str] = field(default_factory=dict)


def read_parquet_footer(
    filesystem: pafs.FileSystem, path: str, *, name: str | None = None, visitor: FooterVisitor | None = None
) -> FileRecord:
    """Read a Parquet file's rows, bytes and column statistics from its footer.

    Args:
        filesystem: the file system of the file; see `locations.filesystem.open_location`.
        path: the file on `filesystem`.
        name: the path to record, or None for `path`.
        visitor: sees the footer.

    Raises:
        FileMissingError: there is no such file.
        FileCorruptError: the file is empty, cut short, or not Parquet.
        WarehouseError: the file cannot be opened, for instance because a right is missing.
    """
    info = filesystem.get_file_info(path)
    if info.type == pafs.FileType.NotFound:
        raise missing_file(path)
    modified = None if info.mtime_ns is None else info.mtime_ns // 1_000_000
    with footer_errors(path):
        footer = open_footer(filesystem, path)
        return footer_record(footer, name or path, info.size, modified, visitor)


def open_footer(filesystem: pafs.FileSystem, path: str) -> ParquetFooter:
    """Read the footer of a Parquet file.

    Raises:
        OSError, ValueError: the file cannot be read, or is not Parquet; `footer_errors` names the file.
    """
    with filesystem.open_input_file(path) as source:
        size = source.size()
        length = min(size, TAIL_BYTES)
        return parse_tail(source.read_at(length, size - length), size, source.read_at)


def parse_tail(tail: bytes, size: int, read_at: Callable[[int, int], bytes] | None = None) -> ParquetFooter:
    """Return the footer in the last bytes of a Parquet file.

    Args:
        tail: the last bytes.
        size: the file's bytes.
        read_at: reads a number of bytes at a position of the file, where `tail` is too short. None if `tail`
            has the whole footer.

    Raises:
        ValueError: the bytes do not end as a Parquet file does.
    """
    if len(tail) < LENGTH_AND_MAGIC_BYTES:
        raise ValueError(f"it has {size} bytes, fewer than the end of a Parquet file")
    if tail[-4:] == ENCRYPTED_MAGIC:
        head = tail[:4] if read_at is None or size <= len(tail) else read_at(4, 0)
        if head != ENCRYPTED_MAGIC:
            raise ValueError(
                f"it ends with {ENCRYPTED_MAGIC.decode()}, as an encrypted one does, and does not begin with it"
            )
        return ParquetFooter.of_encrypted()
    if tail[-4:] != MAGIC:
        raise ValueError(f"it does not end with {MAGIC.decode()}")
    length = int.from_bytes(tail[-LENGTH_AND_MAGIC_BYTES:-4], "little")
    if not 0 < length <= size - LENGTH_AND_MAGIC_BYTES:
        raise ValueError(f"its footer would have {length} bytes, and the file has {size}")
    if length + LENGTH_AND_MAGIC_BYTES > len(tail):
        if read_at is None:
            raise ValueError("its footer is longer than what was read of it")
        tail = read_at(length + LENGTH_AND_MAGIC_BYTES, size - length - LENGTH_AND_MAGIC_BYTES)
    return ParquetFooter.parse(tail[-LENGTH_AND_MAGIC_BYTES - length : -LENGTH_AND_MAGIC_BYTES])


@contextlib.contextmanager
def footer_errors(path: str) -> Iterator[None]:
    """Name the file whose footer cannot be read, and say why.

    Raises:
        FileMissingError, FileCorruptError, WarehouseError: as `read_parquet_footer`.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise missing_file(path) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        # Arrow raises a bare OSError for bytes it cannot decode, and one with a number for the system's own.
        if getattr(error, "errno", None) not in (None, errno.EISDIR):
            raise WarehouseError(f"The file '{path}' cannot be opened: {error}. Check its rights.") from error
        reason = str(error).strip().rstrip(".")
        raise FileCorruptError(
            f"The file '{path}' is not a whole Parquet file: {reason}. Remove or restore it."
        ) from error
    except ParquetryError:
        raise
    except Exception as error:  # any program may write a footer, and it concerns one file
        raise FileCorruptError(
            f"The file '{path}' has a footer that cannot be understood ({type(error).__name__}: {error}). Have it written "
            "anew by the program that can read it."
        ) from error


def footer_record(
    footer: ParquetFooter,
    name: str,
    size: int,
    modified: int | None,
    visitor: FooterVisitor | None = None,
    *,
    whole_texts: bool = False,
) -> FileRecord:
    """Return the record of a file, from its footer and what its file system says.

    Args:
        footer: of the file.
        name: the path to record.
        size: the file's bytes.
        modified: its time of change in milliseconds since the epoch, or None.
        visitor: sees the footer.
        whole_texts: whether the writer surely has not shortened the bounds of texts and binaries.
    """
    if visitor is not None and visitor.look is not None:
        visitor.look(name, footer)
    obstacle = find_obstacle(footer)
    if footer.rows is None:
        return FileRecord(path=name, bytes=size, modified=modified, field_ids=obstacle)
    writer = parquet_writer(footer.created_by)
    columns = read_columns(footer, writer._replace(shortens=False) if whole_texts else writer)
    if columns is not None:
        columns = with_distinct_values(footer, columns)
    rows = None if columns is None else footer.rows
    return FileRecord(
        path=name, bytes=size, rows=rows, modified=modified, columns=columns, field_ids=obstacle
    )


def read_footers(
    filesystem: pafs.FileSystem,
    paths: Sequence[str],
    *,
    root: str = "",
    threads: int = 8,
    progress: Callable[[int, int], None] | None = None,
    visitor: FooterVisitor | None = None,
) -> list[FileRecord]:
    """Read many Parquet footers at once.

    Args:
        filesystem: the file system of the files.
        paths: the files, below `root` if given.
        root: a directory; the recorded paths are relative to it.
        threads: how many files are read at a time.
        progress: called with the number of files read so far and of all.
        visitor: sees the footers, and takes broken files, instead of an error for the first one.

    Returns:
        One record for each file that is not broken, in the order of the paths.

    Raises:
        FileMissingError, FileCorruptError, WarehouseError: as `read_parquet_footer`, for the first such file.
    """
    prefix = f"{root.rstrip('/')}/" if root else ""
    files = []
    with ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        reads = [
            pool.submit(read_parquet_footer, filesystem, prefix + path, name=path, visitor=visitor)
            for path in paths
        ]
        try:
            for done, read in enumerate(reads, 1):
                try:
                    files.append(read.result())
                except FileCorruptError as error:
                    if visitor is None:
                        raise
                    visitor.broken[paths[done - 1]] = error.message
                if progress is not None:
                    progress(done, len(reads))
        finally:
            for read in reads:
                read.cancel()
    return files


def from_writer(file_format: str, path: str, written: Mapping[str, Any]) -> FileRecord:
    """Return the record of a file from what its writer knew of its footer.

    Args:
        file_format: ``parquet`` or ``orc``.
        path: the path to record.
        written: the bridge's answer, with ``bytes``, ``modified``, ``whole_texts`` and ``footer``. The footer
            is compressed and in Base64: the end of a Parquet file, or JSON for `from_bridge`.
    """
    content = zlib.decompress(base64.b64decode(written["footer"]))
    size, modified = written["bytes"], written["modified"]
    if file_format == "orc":
        return from_bridge({"path": path, "bytes": size, "modified": modified} | json.loads(content))
    with footer_errors(path):
        footer = parse_tail(content, size)
    return footer_record(footer, path, size, modified, whole_texts=written.get("whole_texts", False))


def missing_file(path: str) -> FileMissingError:
    """Return the error of a file that is not there."""
    return FileMissingError(
        f"The file '{path}' is not there: another program has deleted it, or overwritten its partition (CALL system.fsck). Restore it, "
        "or take it out of the table (MSCK REPAIR TABLE)."
    )
