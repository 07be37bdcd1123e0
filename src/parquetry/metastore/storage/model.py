"""The metastore's records: columns, tables, data files, partitions, totals and commits.

Records are plain and immutable. `wire` has their bytes, `keyspace` their keys; `head` and `commits.committer`
make them visible. A new field goes to the end and has a default, so that older records stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

import msgspec

from parquetry.config import FIELD_STATISTICS, settle
from parquetry.data_files import (
    ColumnStatistics,
    FileRecord,
    StructField,
    TableColumn,
    assign_field_ids,
    bound_fields,
    struct_fields,
    types_by_path,
    without_table_types,
)
from parquetry.errors import ArrangementError, ColumnNotFoundError
from parquetry.identifiers import field_name, field_path, is_field
from parquetry.layout import PLAIN, ArrangementSpec
from parquetry.metastore.storage.origin import Author, ChangeCounts, Origin
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
        name: name in lower case, unique in the table.
        id: random id, hexadecimal, at the beginning of its entries' keys. A rebuilt index gets a new id.
        order: positions of all partition columns, in the order of the entries' fields.
        width: number of columns, from the first, that the index was created on.
        ready: whether every partition has its entry. If not, the index is being built and is not read.
    """

    name: str
    id: str
    order: tuple[int, ...]
    width: int
    ready: bool = True


class ViewDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """The definition of a view. Its engine writes and reads it; the metastore does not interpret it.

    Attributes:
        text: the query.
        catalog: the current catalog when the view was made, which resolves bare names of the query.
        namespace: the current namespace when the view was made.
        settings: settings of the session when the view was made, needed to parse the query.
        schema_mode: how the view handles changed columns of its tables.
        query_columns: names of the query's columns, one for each column of the view; empty if the view takes
            all columns that the query has.
    """

    text: str
    catalog: str | None = None
    namespace: tuple[str, ...] = ()
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    schema_mode: str | None = None
    query_columns: tuple[str, ...] = ()


class Constraint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A constraint on the rows of a table, as a statement declared it. The engine enforces it.

    Attributes:
        name: name, unique in the table in any letter case.
        kind: the kind of clause.
        predicate: the predicate of a CHECK, in SQL over the table's columns.
        columns: the columns of a key, each as the path of names to it.
        references: the parts of the name of a foreign key's other table.
        referenced: the foreign key's columns in that table.
        enforced: whether new rows are tested.
        rely: whether an engine may plan by it.
        status: whether existing rows were tested: `VALID`, `INVALID` or `UNVALIDATED`.
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


class CountedColumn(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many values a column had when ANALYZE TABLE … FOR COLUMNS counted them.

    Attributes:
        column: its physical name.
        distinct: about how many distinct values, without NULL.
        rows: how many rows were not NULL.
        length: the mean bytes of a text or of binary values, or None for other types.
    """

    column: str
    distinct: int
    rows: int
    length: int | None = None


class TableMetadata(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """The definition of a table, without its partitions.

    A view is a table without partitions: it has a name of the same kind, and versions, but no location.

    Attributes:
        columns: all columns, including partition columns, in the order of the table.
        partition_by: names of the partition columns, in the order of the directories.
        format: format of the data files.
        location: URI or absolute path of the table's directory, without a trailing slash.
        external: whether the files stay when the table is dropped.
        created_at: milliseconds since the epoch.
        descending: per partition column, whether its keys sort downwards; empty if all are ascending.
        indexes: the indexes over the partitions, in the order of their creation.
        arrangement: arrangement of the rows of new partitions.
        view: definition of a view, or None for a table. A view's `location` is empty, and its `format` means
            nothing.
        dropped: dropped columns and fields, as paths of physical names. Files may still have them, so nothing
            new may get such a path. Steps into arrays and maps are `element`, `key` and `value`.
        constraints: the constraints, in the order of their declaration.
        replacement: random id, hexadecimal, of the REPLACE TABLE that defined the table; empty if CREATE
            TABLE did. Changes that were prepared under one id do not fit the table under another.
        field_ids: the field ids of all columns and fields there ever were, by their paths of physical names,
            or empty if they are what `assign_field_ids` gives a new table with these columns.
        former_types: the types that columns and fields had before ALTER TABLE widened them, with their paths
            of physical names. Files of before have them still, also when no version of before is left.
        counted: what ANALYZE TABLE … FOR COLUMNS counted last, of each column that it named.
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
    field_ids: tuple[tuple[tuple[str, ...], int], ...] = ()
    former_types: tuple[tuple[tuple[str, ...], str], ...] = ()
    counted: tuple[CountedColumn, ...] = ()

    @property
    def ids_by_path(self) -> dict[tuple[str, ...], int]:
        """Return the field ids of all columns and fields, by their paths of physical names."""
        return assign_field_ids(self.columns, self.partition_by, dict(self.field_ids), self.dropped)

    def with_ids_of(self, earlier: TableMetadata) -> TableMetadata:
        """Return this metadata with the field ids that the table's metadata had before a change.

        Args:
            earlier: the metadata before.
        """
        ids = assign_field_ids(self.columns, self.partition_by, earlier.ids_by_path, self.dropped)
        new = msgspec.structs.replace(self, field_ids=())
        return new if new.ids_by_path == ids else msgspec.structs.replace(self, field_ids=tuple(ids.items()))

    def with_former_types(self, earlier: TableMetadata) -> TableMetadata:
        """Return this metadata with the types that columns had before a change, if it changes types.

        Args:
            earlier: the metadata before.
        """
        now = types_by_path(self.columns)
        widened = [
            (path, kind)
            for path, kind in types_by_path(earlier.columns).items()
            if now.get(path, kind) != kind
        ]
        if not widened:
            return self
        return msgspec.structs.replace(
            self, former_types=tuple(dict.fromkeys((*self.former_types, *widened)))
        )

    @property
    def kind(self) -> Literal["table", "view"]:
        """Return the kind, which the table's head has as well."""
        return "table" if self.view is None else "view"

    def column(self, name: str) -> TableColumn:
        """Return the column of this name, or the field of a struct, case-insensitively.

        Args:
            name: a column's name, or a field's as conditions have it (`identifiers.field_name`).

        Raises:
            ColumnNotFoundError: the table has no such column.
        """
        wanted = name.lower()
        for column in (*self.columns, *struct_fields(self.data_columns)) if is_field(name) else self.columns:
            if column.name.lower() == wanted:
                return column
        names = ", ".join(column.name for column in self.columns)
        raise ColumnNotFoundError(f"Column {name!r} is not in the table; its columns are: {names}.")

    @cached_property
    def fields(self) -> tuple[StructField, ...]:
        """Return the fields of structs that conditions may be about, in the form of columns.

        A field of type char is none of them: it is read with the blanks that its file has.
        """
        if not any(isinstance(column.type, dict) for column in self.columns):
            return ()
        if any(is_field(column.name) for column in self.columns):  # as if it were a field of another one
            return ()
        return tuple(field for field in struct_fields(self.data_columns) if field.column_type.name != "char")

    @cached_property
    def types(self) -> Mapping[str, ColumnType]:
        """Return the types of the columns and fields that conditions may be about, by name."""
        return {each.name: each.column_type for each in (*self.fields, *self.columns)}

    @cached_property
    def in_files(self) -> Mapping[str, TableColumn]:
        """Return the columns and fields in the files that conditions may be about, by name."""
        return {each.name: each for each in (*self.data_columns, *self.fields)}

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """Return the same in the spelling that files use, by their names in lower case."""
        return {name.lower(): each.physical for name, each in self.in_files.items()}

    @property
    def structs_with_statistics(self) -> frozenset[str]:
        """Return the physical names of columns that surely have fields with statistics in new files."""
        limit, fields = self._kept_fields, struct_fields(self.data_columns)
        if isinstance(limit, int):
            return frozenset(field.owner for field in fields[:limit] if limit)
        named = {path[0] for path in limit}
        return frozenset(field.owner for field in fields if field.owner in named)

    @property
    def _kept_fields(self) -> int | list[tuple[str, ...]]:
        """Return how many fields of structs have statistics, or which: paths of names in files."""
        limit = settle(properties=self.properties)[FIELD_STATISTICS]
        return limit if isinstance(limit, int) else [self.stored_path(path) for path in limit]

    def keep_record(self, file: FileRecord) -> FileRecord:
        """Return the record of a new file as the table keeps it, of a record that says all that is known."""
        return without_table_types(bound_fields(file, self._kept_fields), self.data_columns)

    def stored_path(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names in files of a column or a field, or the same names if the table has none such."""
        wanted = field_name(path).lower()
        for column in (*self.columns, *struct_fields(self.data_columns)):
            if column.name.lower() == wanted:
                return field_path(column.physical)
        return path

    @property
    def checks(self) -> tuple[Constraint, ...]:
        """Return the constraints that new rows are tested by."""
        return tuple(each for each in self.constraints if each.kind == "check" and each.enforced)

    @cached_property
    def partition_columns(self) -> tuple[TableColumn, ...]:
        """Return the partition columns, in the order of the directories."""
        return tuple(self.column(name) for name in self.partition_by)

    @cached_property
    def partition_types(self) -> tuple[ColumnType, ...]:
        """Return the types of the partition columns."""
        return tuple(column.column_type for column in self.partition_columns)

    @cached_property
    def key_definition(self) -> tuple[object, ...]:
        """Return what the keys and default locations of partitions depend on."""
        names = tuple(column.physical for column in self.partition_columns)
        return self.partition_types, self.descending, names

    @property
    def types_of_partitions(self) -> dict[str, ColumnType]:
        """Return the types of the partition columns, by name."""
        return dict(zip(self.partition_by, self.partition_types, strict=True))

    @cached_property
    def data_columns(self) -> tuple[TableColumn, ...]:
        """Return the columns that are in the files."""
        names = {name.lower() for name in self.partition_by}
        return tuple(column for column in self.columns if column.name.lower() not in names)

    def require_arrangeable(self, arrangement: ArrangementSpec) -> None:
        """Make sure that the table's rows can have an arrangement.

        Raises:
            ArrangementError: it names a column that is not in the files.
        """
        names = [column.physical for column in self.data_columns]
        for name in arrangement.columns:
            if name not in names:
                raise ArrangementError(
                    f"{name!r} is not the physical name of a column in the files, which rows are arranged by; those are: "
                    f"{', '.join(names)}."
                )


class FileChunk(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A reference to a chunk: a row with part of a long list of files.

    Attributes:
        ticket: ticket of the commit that wrote the row.
        number: number of the row among the rows of this ticket.
        files: number of files that it lists.
        bytes: size of the row's value; 0, which is not written, for a row of format 1, whose size is not
            recorded.
    """

    ticket: int
    number: int
    files: int
    bytes: int = 0


class PartitionEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One version of a partition, as stored.

    Attributes:
        location: absolute location, or None for the table's location and Hive's default path.
        file_count: number of files, including the files in chunks.
        rows: number of rows, or None if one file's number is not known.
        bytes: size of all files.
        arrangement: arrangement of the rows, not yet decoded; see `wire.decode_arrangement`. Format 1 wrote a
            map of parameters here, which was always empty.
        chunks: the chunks with the earlier files, in order; see `manifest.entries`.
        inline: the later files, not yet decoded, so that listing a million partitions does not decode their
            files.
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
    """A foreign file as it was when the table removed it; see `commits.removed_files`.

    Attributes:
        bytes: size of the file.
        modified: the file system's modification time in milliseconds since the epoch, or None if it is not
            known.
    """

    bytes: int
    modified: int | None = None


_FINGERPRINT_MODULUS = 1 << 64


class Totals(msgspec.Struct, frozen=True, array_like=True):
    """Sums over the partitions of one version of a table.

    Attributes:
        partitions: number of partitions.
        files: number of data files.
        bytes: size of the data files.
        known_rows: rows of the partitions whose number of rows is known.
        uncounted: number of partitions whose number of rows is not known.
        arrangements: sum of the fingerprints of the partitions' arrangements, modulo 2 ** 64. A plain
            arrangement has the fingerprint 0, and so has every partition from before format 2. A commit adds
            and subtracts fingerprints. The sum shows whether all partitions have the same arrangement
            (`all_arranged`), and takes eight bytes even for a million different ones.
    """

    partitions: int = 0
    files: int = 0
    bytes: int = 0
    known_rows: int = 0
    uncounted: int = 0
    arrangements: int = 0

    @property
    def rows(self) -> int | None:
        """Return the number of rows, or None if one file's number is not known."""
        return None if self.uncounted else self.known_rows

    def plus(self, entry: PartitionEntry, sign: int = 1) -> Totals:
        """Return the totals with an entry added or, with sign -1, subtracted."""
        return Totals(
            self.partitions + sign,
            self.files + sign * entry.file_count,
            self.bytes + sign * entry.bytes,
            self.known_rows + sign * (entry.rows or 0),
            self.uncounted + sign * (entry.rows is None),
            (self.arrangements + sign * fingerprint(bytes(entry.arrangement))) % _FINGERPRINT_MODULUS,
        )

    def all_arranged(self, arrangement: ArrangementSpec) -> bool:
        """Return whether all partitions have an arrangement."""
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
    """One version of a table: its operation, its totals, and which rows of the store belong to it.

    Attributes:
        version: number of the version; 0 is the creation of the table.
        ticket: number that tags the rows of this commit.
        id: random id, hexadecimal.
        committed_at: milliseconds since the epoch, never less than the previous version's.
        operation: name of the operation, such as ``append``.
        summary: texts by key from the caller of the commit.
        metadata: ticket of the row with the table's metadata in this version.
        totals: totals after this commit.
        next_ticket: rows of this ticket and later ones do not belong to this version.
        invisible: ranges of earlier tickets, both ends included, whose rows do not belong to it either: their
            commits were under way, or had been aborted.
        streams: the last committed batch of each streaming query that has written into the table, by the
            query's id. Queries that committed last are last. Each commit repeats the entries of the previous
            one. So a query that runs a batch again finds that it was committed, even after a vacuum.
        written_at: the writer's time in milliseconds since the epoch, if it was before the previous version's
            time: the clock of an earlier writer was ahead. None: `committed_at`.
        ranges: the list of range manifests, and which of them are stale; see `range_manifests.records`.
        aborted: the ranges among `invisible` whose commits had been aborted.
        origin: who and what made the version, and how much it changed, or None if an older library made it.
            It is one field, as a record of more than 15 has another form in msgpack; see `checksums`.
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
    written_at: int | None = None
    ranges: bytes = b""
    aborted: tuple[tuple[int, int], ...] = ()
    origin: Origin | None = None

    @property
    def author(self) -> Author:
        """Return who and what made the version, with nothing in it if an older library made it."""
        return Author() if self.origin is None else self.origin.author

    @property
    def changes(self) -> ChangeCounts | None:
        """Return how much the version changed, or None if an older library made it."""
        return None if self.origin is None else self.origin.changes

    @property
    def time(self) -> int:
        """Return when the version was made, by its writer's clock, in milliseconds since the epoch."""
        return self.committed_at if self.written_at is None else self.written_at


class StreamBatch(msgspec.Struct, frozen=True):
    """The batch of a streaming query that a commit makes visible.

    Attributes:
        query: id of the query, which stays the same after a restart.
        number: number of the batch. Later batches have greater numbers.
    """

    query: str
    number: int

    def is_in(self, commit: CommitRecord) -> bool:
        """Return whether this batch, or a later one of its query, had been committed by a version."""
        return commit.streams.get(self.query, -1) >= self.number

    def add_to(self, streams: Mapping[str, int]) -> dict[str, int]:
        """Return the streams of the next commit, this batch last, without the queries idle for longest."""
        others = [(query, number) for query, number in streams.items() if query != self.query]
        return dict([*others[-(_MAX_STREAMS - 1) :], (self.query, self.number)])


_MAX_STREAMS = 100
"""Streaming queries whose last batch a commit records."""


class Database(msgspec.Struct, frozen=True, omit_defaults=True):
    """A database (namespace).

    Attributes:
        name: name in lower case.
        properties: properties such as ``comment`` and ``location``.
    """

    name: str
    properties: dict[str, str] = msgspec.field(default_factory=dict)
