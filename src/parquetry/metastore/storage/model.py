"""What the metastore records: columns, tables, data files, partitions, totals and commits.

Plain immutable records; their bytes are `wire`, how they are keyed is `keyspace`, how they come to be visible is
`head` and `commits.committer`. A field added later goes to the end with a default, so that older records stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from parquetry.data_files import ColumnStatistics, FileRecord, TableColumn
from parquetry.errors import ArrangementError, ColumnNotFoundError
from parquetry.layout import PLAIN, ArrangementSpec
from parquetry.metastore.storage.wire import encode_arrangement, fingerprint
from parquetry.types import ColumnType

__all__ = [
    "ColumnStatistics",
    "CommitRecord",
    "Database",
    "FileChunk",
    "FileRecord",
    "ListedFile",
    "PartitionEntry",
    "PartitionIndex",
    "RemovedFileRecord",
    "StreamBatch",
    "TableColumn",
    "TableMetadata",
    "Totals",
    "ViewDefinition",
]


class PartitionIndex(msgspec.Struct, frozen=True, omit_defaults=True):
    """A secondary index: the keys of the partitions, with their fields in another order.

    Attributes:
        name: lower-case; unique in the table.
        id: random, hexadecimal; begins the keys of its entries. An index that is built anew gets another.
        order: positions of the partition columns, all of them, in the order of the entries' fields.
        width: how many of them, from the first, the index was asked for.
        ready: whether every partition has its entry; otherwise it is being built, and not read.
    """

    name: str
    id: str
    order: tuple[int, ...]
    width: int
    ready: bool = True


class ViewDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a view says, as its engine gave it and wants it back; nothing of it is read here.

    Attributes:
        text: the query.
        catalog: that was current when the view was made; bare names of the query are looked for there.
        namespace: that was current then.
        settings: of the session that was current then, by which the query is read.
        schema_mode: what becomes of the view where the tables below it have other columns by now.
        query_columns: names of the query's columns, one for one of the view's; empty where the view takes whatever there are.
    """

    text: str
    catalog: str | None = None
    namespace: tuple[str, ...] = ()
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    schema_mode: str | None = None
    query_columns: tuple[str, ...] = ()


class Constraint(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the rows of a table are said to hold, as its statement gave it; its engine sees to it that they do.

    Attributes:
        name: unique in the table, in any letter case.
        kind: which clause said it.
        predicate: of CHECK, SQL over the table's columns.
        columns: of a key, the names that lead to each.
        references: of a foreign key, the parts of the other table's name.
        referenced: its columns there.
        enforced: whether rows that are written are tested.
        rely: whether an engine may plan by it.
        status: whether the rows that are there were tested: `VALID`, `INVALID` or `UNVALIDATED`.
    """

    name: str
    kind: Literal["check", "primary_key", "unique", "foreign_key"]
    predicate: str | None = None
    columns: tuple[tuple[str, ...], ...] = ()
    references: tuple[str, ...] = ()
    referenced: tuple[tuple[str, ...], ...] = ()
    enforced: bool = False
    rely: bool = False
    status: Literal["VALID", "INVALID", "UNVALIDATED"] = "UNVALIDATED"


class TableMetadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a table is, apart from its partitions.

    A view is a table without any: it has a name of the same kind, and versions, and lies nowhere.

    Attributes:
        columns: all columns, partition columns included, in the order of the table.
        partition_by: names of the partition columns, in the order of the directories.
        format: of the data files.
        location: URI or absolute path of the table's directory, without a trailing slash.
        external: whether dropping the table leaves its files.
        created_at: milliseconds since the epoch.
        descending: per partition column, whether its keys sort downwards; empty means all ascending.
        indexes: over the partitions, in the order of their making.
        arrangement: of the rows of partitions made from now on.
        view: of a view, what it says; its `location` is empty, and its `format` means nothing.
        dropped: columns and fields that were dropped, by their physical names from the column on: files may still hold them, so
            that nothing new is to be called so there. Steps into arrays and maps are `element`, `key` and `value`.
        constraints: in the order in which they were given.
        replacement: id of the REPLACE TABLE that gave the table its columns and its content, random, hexadecimal; empty: the table
            is as CREATE TABLE made it. What was written for one does not fit another.
    """

    columns: tuple[TableColumn, ...]
    partition_by: tuple[str, ...]
    format: Literal["parquet", "orc"]
    location: str
    external: bool = False
    properties: dict[str, str] = msgspec.field(default_factory=dict)
    comment: str | None = None
    owner: str | None = None
    created_at: int = 0
    descending: tuple[bool, ...] = ()
    indexes: tuple[PartitionIndex, ...] = ()
    arrangement: ArrangementSpec = PLAIN
    view: ViewDefinition | None = None
    dropped: tuple[tuple[str, ...], ...] = ()
    constraints: tuple[Constraint, ...] = ()
    replacement: str = ""

    @property
    def kind(self) -> Literal["table", "view"]:
        """Return what it is, as its head says it, too."""
        return "table" if self.view is None else "view"

    def column(self, name: str) -> TableColumn:
        """Return the column of this name, case-insensitively.

        Raises:
            ColumnNotFoundError: there is none.
        """
        wanted = name.lower()
        for column in self.columns:
            if column.name.lower() == wanted:
                return column
        names = ", ".join(column.name for column in self.columns)
        raise ColumnNotFoundError(f"Column {name!r} is not in the table; its columns are: {names}.")

    @property
    def checks(self) -> tuple[Constraint, ...]:
        """Return the constraints that rows are tested by when they are written."""
        return tuple(each for each in self.constraints if each.kind == "check" and each.enforced)

    @property
    def partition_columns(self) -> tuple[TableColumn, ...]:
        """Return the partition columns, in the order of the directories."""
        return tuple(self.column(name) for name in self.partition_by)

    @property
    def partition_types(self) -> tuple[ColumnType, ...]:
        """Return the types of the partition columns."""
        return tuple(column.column_type for column in self.partition_columns)

    @property
    def types_of_partitions(self) -> dict[str, ColumnType]:
        """Return the types of the partition columns, by name."""
        return dict(zip(self.partition_by, self.partition_types, strict=True))

    @property
    def data_columns(self) -> tuple[TableColumn, ...]:
        """Return the columns that are in the files."""
        names = {name.lower() for name in self.partition_by}
        return tuple(column for column in self.columns if column.name.lower() not in names)

    def require_arrangeable(self, arrangement: ArrangementSpec) -> None:
        """Make sure that rows can be arranged so.

        Raises:
            ArrangementError: it speaks of a column that is not in the files.
        """
        names = [column.physical for column in self.data_columns]
        for name in arrangement.columns:
            if name not in names:
                raise ArrangementError(
                    f"{name!r} is not the physical name of a column in the files, which rows are arranged by; those are: "
                    f"{', '.join(names)}."
                )


class FileChunk(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A reference to a row that holds part of a long list of files.

    Attributes:
        ticket: of the commit that wrote the row.
        number: of the row among those of this ticket.
        files: how many files it lists.
        bytes: of the row's value; 0: not recorded, and not written, for a row of format 1.
    """

    ticket: int
    number: int
    files: int
    bytes: int = 0


class PartitionEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One version of a partition, as stored.

    Attributes:
        location: absolute; None means the table's location and Hive's default path.
        file_count: number of files, those in chunks included.
        rows: sum over the files; None: not known of some file.
        bytes: sum over the files.
        arrangement: of the rows, not yet decoded; see `wire.decode_arrangement`. In rows of format 1 a map of
            parameters, which was always empty.
        chunks: rows with the earlier files, in order; see `manifest.entries`.
        inline: the later files, not yet decoded: listing a million partitions must not decode their files.
    """

    location: str | None
    file_count: int
    rows: int | None
    bytes: int
    arrangement: msgspec.Raw
    chunks: tuple[FileChunk, ...]
    inline: msgspec.Raw


class ListedFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A `FileRecord` without its statistics, which take longest to decode."""

    path: str
    bytes: int
    rows: int | None = None
    modified: int | None = None


class RemovedFileRecord(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A file of others as it was when the table took it out; see `commits.removed_files`.

    Attributes:
        bytes: size of the file.
        modified: milliseconds since the epoch, as the file system said; None: not known.
    """

    bytes: int
    modified: int | None = None


_FINGERPRINT_MODULUS = 1 << 64


class Totals(msgspec.Struct, frozen=True, array_like=True):
    """Sums over the partitions of one version of a table.

    Attributes:
        partitions: their number.
        files: number of data files.
        bytes: of the data files.
        known_rows: rows of the partitions whose rows are known.
        uncounted: number of partitions whose rows are not known.
        arrangements: sum of the fingerprints of the partitions' arrangements, modulo 2 ** 64. Plain ones have 0, and so
            have all of a table from before there were any. It grows and shrinks with each commit, takes no more room
            for a million different ones, and tells whether all are alike: `all_arranged`.
    """

    partitions: int = 0
    files: int = 0
    bytes: int = 0
    known_rows: int = 0
    uncounted: int = 0
    arrangements: int = 0

    @property
    def rows(self) -> int | None:
        """Return the number of rows; None if some file's is not known."""
        return None if self.uncounted else self.known_rows

    def plus(self, entry: PartitionEntry, sign: int = 1) -> Totals:
        """Return the totals with an entry added (or, with sign -1, taken away)."""
        return Totals(
            self.partitions + sign,
            self.files + sign * entry.file_count,
            self.bytes + sign * entry.bytes,
            self.known_rows + sign * (entry.rows or 0),
            self.uncounted + sign * (entry.rows is None),
            (self.arrangements + sign * fingerprint(bytes(entry.arrangement))) % _FINGERPRINT_MODULUS,
        )

    def all_arranged(self, arrangement: ArrangementSpec) -> bool:
        """Return whether all partitions are arranged so."""
        one = fingerprint(bytes(encode_arrangement(arrangement)))
        return self.arrangements == self.partitions * one % _FINGERPRINT_MODULUS

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.partitions + other.partitions,
            self.files + other.files,
            self.bytes + other.bytes,
            self.known_rows + other.known_rows,
            self.uncounted + other.uncounted,
            (self.arrangements + other.arrangements) % _FINGERPRINT_MODULUS,
        )


class CommitRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One version of a table: who made it, what it did, and which rows of the store belong to it.

    Attributes:
        version: 0 is the creation of the table.
        ticket: number that tags the rows this commit wrote.
        id: random, hexadecimal.
        committed_at: milliseconds since the epoch; never less than that of the version before.
        operation: such as ``append``.
        summary: free text by key, given by the committer.
        metadata: ticket of the metadata row that holds.
        totals: after this commit.
        next_ticket: rows of this and later tickets do not belong to this version.
        invisible: ranges (both ends included) of earlier tickets that do not either: their commits were under
            way, or had been given up.
        streams: of each streaming query that has written into the table, by its id, the last batch that it committed; those
            that committed last are last. Each commit carries on what the one before it says, so that whoever runs a batch
            again finds that it was committed, whatever was vacuumed since.
    """

    version: int
    ticket: int
    id: str
    committed_at: int
    operation: str
    summary: dict[str, str]
    metadata: int
    totals: Totals
    next_ticket: int
    invisible: tuple[tuple[int, int], ...] = ()
    streams: dict[str, int] = msgspec.field(default_factory=dict)


class StreamBatch(msgspec.Struct, frozen=True):
    """The batch of a streaming query that a commit makes visible.

    Attributes:
        query: its id, which it keeps when it is started again.
        number: of the batch; they grow.
    """

    query: str
    number: int

    def is_in(self, commit: CommitRecord) -> bool:
        """Return whether it, or a later one of the query, was committed by then."""
        return commit.streams.get(self.query, -1) >= self.number

    def added_to(self, streams: Mapping[str, int]) -> dict[str, int]:
        """Return what the next commit says of streams; of those that have not written for longest, too many are forgotten."""
        others = [(query, number) for query, number in streams.items() if query != self.query]
        return dict([*others[-(_MAX_STREAMS - 1) :], (self.query, self.number)])


_MAX_STREAMS = 100
"""Queries of which each commit says how far they are."""


class Database(msgspec.Struct, frozen=True, omit_defaults=True):
    """A database (namespace).

    Attributes:
        name: lower-case.
        properties: such as ``comment`` and ``location``.
    """

    name: str
    properties: dict[str, str] = msgspec.field(default_factory=dict)
