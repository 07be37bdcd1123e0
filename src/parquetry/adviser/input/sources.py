"""A table as the adviser sees it: columns, files with their statistics, and how its rows are read.

A table of Parquetry has all of it in the metastore. A folder of Parquet has it in footers, and in the names
of its directories.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from parquetry.adviser.layouts import Grain, TableLayout
from parquetry.config import SORT_BY
from parquetry.data_files import (
    ArrowFooters,
    FileBounds,
    FileRecord,
    RecordedFiles,
    TableColumn,
    bounds_in_files,
    list_bounds_in_files,
)
from parquetry.errors import UnsupportedError, WarehouseError
from parquetry.hashing import HashType
from parquetry.identifiers import SortedBy, parse_sorted_by
from parquetry.locations import (
    DEFAULT_PARTITION,
    absolute_location,
    join_location,
    library_path,
    open_location,
    unescape_path_name,
    visible_files,
)
from parquetry.metastore import TableSnapshot
from parquetry.predicate import Bounds, Filter, Knowledge, Match, match
from parquetry.prune import each_file
from parquetry.rows import FileRows, ReadRequest, read_file
from parquetry.types import Value, parse_type, value_from_text

DEFAULT_FILE_BYTES = 128 << 20
"""The size of files of a table that does not say it."""
_MAX_FILE_COLUMNS = 2_000
"""Columns of a folder's files."""
_ENDINGS = (".parquet", ".parq", ".pq")
_INTEGER = re.compile(r"-?\d{1,18}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file: its absolute path, the values of its partition, and its record."""

    path: str
    values: tuple[Value, ...]
    record: FileRecord


@dataclass(frozen=True)
class TableSource:
    """A table, ours or not.

    Attributes:
        name: as statements name it; for a folder its path.
        file_format: ``parquet`` or ``orc``.
        data_columns: the columns in files that can be read here.
        partition_by: the partition columns, in the order of the values.
        files: all files.
        layout: what the table says of its layout.
        is_ours: whether it is a table of Parquetry.
        snapshot: the version of a table of ours.
        origin: the table in SQL, if it is in another catalog.
    """

    name: str
    file_format: str
    data_columns: tuple[TableColumn, ...]
    partition_by: tuple[TableColumn, ...]
    files: tuple[SourceFile, ...]
    layout: TableLayout
    snapshot: TableSnapshot | None = field(default=None, repr=False, compare=False)
    origin: str | None = None

    @property
    def is_ours(self) -> bool:
        """Return whether it is a table of Parquetry."""
        return self.snapshot is not None

    @cached_property
    def columns(self) -> dict[str, TableColumn]:
        """Return all columns by name."""
        return {column.name: column for column in (*self.data_columns, *self.partition_by)}

    @cached_property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.file_rows.sum())

    @cached_property
    def bytes(self) -> int:
        """Return the bytes of all files."""
        return sum(file.record.bytes for file in self.files)

    @cached_property
    def file_rows(self) -> NDArray[np.int64]:
        """Return the rows of each file; an unknown number is estimated by the file's bytes."""
        sized = [file.record for file in self.files if file.record.rows is not None]
        width = sum(record.bytes for record in sized) / max(sum(record.rows or 0 for record in sized), 1)
        rows = [
            file.record.rows if file.record.rows is not None else round(file.record.bytes / (width or 100))
            for file in self.files
        ]
        return np.array(rows, np.int64)

    @cached_property
    def column_bytes(self) -> dict[str, NDArray[np.int64]]:
        """Return the bytes of each data column in each file."""
        spellings = {column.physical.lower(): column.name for column in self.data_columns}
        sizes = {column.name: np.zeros(len(self.files), np.int64) for column in self.data_columns}
        for index, file in enumerate(self.files):
            for name, statistics in (file.record.columns or {}).items():
                column = spellings.get(name.lower()) or spellings.get(name.lower().partition(".")[0])
                if column is not None and statistics.size is not None:
                    sizes[column][index] += statistics.size
        return sizes

    def bytes_of(self, names: Iterable[str] | None) -> NDArray[np.int64]:
        """Return the bytes of some columns in each file, or of the whole files."""
        whole = np.array([file.record.bytes for file in self.files], np.int64)
        if names is None:
            return whole
        sizes = [self.column_bytes[name] for name in names if name in self.column_bytes]
        total = np.sum(sizes, axis=0) if sizes else np.zeros(len(self.files), np.int64)
        known = np.sum(list(self.column_bytes.values()), axis=0) if self.column_bytes else total
        return np.where(known > 0, total, whole)

    def file_bounds(self, name: str) -> list[FileBounds | None]:
        """Return the bounds of a data column in each file."""
        return list_bounds_in_files(self.columns[name], self._recorded)

    @cached_property
    def _recorded(self) -> RecordedFiles:
        return RecordedFiles([file.record for file in self.files])

    def kept(self, condition: Filter) -> NDArray[np.bool_]:
        """Return the files that a query with a condition opens now."""
        if self.snapshot is None:
            return np.asarray(match(condition, FilesKnowledge(self)) != Match.CANNOT, np.bool_)
        paths = {selected.path for selected in each_file(self.snapshot, condition)}
        return np.array([file.path in paths for file in self.files], np.bool_)

    def read(self, file: SourceFile, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file, with some columns.

        Raises:
            UnsupportedError: Spark reads other rows than PyArrow can.
            FileMissingError: the file does not exist.
            FileCorruptError: it cannot be read.
        """
        columns = tuple(self.columns[name] for name in names)
        request = ReadRequest(self.file_format, columns, self.data_columns, self.partition_by)
        yield from read_file(request, FileRows(file.path, file.record, file.values))


class FilesKnowledge(Knowledge):
    """The statistics of a folder's files."""

    def __init__(self, source: TableSource) -> None:
        self.count = len(source.files)
        self._source = source
        self._bounds: dict[str, Bounds | None] = {}

    def bounds(self, column: str) -> Bounds | None:
        """Return the bounds of a column in each file."""
        if column not in self._bounds:
            self._bounds[column] = self._read(column)
        return self._bounds[column]

    def _read(self, name: str) -> Bounds | None:
        source = self._source
        names = [column.name for column in source.partition_by]
        if name in names:
            position = names.index(name)
            return Bounds.from_values([file.values[position] for file in source.files])
        if name not in source.columns:
            return None
        bounds = bounds_in_files(source.columns[name], RecordedFiles([file.record for file in source.files]))
        return None if bounds is None else bounds.bounds


def lake_source(snapshot: TableSnapshot, name: str, file_bytes: int) -> TableSource:
    """Return a table of ours, as its metastore records it.

    Args:
        snapshot: the version.
        name: of the table, in statements.
        file_bytes: the size that its files aim at.
    """
    metadata = snapshot.metadata
    files = [
        SourceFile(join_location(partition.location, file.path), partition.values, file)
        for partition in snapshot.partitions()
        for file in partition.each_file()
    ]
    grains = tuple(Grain(column.name) for column in metadata.partition_columns)
    buckets = metadata.arrangement.buckets
    names = {column.physical: column.name for column in metadata.columns}
    sort_by = metadata.properties.get(SORT_BY)
    order = parse_sorted_by(sort_by) if sort_by else SortedBy(())
    layout = TableLayout(
        file_bytes,
        grains,
        bucket_by=() if buckets is None else tuple(names[name] for name in buckets.columns),
        bucket_count=0 if buckets is None else buckets.count,
        sort=tuple(".".join(path) for path in order.paths),
        is_curve=order.is_curve,
    )
    return TableSource(
        name,
        metadata.format,
        tuple(metadata.data_columns),
        tuple(metadata.partition_columns),
        tuple(files),
        layout,
        snapshot,
    )


def folder_source(location: str, table: str | None = None) -> TableSource:
    """Return a folder of Parquet files as a table. Directories such as `day=2026-01-01` are partitions.

    Args:
        location: path or URI.
        table: the table that has the folder, in SQL, if one has.

    Raises:
        WarehouseError: there is no Parquet file, or directories have different partition columns.
    """
    name, location = location, absolute_location(location)
    filesystem, root = open_location(location)
    found = [path for path in visible_files(filesystem, root) if path.lower().endswith(_ENDINGS)]
    paths = [path[len(root) :].lstrip("/") for path in found]
    if not paths:
        raise WarehouseError(
            f"The folder '{location}' has no Parquet file: name a folder with some, or a table."
        )
    levels, texts = _directories(location, paths)
    partition_by = [_partition_column(level, [row[i] for row in texts]) for i, level in enumerate(levels)]
    records = ArrowFooters().data_files("parquet", location, paths)
    with filesystem.open_input_file(found[0]) as file:
        schema = pq.ParquetFile(file).schema_arrow
    taken = {column.name.lower() for column in partition_by}
    columns = [column for column in _table_columns(schema) if column.name.lower() not in taken]
    files = [
        SourceFile(
            join_location(location, record.path),
            tuple(_value(column, text) for column, text in zip(partition_by, row, strict=True)),
            record,
        )
        for record, row in zip(records, texts, strict=True)
    ]
    mean = sum(file.record.bytes for file in files) // len(files)
    layout = TableLayout(max(mean, 1), tuple(Grain(column.name) for column in partition_by))
    origin = table or f"parquet.`{library_path(location)}`"
    return TableSource(
        table or name, "parquet", tuple(columns), tuple(partition_by), tuple(files), layout, None, origin
    )


def _directories(location: str, paths: Sequence[str]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return the partition columns that directories are named for, and their texts for each file.

    Raises:
        WarehouseError: files have different partition columns.
    """
    pairs = [[part.partition("=") for part in path.split("/")[:-1] if "=" in part] for path in paths]
    names = list(dict.fromkeys(tuple(name for name, _, _ in each) for each in pairs))
    if len(names) > 1:
        first, other = ("/".join(each) or "no partition" for each in names[:2])
        raise WarehouseError(
            f"The folder '{location}' has files below {first} and below {other}: name a folder whose files have the "
            "same partition columns."
        )
    return names[0], [[unescape_path_name(value) for _, _, value in each] for each in pairs]


def _table_columns(schema: pa.Schema) -> Iterator[TableColumn]:
    """Yield the columns that can be read here: no lists, maps and structs."""
    for arrow in list(schema)[:_MAX_FILE_COLUMNS]:
        try:
            kind = HashType.from_arrow(arrow.type)
        except UnsupportedError:
            continue
        name = f"decimal({kind.arrow.precision},{kind.arrow.scale})" if kind.name == "decimal" else kind.name
        if parse_type(name).primitive:
            yield TableColumn(arrow.name, name)


def _partition_column(name: str, texts: Sequence[str]) -> TableColumn:
    """Return a partition column with the type that Spark would infer from directories."""
    values = {text for text in texts if text != DEFAULT_PARTITION}
    kinds: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("long", _INTEGER.fullmatch),
        ("date", _DATE.fullmatch),
    )
    kind = next((kind for kind, fits in kinds if values and all(map(fits, values))), "string")
    return TableColumn(name, kind)


def _value(column: TableColumn, text: str) -> Value:
    return None if text == DEFAULT_PARTITION else value_from_text(column.column_type, text)


def require_rows(source: TableSource) -> None:
    """Make sure that there is something to advise on.

    Raises:
        UnsupportedError: the table has no rows.
    """
    if not source.rows:
        raise UnsupportedError(f"{source.name} has no rows: write some, and ask for advice then.")
