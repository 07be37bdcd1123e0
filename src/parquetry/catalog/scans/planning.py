"""Plan a scan: the files to read, the conditions that are still to be tested on their rows, and the order.

A Spark query is planned by the same rules (`parquetry.prune`), also for LIMIT and count.

Rows are sorted in Spark's order.

NULL comes first, and last in a descending order. NaN is the greatest number, and -0.0 equals 0.0. With a
limit, memory holds the first rows and some batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from parquetry import metastore as ms, prune
from parquetry.errors import UnsupportedError
from parquetry.predicate import EVERY_ROW, Filter, Predicate, conjuncts, name_text, parse_filter
from parquetry.prune import (
    AggregateFunction,
    FirstRows,
    PartitionCache,
    Selection,
    SortKey,
    WholeAggregate,
    select_for,
)
from parquetry.rows import FileRows, ReadRequest, require_exact
from parquetry.types import type_text


@dataclass(frozen=True, slots=True)
class RowRequest:
    """The request of a scan.

    Attributes:
        snapshot: the version of the table.
        filter: the condition.
        columns: names of the columns to give, as the table spells them.
        limit: how many rows at most, or None for all.
        zone: the time zone of ORC's timestamps, or None if it is not known.
        order: how rows are sorted, or None.
        recorder: writes the scan into the history of queries.
        recent: partitions of recent scans, or None to read all from the metastore.
    """

    snapshot: ms.TableSnapshot
    filter: Filter
    columns: tuple[str, ...]
    limit: int | None = None
    zone: str | None = None
    order: RowOrder | None = None
    recorder: RecordsScans | None = field(default=None, compare=False, repr=False)
    recent: PartitionCache | None = None

    @property
    def table(self) -> str:
        """Return the table's name for people."""
        return self.snapshot.label


@dataclass(frozen=True, slots=True)
class FilesToRead:
    """The files of a scan, and how to read them.

    Attributes:
        files: in the order of their partitions.
        read: what is read of each.
        selection: the result of pruning.
    """

    files: tuple[FileRows, ...]
    read: ReadRequest
    selection: Selection


class RecordsScans(Protocol):
    """Writes scans into the history of queries; `recording` has one."""

    def follow(
        self, request: RowRequest, planned: FilesToRead, batches: Iterator[pa.RecordBatch], began: float
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a scan, and record it when the caller has taken them, or wants no more.

        Args:
            request: the scan.
            planned: its files.
            batches: its rows.
            began: when it began, by the monotonic clock.
        """
        ...

    def record(
        self, request: RowRequest, planned: FilesToRead, seconds: float, rows: int | None = None
    ) -> None:
        """Record a scan.

        Args:
            request: the scan.
            planned: its files.
            seconds: how long it took.
            rows: that satisfied its condition, if all were read.
        """
        ...


def plan_scan(request: RowRequest, *, count: bool = False) -> FilesToRead:
    """Return the files that a scan reads.

    Args:
        request: the scan.
        count: whether only the number of rows is wanted. Then files whose part of it is known are left out,
            and `selection.answer` has that part.

    Raises:
        UnsupportedError: a part of the condition cannot be tested outside of Spark.
    """
    metadata = request.snapshot.metadata
    parts = () if request.filter == EVERY_ROW else tuple(conjuncts(request.filter.node))
    conditions = tuple(prune.Condition.from_filter(Filter(part)) for part in parts)
    names = () if count else _names(request)
    read = tuple(dict.fromkeys([*names, *(name for each in conditions for name in sorted(each.about))]))
    scan = prune.PruningRequest(
        request.snapshot, conditions, read, frozenset(metadata.partition_by), None, request.recent
    )
    if count:
        scan = replace(scan, aggregate=WholeAggregate([AggregateFunction("count", None)]))
    elif request.limit is not None:
        scan = replace(scan, first=FirstRows(max(request.limit, 1), _sort_key(request)))
    # PyArrow does not show how ORC stores some types; the records do
    about = [name for name in read if name not in metadata.partition_by] if metadata.format == "orc" else ()
    selection = select_for(scan, table=request.table, about=about)
    undecided = [c for position, c in enumerate(conditions) if position not in selection.exact]
    residual = Filter.all_of([condition.filter for condition in undecided])
    require_exact(residual.node)
    files = () if request.limit == 0 else selection.files
    return FilesToRead(
        tuple(FileRows(each.path, each.file, each.values, selection.certain) for each in files),
        ReadRequest(
            metadata.format,
            tuple(metadata.column(name) for name in names),
            metadata.data_columns,
            metadata.partition_columns,
            residual,
            request.zone,
        ),
        selection,
    )


def _names(request: RowRequest) -> tuple[str, ...]:
    """Return the columns to read: the given ones, and the one of the order."""
    order = request.order
    if order is None or order.column in request.columns:
        return request.columns
    return (*request.columns, order.column)


def _sort_key(request: RowRequest) -> SortKey | None:
    order = request.order
    if order is None:
        return None
    padded = request.snapshot.metadata.column(order.column).column_type.name == "char"
    return SortKey(order.column, name_text(order.column), order.descending, not order.descending, padded)


def order_by(snapshot: ms.TableSnapshot, column: str, *, descending: bool) -> RowOrder:
    """Return an order; see `Scan.order_by`."""
    sorted_by = snapshot.metadata.column(column)
    if not sorted_by.column_type.primitive:
        raise UnsupportedError(
            f"Rows cannot be sorted by {sorted_by.name}, which is {type_text(sorted_by.type)}: name a column of a simple type."
        )
    return RowOrder(sorted_by.name, descending)


def bind_filter(snapshot: ms.TableSnapshot, where: str | Predicate, zone: str | None) -> Filter:
    """Return a condition on a table's columns.

    Args:
        snapshot: of the table.
        where: a text, or a `Predicate`.
        zone: of timestamps without one, or None for UTC.

    Raises:
        FilterError: the text cannot be read, or the table has no such column.
        ColumnNotFoundError: the table has no column of a `Predicate`.
    """
    if isinstance(where, str):
        return parse_filter(where, snapshot.metadata.types, zone or "UTC")
    if not isinstance(where, Predicate):
        raise TypeError(
            f"Filter {where!r} is no text and no Predicate: give a text, such as \"id > 5 AND day = '2026-03-01'\". "
            "Conditions of Polars are for to_polars(), and those of DuckDB for to_duckdb()."
        )
    return Filter.bind(where, snapshot.metadata.types, zone or "UTC")


def require_limit(limit: int) -> int:
    """Return a limit.

    Raises:
        ValueError: it is negative.
    """
    if limit < 0:
        raise ValueError(f"Limit {limit} is negative: give a number from 0 on, or None for all.")
    return limit


def resolve_columns(snapshot: ms.TableSnapshot, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return names of columns as the table spells them; None means all.

    Raises:
        ColumnNotFoundError: the table has no such column.
        UnsupportedError: a column is named twice.
        TypeError: the names are one text.
    """
    metadata = snapshot.metadata
    if columns is None:
        return tuple(column.name for column in metadata.columns)
    if isinstance(columns, str):
        raise TypeError(f"Columns {columns!r} is a text: give a list of names, such as [{columns!r}].")
    names = tuple(metadata.column(name).name for name in columns)
    for name in names:
        if names.count(name) > 1:
            raise UnsupportedError(f"Column {name} is selected twice: name each column once.")
    return names


_ROWS_PER_SORT = 1 << 20
"""Rows that are gathered before those beyond the limit are dropped."""


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of a scan's rows.

    Attributes:
        column: the column that they are sorted by.
        descending: whether the greatest values come first.
    """

    column: str
    descending: bool


def sort_rows(
    batches: Iterable[pa.RecordBatch], order: RowOrder, limit: int | None, names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Yield rows in an order.

    Args:
        batches: the rows, with the column of the order.
        order: how to sort them.
        limit: how many at most, or None for all.
        names: the columns to give.
    """
    gathered: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        gathered.append(batch)
        count += batch.num_rows
        if limit is not None and count > limit + _ROWS_PER_SORT:
            gathered = _first(gathered, order, limit).to_batches()
            count = limit
    if gathered:
        yield from _first(gathered, order, limit).select(list(names)).to_batches()


def _first(batches: list[pa.RecordBatch], order: RowOrder, limit: int | None) -> pa.Table:
    table = pa.Table.from_batches(batches)
    keys = _sort_keys(table.column(order.column))
    way = "descending" if order.descending else "ascending"
    positions = pc.sort_indices(pa.table(keys), sort_keys=[(name, way) for name in keys])
    return table.take(positions if limit is None else positions[:limit])


def _sort_keys(column: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """Return keys that have Spark's order together: no NULL, NaN, value."""
    keys = {"known": pc.is_valid(column).cast(pa.int8())}
    if pa.types.is_floating(column.type):
        keys["nan"] = pc.fill_null(pc.is_nan(column), False).cast(pa.int8())
        column = pc.add(column, pa.scalar(0.0, column.type))
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return keys | {"value": column}
