"""Records with a value other than the default in each field, for tests that no recorded value is lost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

import msgspec

from parquetry.data_files.records import PHYSICAL_NAME
from parquetry.layout.cells import AutoSkew
from parquetry.metastore import (
    ArrangementSpec,
    BucketSpec,
    ColumnStatistics,
    CountedColumn,
    FileRecord,
    SkewMap,
    SortColumn,
    TableColumn,
    TableMetadata,
)
from parquetry.metastore.storage.model import Constraint, PartitionIndex, ViewDefinition

COLUMNS = (
    TableColumn("x", "long", False, {"comment": "heavy"}),
    TableColumn("price", "decimal(9,2)"),
    TableColumn("share", "double"),
    TableColumn("raw", "binary"),
    TableColumn("renamed", "string", metadata={PHYSICAL_NAME: "was"}),
    TableColumn("d", "integer"),
    TableColumn("s", "string"),
)
SKEW = SkewMap(
    ("x", "price", "share", "raw", "was"),
    (
        (10, Decimal("1.50"), math.nan, b"\x00\xff", "a/b=c"),
        (None, None, None, None, None),
        (-1, Decimal("-0.01"), -math.inf, b"", ""),
    ),
    directories=True,
    locations=("maprfs://h:1/x=10", None, "/far/away"),
)
OWN = ArrangementSpec(
    SKEW,
    BucketSpec(("was", "x"), 8, "spark", (SortColumn("price", descending=True), SortColumn("x")), True),
    (SortColumn("share", descending=True), SortColumn("raw")),
)
"""The arrangement of a partition."""
TABLES = ArrangementSpec(
    SkewMap(("x",), ((1,),), True, ("/one",)),
    BucketSpec(("x",), 4, 1, (SortColumn("x", True),), True),
    (SortColumn("x", True),),
)
"""The arrangement of a table, for partitions made from now on."""
MEASURED = ArrangementSpec(SkewMap(("x",), (), True, auto=AutoSkew(0.125, 7)))
"""The arrangement of a table whose partitions measure their skewed values."""
STATISTICS = ColumnStatistics(7, 1, b"\x00", b"\xff", False, False, 1, "parquet BYTE_ARRAY", 2)
FILE = FileRecord(
    "theirs", 12, 3, 1_700_000_000_000, {"raw": STATISTICS}, cell=2, bucket=7, sorted=True, field_ids=3
)

EARLIER = FileRecord("earlier", 12, 3, 1_700_000_000_000, {"raw": STATISTICS}, bucket=6, rest_of=2)
"""A file of the rest of the first cells, from before the map grew."""


def full_metadata(location: str) -> TableMetadata:
    """Return what a table is, with each field set."""
    return TableMetadata(
        columns=COLUMNS,
        partition_by=("d", "s"),
        format="orc",
        location=location,
        external=True,
        properties={"sort-by": "x"},
        comment="é",
        owner="me",
        created_at=1,
        descending=(True, False),
        former_types=((("x",), "int"),),
        counted=(CountedColumn("raw", 3, 12, 4),),
        indexes=(PartitionIndex("by_s", "0123456789abcdef", (1, 0), 1, ready=False),),
        arrangement=TABLES,
        dropped=(("gone",), ("s", "element", "x")),
        constraints=(
            Constraint("c", "check", "x > 0", enforced=True, rely=True, status="VALID"),
            Constraint("f", "foreign_key", None, (("x",),), ("db", "other"), (("id",),)),
        ),
        replacement="fedcba9876543210",
        field_ids=((("gone",), 3), (("s", "element", "x"), 9)),
    )


def full_view() -> TableMetadata:
    """Return what a view is, with each field set that views have."""
    return TableMetadata(
        columns=(TableColumn("n", "long", False, {"comment": "number"}), TableColumn("s", "string")),
        partition_by=(),
        format="parquet",
        location="",
        external=True,
        properties={"a": "b"},
        comment="é",
        owner="me",
        created_at=1,
        view=ViewDefinition(
            "SELECT x, s FROM t", "lake", ("db",), {"spark.sql.ansi.enabled": "false"}, "BINDING", ("x", "s")
        ),
    )


def unset_fields(*records: msgspec.Struct) -> list[str]:
    """Return the fields that have defaults in all of some records of one type, and in the records within.

    A field that is added later is among them, until these records set it.
    """
    found = []
    within: dict[type, list[msgspec.Struct]] = {}
    for field in msgspec.structs.fields(records[0]):
        factory = field.default_factory
        default = field.default if factory is msgspec.NODEFAULT else factory()
        values = [getattr(record, field.name) for record in records]
        if default is not msgspec.NODEFAULT and all(value == default for value in values):
            found.append(f"{type(records[0]).__name__}.{field.name}")
        for value in values:
            inner = value.values() if isinstance(value, dict) else value
            for each in inner if isinstance(inner, Iterable) else [inner]:
                if isinstance(each, msgspec.Struct):
                    within.setdefault(type(each), []).append(each)
    return found + [name for group in within.values() for name in unset_fields(*group)]
