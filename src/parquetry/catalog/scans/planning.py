"""Plan a scan: which files to read, and which conditions are still to be tested on their rows.

A Spark query is planned by the same rules (`parquetry.prune`), also for LIMIT and count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from parquetry import metastore as ms, prune
from parquetry.errors import UnsupportedError
from parquetry.predicate import EVERY_ROW, Filter, conjuncts
from parquetry.prune import AggregateFunction, FirstRows, Selection, WholeAggregate, select_for
from parquetry.rows import FileRows, ReadRequest, require_exact


@dataclass(frozen=True, slots=True)
class RowRequest:
    """The request of a scan.

    Attributes:
        snapshot: the version of the table.
        filter: the condition.
        columns: names of the columns to give, as the table spells them.
        limit: how many rows at most, or None for all.
        zone: the time zone of ORC's timestamps, or None if it is not known.
    """

    snapshot: ms.TableSnapshot
    filter: Filter
    columns: tuple[str, ...]
    limit: int | None = None
    zone: str | None = None

    @property
    def table(self) -> str:
        """Return the table's name for people."""
        return f"{self.snapshot.database}.{self.snapshot.name}"


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
    names = request.columns if not count else ()
    read = tuple(dict.fromkeys([*names, *(name for each in conditions for name in sorted(each.about))]))
    scan = prune.Scan(request.snapshot, conditions, read, frozenset(metadata.partition_by), None)
    if count:
        scan = replace(scan, aggregate=WholeAggregate([AggregateFunction("count", None)]))
    elif request.limit is not None:
        scan = replace(scan, first=FirstRows(max(request.limit, 1)))
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
