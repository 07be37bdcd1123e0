"""A table and its partitions as Hive's metastore keeps them: columns, storage, heavy values, buckets.

Plain records, which the bridge turns into those of Hive's interface. Columns go by the names that they have in the files,
since Hive's readers of Parquet and ORC look for those.

Hive's pruner believes what it is told, so that heavy values are told only where it reads the right rows by them
(`hive_skew`): each cell's files lie in one directory of its own, and all other files in the default directory, which Hive
does not look up but computes; and heavy values and those of a query are the same texts if they are equal. A partition of which this
is not true is told as a plain one; Hive reads all of it.

Likewise it is told of buckets only where it hashes as they were, and finds each file's in its name. The version of the hash and
the columns it has once for the table, so that partitions of others are told as not bucketed; numbers of buckets may differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from parquetry.data_files import FileRecord, TableColumn
from parquetry.errors import UnsupportedError
from parquetry.hashing import unsettled
from parquetry.layout import DEFAULT_DIRECTORY, REST, ArrangementSpec, BucketSpec, SkewMap
from parquetry.locations import DEFAULT_PARTITION, base_name, join_location
from parquetry.types import ColumnType, Value, text_from_value, type_text

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
"""What stands for all values that are not heavy while Hive prunes."""
_BUCKET = re.compile(r"0*(\d+)_\d+.*", re.ASCII | re.DOTALL)
"""Where Hive finds the bucket in a file's name (`Utilities.getBucketIdFromFile`)."""
_UNKNOWN_TO_HIVE = ("timestamp_ntz", "interval", "variant", "void", "time(", "geometry", "geography")


class HiveColumn(msgspec.Struct, frozen=True):
    """A column: its name in the files, its type in Hive's words, and its comment."""

    name: str
    type: str
    comment: str | None


class HiveSkew(msgspec.Struct, frozen=True):
    """Heavy values.

    Attributes:
        columns: their names.
        values: of each cell its values as text.
        locations: the directory of each cell that has files, after its values.
        directories: whether cells have directories, which Hive may go by.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    locations: tuple[tuple[tuple[str, ...], str], ...]
    directories: bool


class HiveBuckets(msgspec.Struct, frozen=True):
    """Buckets: the columns hashed, how many there are, and the columns sorted by, each with whether downwards."""

    columns: tuple[str, ...]
    count: int
    sort: tuple[tuple[str, bool], ...]


class HiveStorage(msgspec.Struct, frozen=True):
    """Where files lie, who reads them, and how rows are arranged in them."""

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
    """A partition: its values as text, and what is known of it."""

    values: tuple[str, ...]
    parameters: dict[str, str]
    storage: HiveStorage


def hive_columns(label: str, columns: Iterable[TableColumn]) -> tuple[HiveColumn, ...]:
    """Return columns in Hive's words.

    Raises:
        UnsupportedError: Hive has no such type.

    >>> hive_columns("db.t", [TableColumn("a", {"type": "array", "elementType": "long", "containsNull": True})])
    (HiveColumn(name='a', type='array<bigint>', comment=None),)
    """
    return tuple(HiveColumn(each.physical, _type(label, each), each.comment) for each in columns)


def _type(label: str, column: TableColumn) -> str:
    text = type_text(column.type)
    if any(unknown in text for unknown in _UNKNOWN_TO_HIVE):
        raise UnsupportedError(
            f"Table {label} cannot be published: Hive has no type for column {column.name}, which is {text}. Publish a "
            "copy of the table in which it has another type."
        )
    return text


def hive_values(types: Sequence[ColumnType], values: Sequence[Value]) -> tuple[str, ...]:
    """Return values as Hive's metastore writes them: as text, NULL and the empty text as their directories say.

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
    tables: BucketSpec | None = None,
) -> HiveStorage:
    """Return how a partition, or a table, is stored.

    Args:
        file_format: ``parquet`` or ``orc``.
        location: where it lies.
        columns: the types of the table's columns, by their physical names.
        arrangement: of the partition; of the table for what it says of partitions made from now on.
        files: of the partition; None for a table that has partitions, of which Hive reads no file.
        tables: the buckets of the table.
    """
    skew, buckets = arrangement.skew, arrangement.buckets
    return HiveStorage(
        location,
        *_CLASSES[file_format],
        None if skew is None else hive_skew(skew, columns, location, files),
        None if buckets is None else hive_buckets(buckets, columns, files, tables),
    )


def hive_skew(
    skew: SkewMap, columns: dict[str, ColumnType], location: str, files: Sequence[FileRecord] | None
) -> HiveSkew:
    """Return heavy values with the directories that Hive may go by, or without, if it would miss rows by them.

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
            _compared(type, value)
            for cell in skew.values(types)
            for type, value in zip(types, cell, strict=True)
        )
    )
    places = _directory_locations(skew, location, files or ()) if told else None
    located = () if places is None else tuple((values[cell], place) for cell, place in sorted(places.items()))
    return HiveSkew(skew.columns, values, located, places is not None)


def _compared(type: ColumnType, value: Value) -> bool:
    """Return whether Hive's pruner finds a heavy value by what a query says.

    It compares texts: a query's 10 is not the 10.00 of a decimal column, nor a query's '' the name of the default partition.
    """
    if type.name in ("string", "varchar"):
        return value not in (None, "", DEFAULT_PARTITION, _ANY_OTHER)
    return type.integral or type.name in ("boolean", "date")


def _directory_locations(skew: SkewMap, location: str, files: Iterable[FileRecord]) -> dict[int, str] | None:
    """Return the directory of each cell that has files; None if Hive would not find all rows by them."""
    rest = join_location(location, "/".join([DEFAULT_DIRECTORY] * len(skew.columns)))
    found: dict[int | None, set[str]] = defaultdict(set)
    for file in files:
        found[file.cell].add(join_location(location, file.path).rpartition("/")[0])
    if found.pop(REST, {rest}) != {rest} or any(len(places) > 1 for places in found.values()):
        return None
    cells = {cell: place for cell, places in found.items() if cell is not None for place in places}
    apart = len({*cells.values(), rest}) == len(cells) + 1
    return cells if apart and len(cells) == len(found) else None


def hive_buckets(
    buckets: BucketSpec,
    columns: dict[str, ColumnType],
    files: Sequence[FileRecord] | None,
    tables: BucketSpec | None,
) -> HiveBuckets | None:
    """Return buckets as Hive may go by them; None: it would miss rows.

    A sort order is told if every file has it. The arguments are those of `hive_storage`.

    >>> from parquetry.types import parse_type
    >>> spec = BucketSpec(("id",), 4)
    >>> hive_buckets(spec, {"id": parse_type("int")}, [FileRecord("000003_0", 1, bucket=3)], spec)
    HiveBuckets(columns=('id',), count=4, sort=())
    """
    if buckets.version == "spark" or buckets.unsettled:
        return None
    if unsettled(buckets.version, [columns[name] for name in buckets.columns], writers="hive") is not None:
        return None
    if tables is None or (buckets.version, buckets.columns) != (tables.version, tables.columns):
        return None
    if not all(file.bucket is not None and _named(file.path) == file.bucket for file in files or ()):
        return None
    in_order = all(file.sorted for file in files or ())
    order = tuple((each.column.lower(), each.descending) for each in buckets.sort) if in_order else ()
    return HiveBuckets(tuple(name.lower() for name in buckets.columns), buckets.count, order)


def _named(path: str) -> int | None:
    found = _BUCKET.fullmatch(base_name(path))
    return None if found is None else int(found[1])


def statistics(files: Sequence[FileRecord]) -> dict[str, Any]:
    """Return what Hive keeps of a partition's size, as parameters.

    >>> statistics([FileRecord("a", 10, 3), FileRecord("b", 5, 2)])
    {'numFiles': '2', 'totalSize': '15', 'numRows': '5'}
    """
    known = {"numFiles": str(len(files)), "totalSize": str(sum(file.bytes for file in files))}
    rows = [file.rows for file in files]
    return known if None in rows else {**known, "numRows": str(sum(row or 0 for row in rows))}
