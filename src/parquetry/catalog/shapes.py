"""The values that a catalog returns: tables, partitions and files as plain Python values.

They are made from a version of a table in the metastore. `reader` selects them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from parquetry import texts
from parquetry.catalog.arrangements import Arrangement, arrangement_facts
from parquetry.catalog.drawing import facts_html, table_html, text_html
from parquetry.key_schema import KeySchema
from parquetry.scan import EVERYTHING, Estimate, KeyScan, ScanPlan
from parquetry.scan.plan_text import plan_text
from parquetry.texts import quantity

_MAX_NAMED_COLUMNS = 20
"""Columns that a prompt shows of a table."""


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


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table as of one version.

    Attributes:
        name: ``database.table``, in lower case.
        version: its number; creation is 0.
        committed_at: when the version was made.
        operation: that made it, such as ``append``.
        format: of the data files, ``parquet`` or ``orc``.
        location: absolute path or URI.
        external: whether dropping the table leaves its files.
        columns: all of them, including partition columns, in the order of the table.
        partition_by: names of the partition columns, in the order of the directories.
        properties: as set by users.
        comment: of the table.
        owner: of the table.
        partitions: their number.
        files: number of data files.
        rows: their number, or None if it is unknown for some file.
        bytes: size of the data files.
        indexes: over the partitions: column names by index name.
        arrangement: of new partitions, or None if it is plain.
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

    def facts(self) -> dict[str, str]:
        """Return the table's facts other than its columns, for people."""
        facts = {
            "table": self.name,
            "version": f"{self.version} ({self.operation}, {self.committed_at:%Y-%m-%d %H:%M:%S} UTC)",
            "format": self.format,
            "location": f"{self.location}{' (external)' if self.external else ''}",
            "comment": self.comment,
            "owner": self.owner,
            "partitions": texts.count(self.partitions),
            "files": texts.count(self.files),
            "rows": texts.count(self.rows),
            "size": texts.size_text(self.bytes),
            **{f"index {name}": ", ".join(columns) for name, columns in self.indexes.items()},
            **arrangement_facts(self.arrangement),
            **{f"property {name}": value for name, value in sorted(self.properties.items())},
        }
        return {name: text for name, text in facts.items() if text is not None}

    def __repr__(self) -> str:
        partitioned = {name.lower() for name in self.partition_by}
        columns = [
            f"{column.name} {column.type}{' (partition)' if column.name.lower() in partitioned else ''}"
            for column in self.columns[:_MAX_NAMED_COLUMNS]
        ]
        more = ["…"] if len(self.columns) > _MAX_NAMED_COLUMNS else []
        facts = self.facts()
        sums = ", ".join(f"{facts[name]} {name}" for name in ("partitions", "files", "rows") if name in facts)
        return (
            f"{self.name}: version {facts['version']}, {self.format}, {sums}, {facts['size']}\n"
            f"columns: {', '.join([*columns, *more])}\nlocation: {facts['location']}"
        )

    def _repr_html_(self) -> str:
        positions = {name: position for position, name in enumerate(self.partition_by, 1)}
        columns = [
            {
                "column": column.name,
                "type": column.type if column.nullable else f"{column.type} not null",
                "partition": positions.get(column.name, ""),
                "comment": column.comment or "",
            }
            for column in self.columns
        ]
        return table_html(self.name, columns) + facts_html(list(self.facts().items())[1:])


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of a table.

    Attributes:
        values: of the partition columns by name; None is NULL.
        location: absolute path or URI.
        files: number of data files.
        rows: their number, or None if it is unknown for some file.
        bytes: size of the data files.
        arrangement: of its rows, or None if it is plain.
    """

    values: Mapping[str, Any]
    location: str
    files: int
    rows: int | None
    bytes: int
    arrangement: Arrangement | None = None


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """How much a version added and removed; a file that was rewritten counts in both.

    Attributes:
        rows_added: rows of the added files, or None if their number is unknown for some file.
        rows_removed: rows of the removed files, or None likewise.
        files_added: data files that the version before did not have.
        files_removed: data files that only the version before had.
        bytes_added: size of the added files.
        bytes_removed: size of the removed files.
        partitions_added: partitions that there were not before.
        partitions_removed: partitions that there are no more.
        partitions_replaced: other partitions that lost files.
    """

    rows_added: int | None
    rows_removed: int | None
    files_added: int
    files_removed: int
    bytes_added: int
    bytes_removed: int
    partitions_added: int
    partitions_removed: int
    partitions_replaced: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A version of a table, and the operation that made it.

    Attributes:
        version: its number; creation is 0.
        committed_at: when it was made.
        operation: that made it, such as ``append``.
        partitions: their number then.
        files: number of data files then.
        rows: their number then, or None if it was unknown for some file.
        bytes: size of the data files then.
        summary: the operation's own notes.
        changes: how much the operation added and removed, or None if an older library made the version.
        user_name: name of the user who made it.
        door: how the statement came, such as ``sql``, ``connect``, ``cli`` or ``python``.
        application_id: the application's id, such as Spark's.
        application_name: the application's name.
        statement: the first 200 characters of the statement.
    """

    version: int
    committed_at: datetime
    operation: str
    partitions: int
    files: int
    rows: int | None
    bytes: int
    summary: Mapping[str, str]
    changes: CommitChanges | None = None
    user_name: str | None = None
    door: str | None = None
    application_id: str | None = None
    application_name: str | None = None
    statement: str | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of a column in a file.

    Attributes:
        min: no value is less; None if unknown, or if all are NULL.
        max: no value is greater; None likewise. NaN counts in neither.
        nulls: how many rows are NULL; None if unknown.
        min_exact: whether `min` occurs in the file. Of a long text only the beginning is stored.
        max_exact: whether `max` occurs in the file.
        bytes: size of the column in the file, compressed; None if unknown.
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
        rows: their number, or None if unknown.
        bytes: its size.
        cell: the cell of all its rows, as position in `Skew.values`; -1 if no row is in any cell; None if
            unknown.
        bucket: the bucket of all its rows, or None if unknown.
        sorted: whether the rows have the order of its partition's arrangement.
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
        """Return the statistics of the data columns, by name, in their current types."""
        return self._statistics()


@dataclass(frozen=True, slots=True)
class Plan:
    """How the partitions of a filter are found: ranges of keys to read, and the residual to test there.

    Attributes:
        scans: the ranges, in the order of their keys, without the metastore's own prefixes and suffixes. A
            union has the ranges of the partitions' own keys first, then the ranges of each index.
        index: name of the index of these ranges, or None for the partitions' own keys or a union. `to_dict`
            names the index of each range.
        estimates: how many keys each access path examines, if there was a choice.
        partitions: their number, or None if the plan was not run.
        keys_examined: how many keys were read, including the reads to choose between indexes. None if the
            plan was not run, or if the store tested keys itself, as HBase does without reporting how many.
        keys_returned: how many of these keys the store returned.
        seeks: how many of these keys a skip scan read to find the next value of a leading column.
    """

    scans: tuple[KeyScan, ...]
    index: str | None
    estimates: tuple[Estimate, ...]
    partitions: int | None = None
    keys_examined: int | None = None
    keys_returned: int | None = None
    seeks: int = 0
    _plan: ScanPlan = field(default=EVERYTHING, repr=False, compare=False)
    _schema: KeySchema = field(default=KeySchema(()), repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain lists and dicts.

        Keys are hexadecimal. A range with no upper bound stops at bytes that no key reaches. Without a skip
        scan, the dict has no `seeks`.
        """
        beyond = b"\xff" * (len(self._schema) + 1)
        return {
            "scans": [
                {
                    "kind": scan.kind,
                    "start": scan.start.hex(),
                    "stop": (beyond if scan.stop is None else scan.stop).hex(),
                    "residual": None if scan.residual is None else str(scan.residual),
                    "index": None if part.index is None else part.index.name,
                }
                for part in (self._plan, *self._plan.by_indexes)
                for scan in part.scans
            ],
            "partitions": self.partitions,
            "keys_examined": self.keys_examined,
            "keys_returned": self.keys_returned,
            **({"seeks": self.seeks} if self.seeks else {}),
        }

    def _repr_html_(self) -> str:
        return text_html("plan", str(self))

    def __str__(self) -> str:
        text = plan_text(self._plan, self._schema)
        if self.partitions is None:
            return text
        if self.keys_examined is None:
            keys = f"{quantity(self.keys_returned or 0, 'key')} returned: the store tested the others, and does not say how many"
        else:
            keys = f"{quantity(self.keys_examined, 'key')} examined"
        skipped = f" (skip scan: {quantity(self.seeks, 'seek')})" if self.seeks else ""
        return f"{text}\n{quantity(self.partitions, 'partition')} found, {keys}{skipped}"
