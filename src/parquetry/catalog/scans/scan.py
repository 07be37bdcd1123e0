"""A scan of a table: the rows of a condition, for libraries that take Arrow.

A `Scan` is a value: `filter`, `select` and `limit` return other scans. A method that begins with `to_` reads
the files, which are chosen by the same rules as in a Spark query.

Where PyArrow alone reads the rows that Spark reads, the files are a dataset of PyArrow.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from parquetry import metastore as ms
from parquetry.catalog.drawing import PromptText, table_html, text_html
from parquetry.catalog.scans.arrow_rows import ArrowRows
from parquetry.catalog.scans.planning import (
    FilesToRead,
    RecordsScans,
    RowRequest,
    bind_filter,
    order_by,
    plan_scan,
    require_limit,
    resolve_columns,
    sort_rows,
)
from parquetry.catalog.scans.reading import ScanTask, read_batches, split_files
from parquetry.catalog.shapes import Column
from parquetry.errors import UnsupportedError
from parquetry.locations import FileSystems, library_path, open_location, set_file_systems
from parquetry.predicate import TRUE, Filter, Predicate
from parquetry.prune import PartitionCache, Report
from parquetry.rows import FileRows, ReadRequest, arrow_schema, constant_scalar, require_plain_file
from parquetry.texts import quantity, size_text
from parquetry.types import type_text

if TYPE_CHECKING:
    import duckdb
    import polars


@dataclass(frozen=True, slots=True)
class Scan(ArrowRows):
    """The rows of one version of a table that satisfy a condition, some of their columns, or the first few.

    `Catalog.scan` makes one. It is immutable, and can be used several times: all uses read one version.

    Each row is what Spark reads: columns that were renamed, added or widened, defaults, CHAR, and the values
    of partitions. What cannot be read as Spark does raises `UnsupportedError`, with the file, the column and
    a remedy. No row is left out silently, and no value becomes NULL.

    Without `order_by`, rows come in the order of partitions and files, which is no promise.
    """

    _request: RowRequest
    _file_systems: FileSystems

    def filter(self, where: str | Predicate) -> Scan:
        """Return a scan of the rows that satisfy a further condition.

        Args:
            where: as for `Catalog.scan`.

        Raises:
            FilterError: the text cannot be read, or the table has no such column.
        """
        request = self._request
        other = bind_filter(request.snapshot, where, request.zone)
        return replace(self, _request=replace(request, filter=Filter.all_of([request.filter, other])))

    def select(self, *columns: str | Sequence[str]) -> Scan:
        """Return a scan of some columns, in this order.

        Args:
            columns: their names, in any case, or lists of them. Conditions may be about others.

        Raises:
            ColumnNotFoundError: the table has no such column.
        """
        wanted = [name for some in columns for name in ([some] if isinstance(some, str) else some)]
        names = resolve_columns(self._request.snapshot, wanted)
        return replace(self, _request=replace(self._request, columns=names))

    def limit(self, count: int) -> Scan:
        """Return a scan of at most so many rows: any that satisfy the condition.

        A condition that is added later counts first, as if the limit were the last part of the query.

        Raises:
            ValueError: the number is negative.
        """
        least = count if self._request.limit is None else min(count, self._request.limit)
        return replace(self, _request=replace(self._request, limit=require_limit(least)))

    def order_by(self, column: str, *, descending: bool = False) -> Scan:
        """Return a scan whose rows are sorted by a column, as Spark's ORDER BY sorts them.

        NULL comes first, and last in a descending order. With a limit, statistics leave out the files that
        have none of the first rows. Without one, all rows are in memory.

        Args:
            column: its name, in any case. It need not be selected.
            descending: whether the greatest values come first.

        Raises:
            ColumnNotFoundError: the table has no such column.
            UnsupportedError: values of its type have no order.
        """
        order = order_by(self._request.snapshot, column, descending=descending)
        return replace(self, _request=replace(self._request, order=order))

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the rows, with their types in SQL."""
        return tuple(
            Column(column.name, type_text(column.type), column.nullable, column.comment)
            for column in self.table_columns
        )

    @property
    def table_columns(self) -> tuple[ms.TableColumn, ...]:
        """Return the columns of the rows, as the metastore records them."""
        metadata = self._request.snapshot.metadata
        return tuple(metadata.column(name) for name in self._request.columns)

    @property
    def is_limited(self) -> bool:
        """Return whether it has a limit. Then conditions of a library are tested on the first rows alone."""
        return self._request.limit is not None

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the rows.

        Raises:
            UnsupportedError: a column's type is read by Spark alone.
        """
        return arrow_schema(self.table_columns)

    def to_polars(self) -> polars.LazyFrame:
        """Return the rows as a lazy frame of Polars: its filters, columns and head choose the files.

        Raises:
            ConfigurationError: Polars is not installed.
            UnsupportedError: a column's type is read by Spark alone.
        """
        from parquetry.catalog.scans.polars_frames import lazy_frame

        return lazy_frame(self)

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Return the rows as a relation of DuckDB: filters and columns of its queries choose the files.

        Args:
            connection: of DuckDB, or None for its default one.

        Raises:
            ConfigurationError: DuckDB is not installed.
            UnsupportedError: a column's type is read by Spark alone.
        """
        from parquetry.catalog.scans.duckdb_views import relation

        return relation(self, connection)

    def to_dataset(self) -> ds.FileSystemDataset:
        """Return the planned files as a dataset of PyArrow, for libraries that take one.

        The footer of each file is read, to make sure that PyArrow reads the rows that Spark reads.

        Raises:
            UnsupportedError: PyArrow would read other rows: a column was renamed or has a default, a CHAR has
                to be padded, or the condition or a limit leaves out some rows of a file.
        """
        return file_dataset(self._request, self._plan_to_read(), self._file_systems)

    def count(self) -> int:
        """Return the number of rows. Only files are read whose part of it the metastore does not know.

        Raises:
            UnsupportedError, FileMissingError, FileCorruptError: as `to_arrow`.
        """
        began = time.monotonic()
        planned = plan_scan(self._request, count=True)
        answer = planned.selection.answer
        known = 0 if answer is None or answer[0] is None else int(answer[0])
        limit = self._request.limit
        if limit is not None and known >= limit:
            total = limit
        else:
            batches = read_batches(planned.read, planned.files, self._file_systems)
            total = known + sum(batch.num_rows for batch in batches)
            total = total if limit is None else min(total, limit)
        if self._request.recorder is not None:
            rows = total if limit is None else None
            self._request.recorder.record(self._request, planned, time.monotonic() - began, rows)
        return total

    def tasks(self) -> list[ScanTask]:
        """Return the files in parts of about 128 MB, for workers that read them side by side.

        A scan with a limit is one task.

        Raises:
            UnsupportedError: a part of the condition is for Spark alone, or the scan has an order.
        """
        if self._request.order is not None:
            raise UnsupportedError("Tasks have no order: sort what they give, or use to_batches.")
        return split_files(self._plan_to_read(), self._request.limit)

    def files(self) -> list[str]:
        """Return the paths of the files to read, as pandas, Polars, DuckDB and others take them.

        They have the physical names and types of columns, and no partition columns. All rows of the condition
        are in them, and other rows, too.
        """
        return [library_path(file.path) for file in self._plan_to_read().files]

    def explain(self) -> str:
        """Return what is read, of how much, and why, as `parquetry.explain` does for a query of Spark."""
        return PromptText(str(Report((self._plan().selection.report,))))

    def __repr__(self) -> str:
        request = self._request
        where = "" if request.filter.node == Filter.all_of([]).node else f", where {request.filter}"
        limit = "" if request.limit is None else f", limit {request.limit:,}"
        order = (
            ""
            if request.order is None
            else f", by {request.order.column}{' DESC' * request.order.descending}"
        )
        return f"<scan of {request.table} version {request.snapshot.version}: {', '.join(request.columns)}{where}{order}{limit}>"

    def _repr_html_(self) -> str:
        planned = self._plan()
        rows = [{"column": field.name, "type": str(field.type)} for field in self.schema]
        files = f"{quantity(len(planned.files), 'file')}, {size_text(planned.selection.bytes)}"
        return table_html(f"scan of {self._request.table}", rows, files) + text_html(
            "plan", str(Report((planned.selection.report,)))
        )

    def _rows(self) -> Iterator[pa.RecordBatch]:
        """Plan the scan, and return its rows, which are read while the caller iterates."""
        began = time.monotonic()
        planned, request = self._plan(), self._request
        if request.order is None:
            batches = read_batches(planned.read, planned.files, self._file_systems, request.limit)
        else:
            batches = read_batches(planned.read, planned.files, self._file_systems)
            batches = sort_rows(batches, request.order, request.limit, request.columns)
        return (
            batches if request.recorder is None else request.recorder.follow(request, planned, batches, began)
        )

    def _plan_to_read(self) -> FilesToRead:
        """Plan the scan for others who read its files."""
        began = time.monotonic()
        planned = self._plan()
        if self._request.recorder is not None:
            self._request.recorder.record(self._request, planned, time.monotonic() - began)
        return planned

    def _plan(self) -> FilesToRead:
        return plan_scan(self._request)


class TableToRead(NamedTuple):
    """A table, and how to read it.

    Attributes:
        snapshot: the version of the table.
        file_systems: open its files.
        recent: partitions of recent scans, or None.
    """

    snapshot: ms.TableSnapshot
    file_systems: FileSystems
    recent: PartitionCache | None = None


def new_scan(
    table: TableToRead,
    where: str | Predicate | None,
    columns: Sequence[str] | None,
    limit: int | None,
    zone: str | None,
    recorder: RecordsScans | None = None,
) -> Scan:
    """Return a scan; see `Catalog.scan`."""
    snapshot = table.snapshot
    condition = Filter.all_of([]) if where is None else bind_filter(snapshot, where, zone)
    names = resolve_columns(snapshot, columns)
    count = None if limit is None else require_limit(limit)
    request = RowRequest(snapshot, condition, names, count, zone, recent=table.recent, recorder=recorder)
    return Scan(request, table.file_systems)


_MAX_READER_THREADS = 8
_REMEDY = "Use to_batches, or to_arrow."


def file_dataset(
    request: RowRequest, planned: FilesToRead, file_systems: FileSystems
) -> ds.FileSystemDataset:
    """Return the files of a scan as a dataset.

    Raises:
        UnsupportedError: PyArrow would read other rows than Spark does.
    """
    read = planned.read
    if request.order is not None:
        raise UnsupportedError(f"A dataset has no order, and this scan has one: scan without it. {_REMEDY}")
    if request.limit is not None:
        raise UnsupportedError(
            f"A dataset has all rows of its files, and this scan has a limit of {request.limit}: scan without it. {_REMEDY}"
        )
    if read.filter.node != TRUE and not planned.selection.certain:
        raise UnsupportedError(
            f"A dataset has all rows of its files, and of some only a part satisfies {read.filter}: scan without "
            f"the condition, and filter the dataset. {_REMEDY}"
        )
    if read.file_format != "parquet":
        raise UnsupportedError(f"{request.table} is in ORC, whose types PyArrow reads otherwise. {_REMEDY}")
    for column in read.columns:
        if column.physical != column.name:
            raise UnsupportedError(
                f"Column {column.name} is {column.physical} in the files, and a dataset cannot rename columns. {_REMEDY}"
            )
    with ThreadPoolExecutor(
        _MAX_READER_THREADS, initializer=set_file_systems, initargs=(file_systems.for_threads(),)
    ) as pool:
        fragments = list(pool.map(functools.partial(_fragment, read), planned.files))
    filesystem = fragments[0].filesystem if fragments else None
    return ds.FileSystemDataset(fragments, read.schema, _format(), filesystem)


def _format() -> ds.ParquetFileFormat:
    return ds.ParquetFileFormat(coerce_int96_timestamp_unit="us")


def _fragment(read: ReadRequest, file: FileRows) -> ds.ParquetFileFragment:
    require_plain_file(read, file)
    filesystem, name = open_location(file.path)
    return _format().make_fragment(name, filesystem, partition_expression=_guarantee(read, file))


def _guarantee(read: ReadRequest, file: FileRows) -> pc.Expression:
    """Return the condition that all rows of a file satisfy: the values of its partition."""
    guarantee = pc.scalar(True)
    for column, value in zip(read.partition_by, file.values, strict=True):
        if value is not None and value != value:
            raise UnsupportedError(
                f"A partition has NaN as {column.name}, which a dataset does not find. {_REMEDY}"
            )
        if column.name not in read.schema.names:
            continue
        field = pc.field(column.name)
        equal = field.is_null() if value is None else field == constant_scalar(column.column_type, value)
        guarantee = guarantee & equal
    return guarantee
