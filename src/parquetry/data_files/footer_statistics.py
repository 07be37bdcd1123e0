"""Read the statistics in a data file's footer: rows, and for each column size, NULLs, minimum and maximum.

A bound is recorded only if it is sure to hold for the values that Spark will read. The module `bounds` has
the rules that do not depend on the format, and turns the record back into bounds for a predicate. Every
top-level column of a file is recorded. So a column without an entry is known to be missing from the file.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from parquetry.data_files.bounds import column_statistics, is_ancient
from parquetry.data_files.parquet_leaves import Leaf, top_level
from parquetry.data_files.records import ColumnStatistics, FileRecord
from parquetry.errors import FileCorruptError, FileMissingError, WarehouseError
from parquetry.temporal import MICROS_PER_DAY
from parquetry.types import STRING, parse_type, value_from_text

# These writers do not shorten a row group's bounds. Others do, and PyArrow (up to 26) hides the flag.
_EXACT_WRITERS = ("parquet-mr ", "parquet-cpp")
_LEGACY_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
# ORC's statistics have the local time where the file was written, truncated to the millisecond. Its instant
# depends on the zone of the JVM that reads, up to 18 hours away from UTC; in old files, on the writer's zone.
_ORC_TIMESTAMP_GAP = 2 * MICROS_PER_DAY


Look = Callable[[str, Any], None]
"""Called with the path and PyArrow's footer of a Parquet file, by one of several threads."""


def read_parquet_footer(
    filesystem: pafs.FileSystem, path: str, *, name: str | None = None, look: Look | None = None
) -> FileRecord:
    """Read a Parquet file's rows, bytes and column statistics from its footer.

    Args:
        filesystem: the file system of the file; see `locations.filesystem.open_location`.
        path: the file on `filesystem`.
        name: the path to record, or None for `path`.
        look: called with the footer.

    Raises:
        FileMissingError: there is no such file.
        FileCorruptError: the file is empty, cut short, or not Parquet.
        WarehouseError: the file cannot be opened, for instance because a right is missing.
    """
    info = filesystem.get_file_info(path)
    if info.type == pafs.FileType.NotFound:
        raise missing_file(path)
    with footer_errors(path):
        footer = pq.read_metadata(path, filesystem=filesystem)
    modified = None if info.mtime_ns is None else info.mtime_ns // 1_000_000
    return footer_record(footer, name or path, info.size, modified, look)


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
    except (pa.ArrowException, OSError) as error:
        # Arrow raises a bare OSError for bytes it cannot decode, and one with a number for the system's own.
        if getattr(error, "errno", None) not in (None, errno.EISDIR):
            raise WarehouseError(f"The file '{path}' cannot be opened: {error}. Check its rights.") from error
        raise FileCorruptError(
            f"The file '{path}' is not a whole Parquet file: {str(error).strip()} Remove or restore it."
        ) from error


def footer_record(
    footer: pq.FileMetaData, name: str, size: int, modified: int | None, look: Look | None = None
) -> FileRecord:
    """Return the record of a file, from its footer and what its file system says."""
    if look is not None:
        look(name, footer)
    columns = _parquet_columns(footer)
    return FileRecord(path=name, bytes=size, rows=footer.num_rows, modified=modified, columns=columns)


def read_footers(
    filesystem: pafs.FileSystem,
    paths: Sequence[str],
    *,
    root: str = "",
    threads: int = 8,
    progress: Callable[[int, int], None] | None = None,
    broken: dict[str, str] | None = None,
    look: Look | None = None,
) -> list[FileRecord]:
    """Read many Parquet footers at once.

    Args:
        filesystem: the file system of the files.
        paths: the files, below `root` if given.
        root: a directory; the recorded paths are relative to it.
        threads: how many files are read at a time.
        progress: called with the number of files read so far and of all.
        broken: takes the paths of broken files with the reasons, instead of an error for the first one.
        look: called with each footer.

    Returns:
        One record for each file that is not broken, in the order of the paths.

    Raises:
        FileMissingError, FileCorruptError, WarehouseError: as `read_parquet_footer`, for the first such file.
    """
    prefix = f"{root.rstrip('/')}/" if root else ""
    files = []
    with ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        reads = [
            pool.submit(read_parquet_footer, filesystem, prefix + path, name=path, look=look)
            for path in paths
        ]
        try:
            for done, read in enumerate(reads, 1):
                try:
                    files.append(read.result())
                except FileCorruptError as error:
                    if broken is None:
                        raise
                    broken[paths[done - 1]] = error.message
                if progress is not None:
                    progress(done, len(reads))
        finally:
            for read in reads:
                read.cancel()
    return files


def from_bridge(answer: Mapping[str, Any]) -> FileRecord:
    """Turn the bridge's answer about an ORC file's footer into a record.

    PyArrow does not read ORC's statistics.

    Args:
        answer: `{"path", "bytes", "modified", "rows", "columns": {name: {"size", "nulls", "min", "max",
            "exact", "type", "sum"}}}`. Every top-level column must be there. Bounds are texts, dates in days,
            timestamps in microseconds. `sum` is needed for float and double: ORC loses bounds beside a NaN,
            and only the sum shows it.
    """
    columns: Mapping[str, Mapping[str, Any]] | None = answer.get("columns")
    # Hive's old writer numbered the columns (`_col0`). Spark then reads by position, and names mean nothing.
    if columns and all(name.startswith("_col") for name in columns):
        columns = None
    return FileRecord(
        path=answer["path"],
        bytes=answer["bytes"],
        rows=answer.get("rows"),
        modified=answer.get("modified"),
        columns=None if columns is None else {name: _orc_column(column) for name, column in columns.items()},
    )


def from_writer(file_format: str, path: str, written: Mapping[str, Any]) -> FileRecord:
    """Return the record of a file from what its writer knew of its footer.

    Args:
        file_format: ``parquet`` or ``orc``.
        path: the path to record.
        written: the bridge's answer, with ``bytes``, ``modified``, and ``footer``: a Parquet footer, or JSON
            of an ORC file's statistics as `from_bridge` takes it, compressed and in Base64.
    """
    content = zlib.decompress(base64.b64decode(written["footer"]))
    size, modified = written["bytes"], written["modified"]
    if file_format == "orc":
        return from_bridge({"path": path, "bytes": size, "modified": modified} | json.loads(content))
    return footer_record(pq.read_metadata(io.BytesIO(content)), path, size, modified)


def missing_file(path: str) -> FileMissingError:
    """Return the error of a file that is not there."""
    return FileMissingError(
        f"The file '{path}' is not there. Restore it, or take it out of the table (MSCK REPAIR TABLE)."
    )


def _parquet_columns(footer: Any) -> dict[str, ColumnStatistics]:
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    keys = footer.metadata or {}
    modern = _spark_major(keys) >= 3 and not any(key in keys for key in _LEGACY_CALENDAR)
    exact = (footer.created_by or "").startswith(_EXACT_WRITERS)
    columns: dict[str, ColumnStatistics] = {}
    for name, leaves in top_level(footer):
        size = sum(group.column(leaf.position).total_compressed_size for group in groups for leaf in leaves)
        leaf = leaves[0]
        if name in columns or leaf.nested:
            # Two columns of one name cannot be distinguished, and nested columns have no bounds.
            columns[name] = ColumnStatistics(size=size)
        else:
            chunks = [(group.num_rows, group.column(leaf.position)) for group in groups]
            columns[name] = _merge(leaf, chunks, size, modern, exact)
    return columns


def _merge(
    leaf: Leaf, chunks: list[tuple[int, Any]], size: int, modern: bool, exact: bool
) -> ColumnStatistics:
    nulls = _nulls(leaf, chunks)
    if leaf.convert is None:
        return ColumnStatistics(size=size, nulls=nulls)
    lows, highs, min_exact, max_exact = [], [], True, True
    for rows, chunk in chunks:
        statistics = chunk.statistics if chunk.is_stats_set else None
        if statistics is None or not statistics.has_min_max:
            if rows == 0 or (statistics and statistics.has_null_count and statistics.null_count == rows):
                continue
            return ColumnStatistics(size=size, nulls=nulls)
        low, high = leaf.convert(statistics.min_raw), leaf.convert(statistics.max_raw)
        # NaN fails the comparison, as do bounds that a broken writer swapped.
        if low is None or high is None or not low <= high:
            return ColumnStatistics(size=size, nulls=nulls)
        lows.append(low)
        highs.append(high)
        if isinstance(low, str | bytes):
            min_exact &= _flag(statistics, "is_min_value_exact", exact)
            max_exact &= _flag(statistics, "is_max_value_exact", exact)
    if not lows or (not modern and is_ancient(leaf.calendar, min(lows))):
        return ColumnStatistics(size=size, nulls=nulls)
    return column_statistics(size, nulls, min(lows), max(highs), min_exact, max_exact)


def _nulls(leaf: Leaf, chunks: list[tuple[int, Any]]) -> int | None:
    if leaf.required:
        return 0
    total = 0
    for rows, chunk in chunks:
        statistics = chunk.statistics if chunk.is_stats_set else None
        if statistics is None or not statistics.has_null_count:
            if rows:
                return None
        else:
            total += statistics.null_count
    return total


def _flag(statistics: Any, name: str, default: bool) -> bool:
    # PyArrow up to 26 has no such flag. A later version's flag is used.
    flag = getattr(statistics, name, None)
    return default if flag is None else bool(flag)


def _spark_major(keys: Mapping[bytes, bytes]) -> int:
    major = keys.get(b"org.apache.spark.version", b"").split(b".")[0]
    return int(major) if major.isdigit() else 0


def _orc_column(column: Mapping[str, Any]) -> ColumnStatistics:
    size, nulls = column.get("size"), column.get("nulls")
    kind = parse_type(column["type"])
    least, greatest = column.get("min"), column.get("max")
    if not kind.primitive or least is None or greatest is None:
        return ColumnStatistics(size=size, nulls=nulls)
    if kind.name in ("float", "double"):
        total = column.get("sum")
        if total is None or total == "NaN":
            return ColumnStatistics(size=size, nulls=nulls)
    calendar = "timestamp" if kind.name == "timestamp_ntz" else kind.name
    timed = calendar in ("date", "timestamp")
    if kind.name == "char":
        kind = STRING  # its blanks are as the file has them
    low, high = (int(text) if timed else value_from_text(kind, text) for text in (least, greatest))
    if low is None or high is None or not low <= high or is_ancient(calendar, low):  # type: ignore[operator]
        return ColumnStatistics(size=size, nulls=nulls)
    exact = bool(column.get("exact", False)) and calendar != "timestamp"
    if calendar == "timestamp":
        low, high = low - _ORC_TIMESTAMP_GAP, high + _ORC_TIMESTAMP_GAP  # type: ignore[operator]
    return column_statistics(size, nulls, low, high, exact, exact)
