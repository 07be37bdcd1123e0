"""Convert tables, partitions and files of the metastore into the plain values of a catalog."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from parquetry import metastore as ms
from parquetry.catalog.arrangements import arrangement_view
from parquetry.catalog.shapes import (
    Column,
    Commit,
    CommitChanges,
    DataFile,
    Partition,
    Plan,
    Statistics,
    Table,
)
from parquetry.data_files import FileBounds, bounds_reader
from parquetry.identifiers import quote_part
from parquetry.metastore import index_columns
from parquetry.scan import ScanPlan
from parquetry.types import Value, to_python, type_text


def plan_view(
    snapshot: ms.TableSnapshot,
    plan: ScanPlan,
    partitions: int | None = None,
    keys_examined: int | None = None,
    keys_returned: int | None = None,
    seeks: int = 0,
) -> Plan:
    """Return a plan as users see it."""
    index = None if plan.index is None else plan.index.name
    scans = plan.scans + tuple(scan for part in plan.by_indexes for scan in part.scans)
    counts = partitions, keys_examined, keys_returned, seeks
    return Plan(scans, index, plan.estimates, *counts, plan, snapshot.key_schema)


def table_view(snapshot: ms.TableSnapshot) -> Table:
    """Return a version of a table as users see it."""
    metadata, totals = snapshot.metadata, snapshot.totals
    return Table(
        name=full_name(snapshot.database, snapshot.name),
        version=snapshot.version,
        committed_at=datetime.fromtimestamp(snapshot.committed_at / 1000, UTC),
        operation=snapshot.operation,
        format=metadata.format,
        location=metadata.location,
        external=metadata.external,
        columns=tuple(
            Column(column.name, type_text(column.type), column.nullable, column.comment)
            for column in metadata.columns
        ),
        partition_by=metadata.partition_by,
        properties=dict(metadata.properties),
        comment=metadata.comment,
        owner=metadata.owner,
        partitions=totals.partitions,
        files=totals.files,
        rows=totals.rows,
        bytes=totals.bytes,
        indexes={i.name: index_columns(metadata, i) for i in metadata.indexes if i.ready},
        arrangement=arrangement_view(metadata, metadata.arrangement),
    )


def commit_view(commit: ms.CommitRecord) -> Commit:
    """Return a commit as users see it."""
    author = commit.author
    return Commit(
        version=commit.version,
        committed_at=datetime.fromtimestamp(commit.time / 1000, UTC),
        operation=commit.operation,
        partitions=commit.totals.partitions,
        files=commit.totals.files,
        rows=commit.totals.rows,
        bytes=commit.totals.bytes,
        summary=dict(commit.summary),
        changes=None if commit.changes is None else _changes(commit.changes),
        user_name=author.user,
        door=author.door,
        application_id=author.application,
        application_name=author.application_name,
        statement=author.statement,
    )


def _changes(counts: ms.ChangeCounts) -> CommitChanges:
    return CommitChanges(**{name: getattr(counts, name) for name in CommitChanges.__dataclass_fields__})


def partition_view(snapshot: ms.TableSnapshot, partition: ms.PartitionSnapshot) -> Partition:
    """Return a partition as users see it."""
    return Partition(
        _name_values(snapshot, partition.values),
        partition.location,
        partition.file_count,
        partition.rows,
        partition.bytes,
        arrangement_view(snapshot.metadata, partition.arrangement),
    )


def file_views(
    snapshot: ms.TableSnapshot, files: Iterable[tuple[tuple[Value, ...], ms.FileRecord, str]]
) -> Iterator[DataFile]:
    """Yield files as users see them.

    Args:
        snapshot: the version of the table.
        files: for each file the values of its partition, its record, and its absolute path.
    """
    read = _statistics_reader(snapshot.metadata.data_columns)
    last: tuple[Value, ...] | None = None
    partition: dict[str, Any] = {}
    for values, file, path in files:
        if values is not last:
            last, partition = values, _name_values(snapshot, values)
        yield DataFile(
            path,
            partition,
            file.rows,
            file.bytes,
            file.cell,
            file.bucket,
            file.sorted,
            functools.partial(read, file),
        )


def full_name(database: str, table: str) -> str:
    """Return a table's name as `database.table`, in backticks where a part holds a dot.

    The name of a branch (`metastore.branch_name`) becomes `database.table.branch_name`.
    """
    parts = (database, *ms.name_parts(table))
    return ".".join(quote_part(part) if "." in part or "`" in part else part for part in parts)


def _name_values(snapshot: ms.TableSnapshot, values: Sequence[Value]) -> dict[str, Any]:
    types = zip(snapshot.metadata.partition_by, snapshot.partition_types, values, strict=True)
    return {name: to_python(type, value) for name, type, value in types}


def _statistics_reader(columns: Sequence[ms.TableColumn]) -> Callable[[ms.FileRecord], dict[str, Statistics]]:
    readers = [(column, column.physical.lower(), bounds_reader(column)) for column in columns]

    def read(file: ms.FileRecord) -> dict[str, Statistics]:
        sizes = {name.lower(): entry.size for name, entry in (file.columns or {}).items()}
        statistics = {}
        for column, physical, bounds_of in readers:
            bounds = bounds_of(file)
            if bounds is None and sizes.get(physical) is None:
                continue
            bounds = bounds or FileBounds()
            type = column.column_type
            statistics[column.name] = Statistics(
                min=to_python(type, bounds.min),
                max=to_python(type, bounds.max),
                nulls=bounds.nulls,
                min_exact=bounds.min is not None and bounds.min_exact,
                max_exact=bounds.max is not None and bounds.max_exact,
                bytes=sizes.get(physical),
            )
        return statistics

    return read
