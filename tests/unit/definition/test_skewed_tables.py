"""The properties about skewed values of a table: made, altered, shown and refused.

Existing partitions keep their skewed values.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import parquetry
from parquetry.cli.main import main
from parquetry.definition import require_rules
from parquetry.errors import InvalidSkewedColumnError, ListBucketingError, SkewedValueError, SkewError
from parquetry.layout.cells import AutoSkew
from parquetry.layout.skew_map import SkewMap
from parquetry.metastore import open_metastore
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.warehouse import VARIABLE
from tests.support.goldens import GOLDENS, check_golden
from tests.support.spark.asked_lake import BUCKETS, PARTITIONED_BY_P, BridgeLake

HEAVY = "(x) ON (1, NULL) STORED AS DIRECTORIES"
RELAXED = {"list-bucketing-rules": "relaxed"}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BridgeLake]:
    """An empty catalog."""
    folder = tmp_path / "lake"
    with open_metastore(str(folder), create=True) as metastore:
        yield BridgeLake(folder, metastore)


def test_the_property_becomes_the_record_and_is_shown_from_it(lake: BridgeLake) -> None:
    """The property becomes the table's record, and is no longer a property.

    The answer shows it again, with the clause and the details for DESCRIBE.
    """
    made = lake.create(properties={"skewed-by": "( X ) on ('1', null) stored as directories", "mine": "1"})
    assert lake.skew() == SkewMap(("x",), ((1,), (None,)), directories=True)
    assert lake.table().metadata.properties == {"mine": "1"}
    assert made["properties"]["skewed-by"] == HEAVY
    assert made["clauses"] == {"skewed-by": f"SKEWED BY {HEAVY}"}
    assert made["details"] == [
        ["Stored As SubDirectories", "Yes"], ["Skewed Columns", "[x]"], ["Skewed Values", "[[1], [NULL]]"],
    ]  # fmt: skip
    plain = lake.create("plain", properties={})
    assert (plain["clauses"], plain["details"]) == ({}, [])


def test_alter_is_for_partitions_made_from_then_on(lake: BridgeLake) -> None:
    """A history of what was heavy: each partition has what the table said when it was made."""
    lake.create(properties={})
    expected: dict[tuple[int], SkewMap | None] = {}
    steps: list[tuple[dict[str, Any], SkewMap | None]] = [
        ({}, None),
        ({"skewed_by": HEAVY}, SkewMap(("x",), ((1,), (None,)), True)),
        ({"skewed_by": "(x, y) ON ((1, 'a'))"}, SkewMap(("x", "y"), ((1, "a"),))),
        ({"skewed_by": "(y) ON AUTO STORED AS DIRECTORIES"}, SkewMap(("y",), (), True, auto=AutoSkew(0.05, 16))),
        ({"auto_skew_share": "0.5", "auto_skew_values": "3"}, SkewMap(("y",), (), True, auto=AutoSkew(0.5, 3))),
        ({"skewed_by": "not stored as directories"}, SkewMap(("y",), (), auto=AutoSkew(0.5, 3))),
        ({"skewed_by": HEAVY}, SkewMap(("x",), ((1,), (None,)), True)),
        ({"skewed_locations": "(null = 'file:/far')"}, SkewMap(("x",), ((1,), (None,)), True, (None, "file:/far"))),
        ({"skewed_by": "NOT STORED AS DIRECTORIES"}, SkewMap(("x",), ((1,), (None,)))),
    ]  # fmt: skip
    for number, (properties, skew) in enumerate(steps):
        if properties:
            assert "code" not in lake.alter(**properties), properties
        assert lake.skew() == skew
        table = lake.ask("load_table", namespace=["default"], name="t")["table"]
        lake.ask("add_partitions", table=table, partitions=[[str(number)]], properties=[{}])
        expected[(number,)] = skew
    lake.alter({"change": "remove_property", "key": "skewed-by"})
    assert lake.skew() is None
    assert {part.values: part.arrangement.skew for part in lake.table().partitions()} == expected


def test_a_partitions_directories_are_given_places(lake: BridgeLake) -> None:
    """Only that partition's record changes, its files stay; the table's own places can be taken back."""
    lake.create(properties={"skewed-by": HEAVY, "skewed-locations": "(1 = 'file:/one')"})
    assert lake.ask("load_table", namespace=["default"], name="t")["properties"]["skewed-locations"] == "(1 = 'file:/one')"  # fmt: skip
    table = lake.ask("load_table", namespace=["default"], name="t")["table"]
    lake.ask("add_partitions", table=table, partitions=[["1"], ["2"]], properties=[{}, {}])
    before = lake.table()
    assert "code" not in lake.alter(skewed_locations="PARTITION (P = '2') (NULL = 'file:/null')")
    found = {part.values: part.arrangement.skew for part in lake.table().partitions()}
    one = SkewMap(("x",), ((1,), (None,)), True, ("file:/one", None))
    assert found == {
        (1,): one,
        (2,): SkewMap(("x",), ((1,), (None,)), True, ("file:/one", "file:/null")),
    }
    assert lake.table().metadata == before.metadata
    shown = lake.ask("load_partition", table=table | {"version": 3}, partitions=[["2"]])
    assert "code" in shown or shown["properties"]["Skewed Value to Truncated Path"]
    now = lake.ask("load_table", namespace=["default"], name="t")["table"]
    shown = lake.ask("load_partition", table=now, partitions=[["2"]])["properties"]
    assert shown["Skewed Value to Truncated Path"] == "{[1]=file:/one, [NULL]=file:/null}"
    lake.alter({"change": "remove_property", "key": "skewed-locations"})
    assert lake.skew() == SkewMap(("x",), ((1,), (None,)), True)
    assert {part.values: part.arrangement.skew for part in lake.table().partitions()} == found


def test_a_table_like_another_has_its_heavy_values(lake: BridgeLake) -> None:
    """A table made LIKE another one has its format, comment, properties and skewed values.

    The locations are its own.
    """
    source = lake.create(
        properties={
            "skewed-by": HEAVY, "skewed-locations": "(1 = 'file:/one')", "provider": "orc", "comment": "heavy",
            "sort-by": "y", "location": str(lake.folder / "far"), **RELAXED,
        }
    )["properties"]  # fmt: skip
    made = lake.create("u", properties={"mine": "1"}, like=source)["properties"]
    assert {key: value for key, value in made.items() if key not in ("location", "owner")} == {
        "skewed-by": HEAVY, "provider": "orc", "comment": "heavy", "sort-by": "y", "mine": "1",
        "is_managed_location": "true", **RELAXED,
    }  # fmt: skip
    made = lake.create("v", properties={"provider": "parquet", "comment": "own"}, like=source)["properties"]
    assert (made["provider"], made["comment"], made["skewed-by"]) == ("parquet", "own", HEAVY)


def test_a_column_that_is_skewed_stays_as_it_is(lake: BridgeLake) -> None:
    """A skewed column can be renamed only if rules are relaxed, and the record follows.

    Its type never changes.
    """
    lake.create(properties={"skewed-by": "(x) ON (1)"})
    rename = {"change": "rename_column", "column": ["X"], "to": "weight"}
    assert lake.alter(rename)["code"] == "SKEW"
    assert "code" not in lake.alter({**rename, "column": ["y"]})  # not skewed
    lake.alter(list_bucketing_rules="relaxed")
    assert lake.alter({**rename, "to": "heavy"})["properties"]["skewed-by"] == "(heavy) ON (1)"
    assert lake.skew() == SkewMap(("x",), ((1,),))
    retype = {"change": "update_type", "column": ["heavy"], "type": "long", "metadata": {}}
    assert lake.alter(retype)["message"].startswith("[Error 10207]: heavy is a skewed column. ")
    lake.alter({"change": "remove_property", "key": "skewed-by"})
    assert "code" not in lake.alter(retype)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("columns that are none", {"properties": {"skewed-by": "(z, z) ON ()"}}),
    ("a partition column", {"properties": {"skewed-by": "(p) ON (1)"}}),
    ("a column named twice", {"properties": {"skewed-by": "(x, X) ON ()"}}),
    ("no column", {"properties": {"skewed-by": "() ON (1)"}}),
    ("no value", {"properties": {"skewed-by": "(x) ON ()"}}),
    ("no constant", {"properties": {"skewed-by": "(x) ON (upper('a'))"}}),
    ("another width", {"properties": {"skewed-by": "(x) ON ((1), (5, 8), (6))"}}),
    ("a value of another type", {"properties": {"skewed-by": "(x) ON ('one')"}}),
    ("a value twice", {"properties": {"skewed-by": "(x) ON (1, '1')"}}),
    ("no clause", {"properties": {"skewed-by": "x ON (1)"}}),
    ("only without directories", {"properties": {"skewed-by": "NOT STORED AS DIRECTORIES"}}),
    ("locations without heavy values", {"properties": {"skewed-locations": "(1 = 'file:/x')"}}),
    ("a location of a partition", {"properties": {"skewed-by": HEAVY, "skewed-locations": "PARTITION (p = 1) (1 = 'file:/x')"}}),
    ("no location", {"properties": {"skewed-by": HEAVY, "skewed-locations": "()"}}),
    ("a location without a value", {"properties": {"skewed-by": HEAVY, "skewed-locations": "('file:/x')"}}),
    ("a path", {"properties": {"skewed-by": HEAVY, "skewed-locations": "(1 = '/x')"}}),
    ("a location of no value", {"properties": {"skewed-by": HEAVY, "skewed-locations": "(2 = 'file:/x')"}}),
    ("too large a share", {"properties": {"skewed-by": "(x) ON AUTO", "auto-skew-share": "5"}}),
    ("too many values", {"properties": {"skewed-by": "(x) ON AUTO", "auto-skew-values": "1001"}}),
    ("unknown rules", {"properties": {"list-bucketing-rules": "lax"}}),
    ("buckets", {"properties": {"skewed-by": HEAVY}, "by": [*PARTITIONED_BY_P, BUCKETS]}),
    ("files that cannot be merged", {"properties": {"skewed-by": HEAVY, "hive.stored-as": "TEXTFILE", **RELAXED}}),
    ("an external table", {"properties": {"skewed-by": HEAVY, "location": "/nowhere"}}),
    ("a table from a query", {"properties": {"skewed-by": HEAVY}, "op": "stage_table", "mode": "create"}),
]  # fmt: skip


def test_what_cannot_be_is_refused_with_these_messages(lake: BridgeLake) -> None:
    """No table is made, and each message says what, and what to do."""
    told = []
    for name, question in CASES:
        failure = lake.create(**question)
        assert failure.get("code"), name
        told.append(f"{name}\n  {failure['code']}: {failure['message']}\n")
    check_golden(GOLDENS / "skewed-ddl" / "refusals.txt", "\n".join(told))
    assert lake.ask("list_tables", namespace=["default"]) == {"names": []}
    assert not (lake.folder / "t").exists()


def test_rules_hold_for_alter_and_for_partitions(lake: BridgeLake) -> None:
    """A failing ALTER changes nothing; what was relaxed cannot become strict while it breaks a rule."""
    place = str(lake.folder / "far")
    lake.create(properties={"location": place})
    assert "rule external" in lake.alter(skewed_by=HEAVY)["message"]
    assert lake.skew() is None
    assert "code" not in lake.alter(skewed_by=HEAVY, list_bucketing_rules="relaxed")
    assert "rule external" in lake.alter(list_bucketing_rules="strict")["message"]
    removed = lake.alter({"change": "remove_property", "key": "list-bucketing-rules"})
    assert "rule external" in removed["message"]
    assert lake.alter({"change": "set_property", "key": "comment", "value": "still"})["properties"]["comment"] == "still"  # fmt: skip
    assert lake.alter(skewed_by="(x) ON (1)")["properties"]["skewed-by"] == "(x) ON (1)"
    assert "code" not in lake.alter(list_bucketing_rules="strict")
    assert lake.alter(skewed_locations="(1 = 'file:/x')")["code"] == "SKEW"
    lake.create("s", properties={"skewed-by": HEAVY})
    taken = lake.table("s").metadata.location
    assert lake.alter(skewed_by="(x) ON (1) STORED AS DIRECTORIES", skewed_locations=f"(1 = '{taken}/x')",
                      list_bucketing_rules="relaxed")["code"] == "LOCATION_TAKEN"  # fmt: skip
    refused = lake.alter(name="s", skewed_locations="PARTITION (p = 1) (1 = 'file:/x')")
    assert refused["code"] == "PARTITION_NOT_FOUND"
    refused = lake.alter(name="s", skewed_locations="PARTITION (x = 1) (1 = 'file:/x')")
    assert "give a value for each of p" in refused["message"]


def test_measured_values_have_directories_and_no_rules_of_hives(lake: BridgeLake, tmp_path: Path) -> None:
    """ON AUTO may be in any table that Parquetry can write, unless its property says strict; named values
    keep Hive's rules.
    """
    auto = {"skewed-by": "(x) ON AUTO"}
    full = SkewMap(("x",), (), True, auto=AutoSkew(0.05, 16))
    for name, question in (
        ("plain", {"properties": auto}),
        ("unpartitioned", {"properties": auto, "by": []}),
        ("bucketed", {"properties": auto, "by": [*PARTITIONED_BY_P, BUCKETS]}),
        ("external", {"properties": {**auto, "location": str(tmp_path / "far")}}),
        ("queried", {"properties": auto, "op": "stage_table", "mode": "create"}),
    ):
        made = lake.create(name, **question)
        assert made["properties"]["skewed-by"] == "(x) ON AUTO STORED AS DIRECTORIES", name
        assert lake.ask("load_table", namespace=["default"], name=name).get("code") == ("TABLE_NOT_FOUND" if name == "queried" else None)  # fmt: skip
    for name in ("plain", "unpartitioned", "bucketed", "external"):
        table = lake.table(name)
        assert table.metadata.arrangement.skew == full
        for occasion in ("define", "create as", "append", "overwrite", "concatenate", "name partition"):
            require_rules(name, table.metadata, occasion)
    strict = {**auto, "list-bucketing-rules": "strict"}
    refused = lake.create("strict", properties=strict, op="stage_table", mode="create")
    assert "rule create-as" in refused["message"]
    lake.create("strict", properties=strict)
    with pytest.raises(ListBucketingError, match="rule insert-into"):
        require_rules("strict", lake.table("strict").metadata, "append")
    with pytest.raises(SkewError, match="rule load-data"):
        require_rules("plain", lake.table("plain").metadata, "load")
    assert "rule external" in lake.alter(name="external", skewed_by=HEAVY)["message"]
    assert "rule external" in lake.alter(name="external", list_bucketing_rules="strict")["message"]
    assert "code" not in lake.alter(name="plain", skewed_by=HEAVY)
    with pytest.raises(ListBucketingError, match="rule insert-into"):
        require_rules("plain", lake.table("plain").metadata, "append")
    assert "code" not in lake.alter(name="plain", skewed_by="(x) ON AUTO")
    rename = {"change": "rename_column", "column": ["x"], "to": "weight"}
    assert "(weight) ON AUTO" in lake.alter(rename, name="plain")["properties"]["skewed-by"]


def test_tables_whose_auto_meant_no_directories_stay_so(lake: BridgeLake, tmp_path: Path) -> None:
    """An earlier Parquetry made them: they are shown with words that make the same again, also from a
    dump.
    """
    lake.create(properties={"skewed-by": "(x) ON AUTO NOT STORED AS DIRECTORIES"})
    lake.create("new", properties={"skewed-by": "(x) ON AUTO"})
    lake.alter(auto_skew_share="0.5")
    old = SkewMap(("x",), (), auto=AutoSkew(0.5, 16))
    assert lake.skew() == old
    shown = lake.ask("load_table", namespace=["default"], name="t")
    assert shown["clauses"] == {"skewed-by": "SKEWED BY (x) ON AUTO NOT STORED AS DIRECTORIES"}
    lake.create("like", properties={}, like=shown["properties"])
    with open_metastore(str(lake.folder)) as metastore:
        dump(metastore, tmp_path / "dump")
    with open_metastore(str(tmp_path / "restored"), create=True) as metastore:
        restore(metastore, tmp_path / "dump")
        found = {name: metastore.table("default", name).metadata.arrangement.skew for name in ("t", "like", "new")}  # fmt: skip
    assert found == {"t": old, "like": old, "new": SkewMap(("x",), (), True, auto=AutoSkew(0.05, 16))}


def test_load_data_has_hives_code(lake: BridgeLake) -> None:
    """LOAD DATA is refused with Hive's code if skewed values have directories.

    For other tables the refusal is our own.
    """
    for name, properties in (("t", {"skewed-by": HEAVY}), ("u", {"skewed-by": "(x) ON (1)"})):
        table = lake.create(name, properties=properties)["table"]
        refused = lake.ask("refuse_load", table=table)
        hive = "[Error 10195]: A stored-as-directories table cannot be used as target for LOAD"
        assert refused["message"].startswith(hive if name == "t" else "LOAD DATA INTO lake.default.u is not")
    assert "INSERT INTO lake.default.u" in refused["message"]
    assert "OVERWRITE" not in refused["message"]


def test_partitions_are_not_called_what_the_default_directory_is(lake: BridgeLake) -> None:
    """Adding and renaming are refused; without directories, and relaxed, they are not."""
    name = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
    by = [{**PARTITIONED_BY_P[0], "columns": [["y"]], "arguments": [{"col": ["y"]}], "text": "y"}]
    for table, properties, refused in (
        ("strict", {"skewed-by": HEAVY}, True),
        ("relaxed", {"skewed-by": HEAVY, **RELAXED}, False),
        ("plain", {}, False),
    ):
        ref = lake.create(table, by=by, properties=properties)["table"]
        answer = lake.ask("add_partitions", table=ref, partitions=[[name]], properties=[{}])
        assert ("rule default-directory" in str(answer)) == refused
        lake.ask("add_partitions", table=ref, partitions=[["a"]], properties=[{}])
        answer = lake.ask("rename_partition", table=ref, partitions=[["a"], [f"{name}"]])
        assert ("rule default-directory" in str(answer)) == refused


def test_python_says_what_is_heavy(
    lake: BridgeLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`set_skew` takes Python values, and no columns remove the skew.

    Its errors are the errors of the statements.
    """
    lake.create(properties={})
    with parquetry.open(lake.folder) as catalog:
        shown = catalog.set_skew("t", ["x", "Y"], [(1, "it's"), [None, "b"]]).arrangement
        assert shown is not None
        assert shown.skew is not None
        assert (shown.skew.columns, shown.skew.directories) == (("x", "y"), True)
        assert lake.skew() == SkewMap(("x", "y"), ((1, "it's"), (None, "b")), directories=True)
        catalog.set_skew("t", ["y"], ["auto"], directories=False)
        assert lake.skew() == SkewMap(("y",), (("auto",),))
        shown = catalog.set_skew("t", ["y"], "auto").arrangement
        assert shown is not None
        assert shown.skew is not None
        assert (shown.skew.values, shown.skew.auto) == ((), (0.05, 16))
        monkeypatch.setenv(VARIABLE, str(lake.folder))
        with pytest.raises(SystemExit):
            main(["describe", "t"])
        assert "y (heavy values found in each partition, in directories)" in " ".join(
            capsys.readouterr().out.split()
        )
        assert lake.skew() == SkewMap(("y",), (), True, auto=AutoSkew(0.05, 16))
        with pytest.raises(InvalidSkewedColumnError, match="Invalid skewed column name: p"):
            catalog.set_skew("t", ["p"], [1])
        with pytest.raises(SkewedValueError, match="can be no skewed value"):
            catalog.set_skew("t", ["x"], [{}])
        catalog.set_skew("t", [], [])
        assert lake.skew() is None
        lake.create("far", properties={"location": str(lake.folder / "far")})
        with pytest.raises(ListBucketingError, match="rule external"):
            catalog.set_skew("far", ["x"], [1])
