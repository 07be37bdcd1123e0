"""What a catalog shows: tables, partitions and files as plain Python values.

Made from a version of a table in the metastore; which of them are shown is for `reader` to say.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from parquetry import metastore as ms
from parquetry.catalog.arrangements import Arrangement, arrangement_view
from parquetry.identifiers import quoted
from parquetry.key_schema import KeySchema
from parquetry.layout.bounds import FileBounds, bounds_reader
from parquetry.metastore.indexes import index_columns
from parquetry.scan.plan import EVERYTHING, Estimate, KeyScan, ScanPlan
from parquetry.scan.plan_text import plan_text
from parquetry.types import Value, to_python, type_text


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: as the table spells it.
        type: in SQL, such as ``decimal(10,2)`` or ``struct<a:int>``.
        nullable: whether NULL may occur.
        comment: the user's.
    """

    name: str
    type: str
    nullable: bool
    comment: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table as of one version.

    Attributes:
        name: ``database.table``, in lower case.
        version: its number; creation is 0.
        committed_at: when the version was made.
        operation: what made it, such as ``append``.
        format: of the data files, ``parquet`` or ``orc``.
        location: absolute path or URI.
        external: whether dropping the table leaves its files.
        columns: all of them, partition columns included, in the order of the table.
        partition_by: names of the partition columns, in the order of the directories.
        properties: as set by users.
        comment: of the table.
        owner: of the table.
        partitions: their number.
        files: number of data files.
        rows: their number; None if it is not known of some file.
        bytes: size of the data files.
        indexes: over the partitions: their columns by their names.
        arrangement: of the rows of partitions made from now on; None: plain.
    """

    name: str
    version: int
    committed_at: datetime
    operation: str
    format: str
    location: str
    external: bool
    columns: tuple[Column, ...]
    partition_by: tuple[str, ...]
    properties: Mapping[str, str]
    comment: str | None
    owner: str | None
    partitions: int
    files: int
    rows: int | None
    bytes: int
    indexes: Mapping[str, tuple[str, ...]]
    arrangement: Arrangement | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of a table.

    Attributes:
        values: of the partition columns by name; None is NULL.
        location: absolute path or URI.
        files: number of data files.
        rows: their number; None if it is not known of some file.
        bytes: size of the data files.
        arrangement: of its rows; None: plain.
    """

    values: Mapping[str, Any]
    location: str
    files: int
    rows: int | None
    bytes: int
    arrangement: Arrangement | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """A version of a table, and what made it.

    Attributes:
        version: its number; creation is 0.
        committed_at: when it was made.
        operation: what made it, such as ``append``.
        partitions: their number then.
        files: number of data files then.
        rows: their number then; None if it was not known of some file.
        bytes: size of the data files then.
        summary: what the operation told about itself.
    """

    version: int
    committed_at: datetime
    operation: str
    partitions: int
    files: int
    rows: int | None
    bytes: int
    summary: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of a column in a file.

    Attributes:
        min: no value is less; None is unknown, or all are NULL.
        max: no value is greater. NaN takes no part in either.
        nulls: how many rows are NULL; None is unknown.
        min_exact: whether `min` occurs in the file; of a long text only the beginning is kept.
        max_exact: whether `max` occurs in the file.
        bytes: size of the column in the file, compressed; None is unknown.
    """

    min: Any
    max: Any
    nulls: int | None
    min_exact: bool
    max_exact: bool
    bytes: int | None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a table.

    Attributes:
        path: absolute path or URI.
        partition: values of its partition's columns by name; None is NULL.
        rows: their number; None is unknown.
        bytes: its size.
        cell: of its partition's skew that all rows are of, as position in `Skew.values`; -1: none is of any; None is
            unknown.
        bucket: that all rows are of; None is unknown.
        sorted: whether the rows are in the order that its partition's arrangement says.
    """

    path: str
    partition: Mapping[str, Any]
    rows: int | None
    bytes: int
    cell: int | None
    bucket: int | None
    sorted: bool
    _statistics: Callable[[], dict[str, Statistics]] = field(repr=False, compare=False)

    @property
    def statistics(self) -> dict[str, Statistics]:
        """Return what is known of the data columns, by name, in their types of today."""
        return self._statistics()


@dataclass(frozen=True, slots=True)
class Plan:
    """How the partitions of a filter are found: ranges of keys to read, with what to test there.

    Attributes:
        scans: the ranges, in the order of their keys, without what the metastore puts before and behind those.
        index: name of the index that they are of; None: they are of the partitions' own keys.
        estimates: how many keys each way examines, where there was a choice.
        partitions: how many were found; None if the plan was not run.
        keys_examined: how many keys were looked at for that, to choose between indexes included.
    """

    scans: tuple[KeyScan, ...]
    index: str | None
    estimates: tuple[Estimate, ...]
    partitions: int | None = None
    keys_examined: int | None = None
    _plan: ScanPlan = field(default=EVERYTHING, repr=False, compare=False)
    _schema: KeySchema = field(default=KeySchema(()), repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain lists and dicts.

        Keys are hexadecimal; a range with no upper bound stops at bytes that no key reaches.
        """
        beyond = b"\xff" * (len(self._schema) + 1)
        return {
            "scans": [
                {
                    "kind": scan.kind,
                    "start": scan.start.hex(),
                    "stop": (beyond if scan.stop is None else scan.stop).hex(),
                    "residual": None if scan.residual is None else str(scan.residual),
                    "index": self.index,
                }
                for scan in self.scans
            ],
            "partitions": self.partitions,
            "keys_examined": self.keys_examined,
        }

    def __str__(self) -> str:
        text = plan_text(self._plan, self._schema)
        if self.partitions is None:
            return text
        return f"{text}\n{self.partitions:,} partitions found, {self.keys_examined:,} keys examined"


def plan_view(
    snapshot: ms.TableSnapshot,
    plan: ScanPlan,
    partitions: int | None = None,
    keys_examined: int | None = None,
) -> Plan:
    """Return a plan as users see it."""
    index = None if plan.index is None else plan.index.name
    return Plan(plan.scans, index, plan.estimates, partitions, keys_examined, plan, snapshot.key_schema)


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


def commit_view(commit: ms.Commit) -> Commit:
    """Return a commit as users see it."""
    return Commit(
        version=commit.version,
        committed_at=datetime.fromtimestamp(commit.committed_at / 1000, UTC),
        operation=commit.operation,
        partitions=commit.totals.partitions,
        files=commit.totals.files,
        rows=commit.totals.rows,
        bytes=commit.totals.bytes,
        summary=dict(commit.summary),
    )


def partition_view(snapshot: ms.TableSnapshot, found: ms.Partition) -> Partition:
    """Return a partition as users see it."""
    return Partition(
        _named(snapshot, found.values),
        found.location,
        found.file_count,
        found.rows,
        found.bytes,
        arrangement_view(snapshot.metadata, found.arrangement),
    )


def file_views(
    snapshot: ms.TableSnapshot, files: Iterable[tuple[tuple[Value, ...], ms.DataFile, str]]
) -> Iterator[DataFile]:
    """Give files as users see them.

    Args:
        snapshot: the version of the table.
        files: for each the values of its partition, its record, and its absolute path.
    """
    read = _statistics_reader(snapshot.metadata.data_columns)
    last: tuple[Value, ...] | None = None
    partition: dict[str, Any] = {}
    for values, file, path in files:
        if values is not last:
            last, partition = values, _named(snapshot, values)
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
    """Return a table's name as `database.table`, in backticks where a part holds a dot."""
    return ".".join(quoted(part) if "." in part or "`" in part else part for part in (database, table))


def _named(snapshot: ms.TableSnapshot, values: Sequence[Value]) -> dict[str, Any]:
    types = zip(snapshot.metadata.partition_by, snapshot.partition_types, values, strict=True)
    return {name: to_python(type, value) for name, type, value in types}


def _statistics_reader(columns: Sequence[ms.Column]) -> Callable[[ms.DataFile], dict[str, Statistics]]:
    readers = [(column, column.physical.lower(), bounds_reader(column)) for column in columns]

    def read(file: ms.DataFile) -> dict[str, Statistics]:
        sizes = {name.lower(): each.size for name, each in (file.columns or {}).items()}
        found = {}
        for column, physical, bounds_of in readers:
            bounds = bounds_of(file)
            if bounds is None and sizes.get(physical) is None:
                continue
            bounds = bounds or FileBounds()
            type = column.column_type
            found[column.name] = Statistics(
                min=to_python(type, bounds.min),
                max=to_python(type, bounds.max),
                nulls=bounds.nulls,
                min_exact=bounds.min is not None and bounds.min_exact,
                max_exact=bounds.max is not None and bounds.max_exact,
                bytes=sizes.get(physical),
            )
        return found

    return read
