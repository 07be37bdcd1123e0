"""A table and its partitions as records of Hive's metastore: columns, storage, heavy values, buckets.

These are plain records; the bridge turns them into objects of Hive's interface. Columns have their names in
the files, since Hive's readers for Parquet and ORC look for these.

Hive's pruner trusts its metastore. So heavy values are published with directories only if Hive reads the
right rows by them (`hive_skew`):

- Each cell's files are in one directory of their own, and all other files are in the default directory. Hive
  does not look up the default directory, but computes its path.
- Equal values are equal texts: Hive compares the text of a heavy value with the text in a query.

Other partitions are published as plain ones, and Hive reads all of their files.

Likewise, buckets are published only if Hive computes the same hash, and finds each file's bucket in the
file's name. Hive records the version of the hash and the bucket columns once for a table. So a partition with
other ones is published without buckets; only the number of buckets may differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from parquetry.data_files import FileRecord, TableColumn
from parquetry.errors import UnsupportedError
from parquetry.hashing import unsettled_reason
from parquetry.layout import DEFAULT_DIRECTORY, REST, ArrangementSpec, BucketSpec, SkewMap
from parquetry.locations import DEFAULT_PARTITION, base_name, join_location
from parquetry.types import ColumnType, Value, names_within, text_from_value, type_from_json, type_text

_CLASSES = {
    "parquet": (
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    ),
    "orc": (
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    ),
}
_ANY_OTHER = "HIVE_DEFAULT_LIST_BUCKETING_KEY"
"""The text that stands for all light values while Hive prunes."""
_BUCKET = re.compile(r"0*(\d+)_\d+.*", re.ASCII | re.DOTALL)
"""The bucket in a file's name, as Hive finds it (`Utilities.getBucketIdFromFile`)."""


class HiveColumn(msgspec.Struct, frozen=True):
    """A column: its name in the files, its type in Hive's syntax, and its comment."""

    name: str
    type: str
    comment: str | None


class HiveSkew(msgspec.Struct, frozen=True):
    """Heavy values.

    Attributes:
        columns: the names of the skewed columns.
        values: the values of each cell, as text.
        locations: pairs of a cell's values and its directory, for cells with files.
        directories: whether Hive may prune by the cells' directories.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    locations: tuple[tuple[tuple[str, ...], str], ...]
    directories: bool


class HiveBuckets(msgspec.Struct, frozen=True):
    """Buckets: the hashed columns, the count, and the sort columns, each with whether it is descending."""

    columns: tuple[str, ...]
    count: int
    sort: tuple[tuple[str, bool], ...]


class HiveStorage(msgspec.Struct, frozen=True):
    """The storage of a table or partition: its location, Hive's reader and writer, and its arrangement."""

    location: str
    input_format: str
    output_format: str
    serde: str
    skew: HiveSkew | None
    buckets: HiveBuckets | None


class HiveTable(msgspec.Struct, frozen=True):
    """A table."""

    database: str
    name: str
    owner: str
    columns: tuple[HiveColumn, ...]
    partition_columns: tuple[HiveColumn, ...]
    parameters: dict[str, str]
    storage: HiveStorage


class HivePartition(msgspec.Struct, frozen=True):
    """A partition: its values as text, its parameters and its storage."""

    values: tuple[str, ...]
    parameters: dict[str, str]
    storage: HiveStorage


def hive_columns(label: str, columns: Iterable[TableColumn]) -> tuple[HiveColumn, ...]:
    """Return columns in Hive's form.

    Raises:
        UnsupportedError: Hive has no such type.

    >>> hive_columns("db.t", [TableColumn("a", {"type": "array", "elementType": "long", "containsNull": True})])
    (HiveColumn(name='a', type='array<bigint>', comment=None),)
    """
    return tuple(HiveColumn(each.physical, _type(label, each), each.comment) for each in columns)


def _type(label: str, column: TableColumn) -> str:
    text = type_text(column.type)
    if not all(type_from_json(name).facts.hive for name in names_within(column.type)):
        raise UnsupportedError(
            f"Table {label} cannot be published: Hive has no type for column {column.name}, which is {text}. Publish a "
            "copy of the table in which it has another type."
        )
    return text


def hive_values(types: Sequence[ColumnType], values: Sequence[Value]) -> tuple[str, ...]:
    """Return values as Hive's metastore writes them: as text; NULL and '' as the name of their directory.

    >>> from parquetry.types import parse_type
    >>> hive_values([parse_type("date"), parse_type("string")], [0, None])
    ('1970-01-01', '__HIVE_DEFAULT_PARTITION__')
    """
    return tuple(
        DEFAULT_PARTITION if value is None else text_from_value(type, value) or DEFAULT_PARTITION
        for type, value in zip(types, values, strict=True)
    )


def hive_storage(
    file_format: str,
    location: str,
    columns: dict[str, ColumnType],
    arrangement: ArrangementSpec,
    files: Sequence[FileRecord] | None,
    table: ArrangementSpec,
) -> HiveStorage:
    """Return the storage of a partition or a table.

    Args:
        file_format: ``parquet`` or ``orc``.
        location: its location.
        columns: the types of the table's columns, by their physical names.
        arrangement: the partition's arrangement, or the table's, which holds for new partitions.
        files: the partition's files, or None for a partitioned table: Hive reads no files of the table
            itself.
        table: the table's arrangement as Hive knows it: the bucket columns and the version of the hash are
            recorded once for a table.
    """
    skew, buckets = arrangement.skew, arrangement.buckets
    return HiveStorage(
        location,
        *_CLASSES[file_format],
        None if skew is None else hive_skew(skew, columns, location, files),
        None if buckets is None else hive_buckets(buckets, columns, files, table.buckets),
    )


def missing_in_hive(arrangement: ArrangementSpec, storage: HiveStorage) -> list[str]:
    """Return what a partition has and its storage for Hive lacks: ``plain``, ``not bucketed``.

    ``plain`` means that its heavy values are published without directories, and ``not bucketed`` without
    buckets.
    """
    skew = arrangement.skew
    plain = skew is not None and skew.directories and not (storage.skew and storage.skew.directories)
    unbucketed = arrangement.buckets is not None and storage.buckets is None
    return ["plain"] * plain + ["not bucketed"] * unbucketed


def bucket_parameters(arrangement: ArrangementSpec, storage: HiveStorage) -> dict[str, str]:
    """Return Hive's parameters of a table for its buckets: the version of the hash, if it has some."""
    buckets = arrangement.buckets
    return {} if buckets is None or storage.buckets is None else {"bucketing_version": str(buckets.version)}


def hive_skew(
    skew: SkewMap, columns: dict[str, ColumnType], location: str, files: Sequence[FileRecord] | None
) -> HiveSkew:
    """Return heavy values, with their directories unless Hive would miss rows by them.

    >>> from parquetry.types import parse_type
    >>> skew = SkewMap(("x",), ((6,), (20,)), directories=True)
    >>> files = [FileRecord("x=6/a", 1, cell=0), FileRecord("HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME/b", 1, cell=-1)]
    >>> hive_skew(skew, {"x": parse_type("int")}, "/t/ds=1", files).locations
    ((('6',), '/t/ds=1/x=6'),)
    """
    types = [columns[name] for name in skew.columns]
    values = tuple(hive_values(types, cell) for cell in skew.values(types))
    told = (
        skew.directories
        and len(set(values)) == len(values)
        and all(
            _is_comparable(type, value)
            for cell in skew.values(types)
            for type, value in zip(types, cell, strict=True)
        )
    )
    directories = _directory_locations(skew, location, files or ()) if told else None
    located = (
        ()
        if directories is None
        else tuple((values[cell], directory) for cell, directory in sorted(directories.items()))
    )
    return HiveSkew(skew.columns, values, located, directories is not None)


def _is_comparable(type: ColumnType, value: Value) -> bool:
    """Return whether Hive's pruner finds a heavy value that a query compares with.

    It compares texts: a query's 10 is not the 10.00 of a decimal column, nor a query's '' the name of the
    default partition.
    """
    if type.textual:
        return type.unpadded and value not in (None, "", DEFAULT_PARTITION, _ANY_OTHER)
    return type.facts.one_text


def _directory_locations(skew: SkewMap, location: str, files: Iterable[FileRecord]) -> dict[int, str] | None:
    """Return the directory of each cell with files, or None if Hive would miss rows by the directories."""
    rest = join_location(location, "/".join([DEFAULT_DIRECTORY] * len(skew.columns)))
    by_cell: dict[int | None, set[str]] = defaultdict(set)
    for file in files:
        by_cell[file.cell].add(join_location(location, file.path).rpartition("/")[0])
    if by_cell.pop(REST, {rest}) != {rest} or any(len(directories) > 1 for directories in by_cell.values()):
        return None
    cells = {
        cell: directory
        for cell, directories in by_cell.items()
        if cell is not None
        for directory in directories
    }
    apart = len({*cells.values(), rest}) == len(cells) + 1
    return cells if apart and len(cells) == len(by_cell) else None


def hive_buckets(
    buckets: BucketSpec,
    columns: dict[str, ColumnType],
    files: Sequence[FileRecord] | None,
    tables: BucketSpec | None,
) -> HiveBuckets | None:
    """Return buckets for Hive, or None if Hive would miss rows by them.

    They have a sort order if every file has it. See `hive_storage` for the arguments.

    >>> from parquetry.types import parse_type
    >>> spec = BucketSpec(("id",), 4)
    >>> hive_buckets(spec, {"id": parse_type("int")}, [FileRecord("000003_0", 1, bucket=3)], spec)
    HiveBuckets(columns=('id',), count=4, sort=())
    """
    if buckets.version == "spark" or buckets.unsettled:
        return None
    if (
        unsettled_reason(buckets.version, [columns[name] for name in buckets.columns], writers="hive")
        is not None
    ):
        return None
    if tables is None or (buckets.version, buckets.columns) != (tables.version, tables.columns):
        return None
    if not all(file.bucket is not None and _bucket_in_name(file.path) == file.bucket for file in files or ()):
        return None
    in_order = all(file.sorted for file in files or ())
    order = tuple((each.column.lower(), each.descending) for each in buckets.sort) if in_order else ()
    return HiveBuckets(tuple(name.lower() for name in buckets.columns), buckets.count, order)


def _bucket_in_name(path: str) -> int | None:
    match = _BUCKET.fullmatch(base_name(path))
    return None if match is None else int(match[1])


def statistics(files: Sequence[FileRecord]) -> dict[str, Any]:
    """Return Hive's parameters for the size of a partition.

    >>> statistics([FileRecord("a", 10, 3), FileRecord("b", 5, 2)])
    {'numFiles': '2', 'totalSize': '15', 'numRows': '5'}
    """
    known = {"numFiles": str(len(files)), "totalSize": str(sum(file.bytes for file in files))}
    rows = [file.rows for file in files]
    return known if None in rows else {**known, "numRows": str(sum(row or 0 for row in rows))}
