"""The properties about buckets of a table: made, altered, shown and refused.

Existing partitions keep their buckets.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import parquetry
from parquetry.errors import BucketError, ListBucketingError, PropertyError
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.part import SortColumn
from parquetry.metastore import open_metastore
from tests.support.goldens import GOLDENS, check_golden
from tests.support.spark.asked_lake import BUCKETS, COLUMNS, PARTITIONED_BY_P, BridgeLake

CLAUSE = "(y, x) SORTED BY (x DESC) INTO 4 BUCKETS"
SPEC = BucketSpec(("y", "x"), 4, 2, (SortColumn("x", True),))
HEAVY = "(x) ON (1) STORED AS DIRECTORIES"
RELAXED = {"list-bucketing-rules": "relaxed"}
WIDE = {
    **COLUMNS, "m": {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True},
    "s": {"type": "struct", "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}]},
    "v": "variant", "n": "void", "a b": "varchar(3)", "i": "interval",
}  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BridgeLake]:
    """An empty catalog."""
    folder = tmp_path / "lake"
    with open_metastore(str(folder), create=True) as metastore:
        yield BridgeLake(folder, metastore)


def transform(name: str, *arguments: int | str | list[str]) -> dict[str, Any]:
    """Return a member of PARTITIONED BY.

    Numbers are counts, texts are columns, and lists are fields of structs.
    """
    paths = [[each] if isinstance(each, str) else each for each in arguments if not isinstance(each, int)]
    trees = [
        {"lit": str(each), "type": "int"} if isinstance(each, int) else {"col": [each] if isinstance(each, str) else each}
        for each in arguments
    ]  # fmt: skip
    text = ", ".join(str(each) if isinstance(each, int) else ".".join(each) for each in arguments)
    return {"name": name, "columns": paths, "arguments": trees, "text": f"{name}({text})"}


def test_the_properties_become_the_record_and_are_shown_from_it(lake: BridgeLake) -> None:
    """The clause becomes the table's record, and is no longer a property.

    A bucketed table shows its version and `hive-compatible`, as Hive's bucketed tables do.
    """
    made = lake.create(
        properties={"clustered-by": "( Y , x ) sorted by ( X desc ) into 4 buckets", "mine": "1"}
    )
    assert lake.buckets() == SPEC
    assert lake.table().metadata.properties == {"mine": "1"}
    shown = {key: made["properties"][key] for key in ("clustered-by", "bucketing-version", "hive-compatible")}
    assert shown == {"clustered-by": CLAUSE, "bucketing-version": "2", "hive-compatible": "true"}
    assert made["clauses"] == {"clustered-by": f"CLUSTERED BY {CLAUSE}"}
    assert made["details"] == [
        ["Num Buckets", "4"], ["Bucket Columns", "[y, x]"], ["Sort Columns", "[x DESC]"], ["bucketing_version", "2"],
    ]  # fmt: skip
    again = lake.create("again", properties=shown)
    assert (lake.buckets("again"), again["clauses"]) == (SPEC, made["clauses"])
    plain = lake.create("plain", properties={})
    assert (plain["bucketing"], plain["clauses"], plain["details"]) == (None, {}, [])
    assert not plain["properties"].keys() & shown.keys()


@pytest.mark.parametrize(
    ("by", "spec"),
    [
        (transform("bucket", 8, "X"), BucketSpec(("x",), 8)),
        (transform("bucket", 8, "y", "x"), BucketSpec(("y", "x"), 8)),
        (transform("sorted_bucket", "x", 4, "y", "x"), BucketSpec(("x",), 4, 2, (SortColumn("y"), SortColumn("x")))),
    ],
)  # fmt: skip
def test_a_member_of_partitioned_by_says_the_same(
    lake: BridgeLake, by: dict[str, Any], spec: BucketSpec
) -> None:
    """A transform in PARTITIONED BY makes the same buckets as the clause, beside partition columns or alone.

    Its SQL is `PARTITIONED BY (bucket(8, x), p)`; DataFrames have `bucketBy`.
    """
    lake.create(properties={}, by=[by, *PARTITIONED_BY_P])
    assert (lake.buckets(), lake.table().metadata.partition_by) == (spec, ("p",))
    lake.create("u", properties={"bucketing-version": "spark"}, by=[by])
    buckets = lake.buckets("u")
    assert buckets is not None
    assert buckets.version == "spark"


def test_alter_is_for_partitions_made_from_then_on(lake: BridgeLake) -> None:
    """Each partition keeps the buckets that its table had when the partition was made.

    The test goes through Hive's four statements and the versions of the hash.
    """
    lake.create(properties={})
    expected: dict[tuple[int], BucketSpec | None] = {}
    steps: list[tuple[dict[str, str], BucketSpec | None]] = [
        ({}, None),
        ({"clustered_by": CLAUSE}, SPEC),
        ({"clustered_by": "into 8 buckets"}, BucketSpec(("y", "x"), 8, 2, (SortColumn("x", True),))),
        ({"clustered_by": "not sorted"}, BucketSpec(("y", "x"), 8)),
        ({"bucketing_version": "1"}, BucketSpec(("y", "x"), 8, 1)),
        ({"clustered_by": "(x) INTO 2 BUCKETS"}, BucketSpec(("x",), 2, 1)),
        ({"bucketing_version": "SPARK", "hive_compatible": "false"}, BucketSpec(("x",), 2, "spark")),
        ({"clustered_by": CLAUSE, "bucketing_version": "2"}, SPEC),
    ]
    for number, (properties, spec) in enumerate(steps):
        if properties:
            assert "code" not in lake.alter(**properties), properties
        assert lake.buckets() == spec
        table = lake.ask("load_table", namespace=["default"], name="t")["table"]
        lake.ask("add_partitions", table=table, partitions=[[str(number)]], properties=[{}])
        expected[(number,)] = spec
    lake.alter({"change": "remove_property", "key": "clustered-by"})
    assert lake.buckets() is None
    assert {part.values: part.arrangement.buckets for part in lake.table().partitions()} == expected
    now = lake.ask("load_table", namespace=["default"], name="t")["table"]
    shown = lake.ask("load_partition", table=now, partitions=[["5"]])["properties"]
    assert (shown["Num Buckets"], shown["Bucket Columns"], shown["bucketing_version"]) == ("2", "[x]", "1")
    assert "Num Buckets" not in lake.ask("load_partition", table=now, partitions=[["0"]])["properties"]


def test_hives_spelling_is_the_same_property(lake: BridgeLake) -> None:
    """Set, shown as ours, removed; removing it gives the default version back, and the buckets stay."""
    made = lake.create(properties={"bucketing_version": "1", "clustered-by": "(x) INTO 4 BUCKETS"})
    assert made["properties"]["bucketing-version"] == "1"
    assert "bucketing_version" not in made["properties"]
    set_ = {"change": "set_property", "key": "bucketing_version", "value": "spark"}
    changed = lake.alter(set_)["properties"]
    assert (changed["bucketing-version"], changed["hive-compatible"]) == ("spark", "false")
    lake.alter({"change": "remove_property", "key": "bucketing_version"})
    assert lake.buckets() == BucketSpec(("x",), 4)
    assert lake.table().metadata.properties == {}
    refused = lake.create("u", properties={"bucketing_version": "1", "bucketing-version": "2"})
    assert refused["message"] == (
        "Table property 'bucketing-version' is '2', and 'bucketing_version', which is the same, '1': give one."
    )
    assert "code" not in lake.create("u", properties={"bucketing_version": "2", "bucketing-version": "2"})


def test_a_version_waits_for_buckets(lake: BridgeLake) -> None:
    """A table without buckets keeps the property, and shows nothing else; NOT CLUSTERED keeps it, too."""
    made = lake.create(properties={"bucketing-version": "1", "hive-compatible": "TRUE"})["properties"]
    assert (made["bucketing-version"], "hive-compatible" in made) == ("1", False)
    lake.alter(clustered_by="(x) INTO 4 BUCKETS")
    assert lake.buckets() == BucketSpec(("x",), 4, 1)
    lake.alter({"change": "remove_property", "key": "clustered-by"})
    assert "code" not in lake.alter({"change": "remove_property", "key": "hive-compatible"})
    lake.alter(clustered_by="(y) INTO 4 BUCKETS")
    assert lake.buckets() == BucketSpec(("y",), 4, 1)


def test_a_table_like_another_has_its_buckets(lake: BridgeLake) -> None:
    """A table made LIKE another one has its buckets.

    The statement's own clauses and properties come first. A version that Hive cannot read is then no
    contradiction.
    """
    source = lake.create(properties={"clustered-by": CLAUSE, "bucketing-version": "1"})["properties"]
    lake.create("u", properties={}, like=source)
    assert lake.buckets("u") == BucketSpec(SPEC.columns, 4, 1, SPEC.sort)
    made = lake.create("v", properties={"bucketing_version": "spark"}, like=source)["properties"]
    assert (made["clustered-by"], made["hive-compatible"]) == (CLAUSE, "false")
    lake.create(
        "w",
        properties={"clustered-by": "(x) INTO 2 BUCKETS"},
        by=[*PARTITIONED_BY_P, BUCKETS],
        like={"bucketing_version": "1"},
    )
    assert lake.buckets("w") == BucketSpec(("x",), 2, 1)
    lake.create(
        "of_spark", properties={}, by=[*PARTITIONED_BY_P, BUCKETS], like={"transient_lastDdlTime": "1"}
    )
    assert lake.buckets("of_spark") == BucketSpec(("x",), 4)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("a column that is none", {"properties": {"clustered-by": "(z) INTO 4 BUCKETS"}}),
    ("a partition column", {"properties": {"clustered-by": "(x, p) INTO 4 BUCKETS"}}),
    ("a column named twice", {"properties": {"clustered-by": "(x, X) INTO 4 BUCKETS"}}),
    ("a column to sort by that is none", {"properties": {"clustered-by": "(x) SORTED BY (`a c`) INTO 4 BUCKETS"}}),
    ("a partition column to sort by", {"properties": {"clustered-by": "(x) SORTED BY (P DESC) INTO 4 BUCKETS"}}),
    ("a column to sort by named twice", {"properties": {"clustered-by": "(x) SORTED BY (x, y, X DESC) INTO 4 BUCKETS"}}),
    ("no column", {"properties": {"clustered-by": "() INTO 4 BUCKETS"}}),
    ("no bucket", {"properties": {"clustered-by": "(x) INTO 0 BUCKETS"}}),
    ("too many buckets", {"properties": {"clustered-by": "(x) INTO 100001 BUCKETS"}}),
    ("fewer than no bucket", {"properties": {"clustered-by": "(x) INTO -4 BUCKETS"}}),
    ("half a bucket", {"properties": {"clustered-by": "(x) INTO 1.5 BUCKETS"}}),
    ("no count", {"properties": {"clustered-by": "(x)"}}),
    ("no parentheses", {"properties": {"clustered-by": "x INTO 4 BUCKETS"}}),
    ("something behind it", {"properties": {"clustered-by": "(x) INTO 4 BUCKETS STORED AS ORC"}}),
    ("NULL where Hive has it not", {"properties": {"clustered-by": "(x) SORTED BY (x DESC NULLS FIRST) INTO 4 BUCKETS"}}),
    ("a variant", {"properties": {"clustered-by": "(v) INTO 4 BUCKETS"}}),
    ("an interval", {"properties": {"clustered-by": "(i) INTO 4 BUCKETS"}}),
    ("a type without values", {"properties": {"clustered-by": "(n) INTO 4 BUCKETS"}}),
    ("a map in Spark's version", {"properties": {"clustered-by": "(m) INTO 4 BUCKETS", "bucketing-version": "spark"}}),
    ("a map to sort by", {"properties": {"clustered-by": "(m) SORTED BY (m) INTO 4 BUCKETS"}}),
    ("a field of a struct", {"properties": {}, "by": [*PARTITIONED_BY_P, transform("bucket", 4, ["s", "a"])]}),
    ("two kinds of buckets", {"properties": {"clustered-by": CLAUSE}, "by": [*PARTITIONED_BY_P, BUCKETS]}),
    ("buckets by members of PARTITIONED BY", {"properties": {}, "by": [BUCKETS, transform("bucket", 2, "y")]}),
    ("no columns for the buckets", {"properties": {}, "by": [transform("bucket", 4)]}),
    ("a count without columns", {"properties": {"clustered-by": "INTO 4 BUCKETS"}}),
    ("an order without columns", {"properties": {"clustered-by": "NOT SORTED"}}),
    ("of a partition", {"properties": {"clustered-by": "PARTITION (p = 1, y = 'it''s') INTO 8 BUCKETS"}}),
    ("a partition without values", {"properties": {"clustered-by": "PARTITION (p) INTO 8 BUCKETS"}}),
    ("an unknown version", {"properties": {"bucketing_version": "3"}}),
    ("Hive, with Spark's buckets", {"properties": {"clustered-by": CLAUSE, "bucketing-version": "spark", "hive-compatible": "true"}}),
    ("not Hive, with Hive's buckets", {"properties": {"clustered-by": CLAUSE, "hive-compatible": "false"}}),
    ("neither with Hive nor without", {"properties": {"hive-compatible": "perhaps"}}),
    ("directories", {"properties": {"clustered-by": CLAUSE, "skewed-by": HEAVY}}),
]  # fmt: skip


def test_what_cannot_be_is_refused_with_these_messages(lake: BridgeLake) -> None:
    """No table is made, and each message says what, and what to do."""
    told = []
    for name, question in CASES:
        failure = lake.create(columns=WIDE, **question)
        assert failure.get("code"), name
        told.append(f"{name}\n  {failure['code']}: {failure['message']}\n")
    check_golden(GOLDENS / "bucketed-ddl" / "refusals.txt", "\n".join(told))
    assert lake.ask("list_tables", namespace=["default"]) == {"names": []}
    assert not (lake.folder / "t").exists()


@pytest.mark.parametrize("column", ["x", "y", "m", "s", "`a b`"])
def test_other_types_can_be_hashed(lake: BridgeLake, column: str) -> None:
    """A map in Hive's versions, a struct, a varchar and a name with a blank can be bucket columns.

    DESCRIBE shows the name without quotes.
    """
    made = lake.create(columns=WIDE, properties={"clustered-by": f"({column}) INTO 3 BUCKETS"})
    assert made["properties"]["clustered-by"] == f"({column}) INTO 3 BUCKETS"
    assert made["details"][1] == ["Bucket Columns", f"[{column.strip('`')}]"]


def test_a_failing_alter_changes_nothing(lake: BridgeLake) -> None:
    """A failing ALTER changes neither columns nor properties.

    The rules of list bucketing hold for a bucketed table, and stay relaxed while the table needs that.
    """
    lake.create(properties={"clustered-by": CLAUSE, "bucketing-version": "1"}, columns=WIDE)
    before = lake.table().metadata
    for properties, code in (
        ({"mine": "1", "clustered_by": "(z) INTO 4 BUCKETS"}, "BUCKET"),
        ({"mine": "1", "clustered_by": "(m) INTO 4 BUCKETS", "bucketing_version": "spark"}, "BUCKET"),
        ({"mine": "1", "hive_compatible": "false"}, "PROPERTY"),
        ({"mine": "1", "bucketing_version": "4"}, "PROPERTY"),
        ({"mine": "1", "clustered_by": "PARTITION (p = 1) NOT CLUSTERED"}, "BUCKET"),
        ({"mine": "1", "skewed_by": HEAVY}, "LIST_BUCKETING"),
    ):
        assert lake.alter(**properties)["code"] == code, properties
    assert lake.alter({"change": "remove_property", "key": "hive-compatible"})["code"] == "PROPERTY"
    assert lake.table().metadata == before
    assert "code" not in lake.alter(skewed_by=HEAVY, list_bucketing_rules="relaxed")
    assert "rule buckets" in lake.alter(list_bucketing_rules="strict")["message"]
    lake.alter({"change": "remove_property", "key": "clustered-by"})
    assert "code" not in lake.alter(list_bucketing_rules="strict")
    assert "rule buckets" in lake.alter(clustered_by=CLAUSE)["message"]
    lake.alter(clustered_by="(m) INTO 4 BUCKETS", list_bucketing_rules="relaxed")
    assert "Spark makes no buckets by maps" in lake.alter(bucketing_version="spark")["message"]


def test_a_column_of_buckets_keeps_its_type(lake: BridgeLake) -> None:
    """A bucket column or sort column keeps its type while the table or any partition has such buckets.

    It can be renamed, and the clause then has the new name.
    """
    lake.create(properties={"clustered-by": "(x) SORTED BY (y DESC) INTO 4 BUCKETS"})
    retype = {"change": "update_type", "column": ["X"], "type": "long", "metadata": {}}
    sorted_by = {**retype, "column": ["y"]}
    drop = {"change": "drop_column", "column": ["y"], "if_exists": False}
    assert lake.alter(retype)["code"] == "BUCKET"
    assert "Column x is a bucket column of table default.t" in lake.alter(retype)["message"]
    assert "Column y is a column that buckets are sorted by" in lake.alter(sorted_by)["message"]
    assert (
        "Column y cannot be dropped, as rows of table default.t are arranged by it"
        in lake.alter(drop)["message"]
    )
    renamed = lake.alter({"change": "rename_column", "column": ["x"], "to": "a b"})
    assert renamed["properties"]["clustered-by"] == "(`a b`) SORTED BY (y DESC) INTO 4 BUCKETS"
    assert renamed["details"][1] == ["Bucket Columns", "[a b]"]
    lake.ask("add_partitions", table=renamed["table"], partitions=[["1"]], properties=[{}])
    lake.alter({"change": "remove_property", "key": "clustered-by"})
    retype["column"] = ["a b"]
    refused = lake.alter(retype)["message"]
    assert "INSERT OVERWRITE; p=1 is one" in refused
    table = lake.ask("load_table", namespace=["default"], name="t")["table"]
    lake.ask("drop_partitions", table=table, partitions=[["1"]], purge=False)
    assert "code" not in lake.alter(retype)


def test_the_inside_of_a_bucket_column_stays_as_it_is(lake: BridgeLake) -> None:
    """A field more, or in another place, would hash otherwise; a field's name does not count."""
    lake.create(columns=WIDE, properties={"clustered-by": "(s) INTO 4 BUCKETS"})
    add = {"change": "add_column", "column": ["s", "b"], "type": "integer", "nullable": True, "metadata": {}, "comment": None, "position": None}  # fmt: skip
    assert lake.alter(add)["code"] == "BUCKET"
    assert lake.alter({"change": "update_position", "column": ["s", "a"], "position": ""})["code"] == "BUCKET"
    widen = {"change": "update_type", "column": ["s", "a"], "type": "long", "metadata": {}}
    assert lake.alter(widen)["code"] == "BUCKET"
    assert "code" not in lake.alter({"change": "rename_column", "column": ["s", "a"], "to": "b"})
    assert "code" not in lake.alter({**add, "column": ["c"]})


def test_python_says_which_buckets(lake: BridgeLake) -> None:
    """`set_buckets` takes what a table shows, and no columns remove the buckets.

    Its errors are the errors of the statements.
    """
    lake.create(properties={}, columns=WIDE)
    with parquetry.open(lake.folder) as catalog:
        table = catalog.set_buckets("t", ["Y", "a b"], 4, sorted_by=["x DESC", "`a b`"], version=1)
        assert table.arrangement is not None
        shown = table.arrangement.buckets
        assert shown is not None
        assert (shown.columns, shown.count, shown.version, shown.sorted_by) == (
            ("y", "a b"),
            4,
            1,
            ("x DESC", "`a b`"),
        )
        again = catalog.set_buckets(
            "t", shown.columns, shown.count, sorted_by=shown.sorted_by, version=shown.version
        )  # type: ignore[arg-type]
        assert again.arrangement == table.arrangement
        catalog.set_buckets("t", ["x"], 8)
        assert lake.buckets() == BucketSpec(("x",), 8, 1)  # the version stays
        with pytest.raises(BucketError, match="names p, which is none of the columns in the files"):
            catalog.set_buckets("t", ["p"], 4)
        with pytest.raises(BucketError, match="number of buckets is not given"):
            catalog.set_buckets("t", ["x"])
        with pytest.raises(BucketError, match="cannot be sorted by"):
            catalog.set_buckets("t", ["x"], 4, sorted_by=["x UPWARDS"])
        with pytest.raises(PropertyError, match="'bucketing-version' is '3'"):
            catalog.set_buckets("t", ["x"], 4, version=3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="give a list of names"):
            catalog.set_buckets("t", "x", 4)
        assert catalog.set_buckets("t", []).arrangement is None
        lake.alter(skewed_by=HEAVY)
        with pytest.raises(ListBucketingError, match="rule buckets"):
            catalog.set_buckets("t", ["x"], 4)
