"""CLUSTER BY becomes the property `sort-by`: what is refused, and which tables show the clause."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parquetry.metastore import open_metastore
from tests.support.spark.asked_lake import BUCKETS, PARTITIONED_BY_P, BridgeLake

STRUCT = {
    "type": "struct",
    "fields": [
        {"name": "In Ner", "type": "integer", "nullable": True, "metadata": {}},
        {
            "name": "m",
            "type": {
                "type": "map",
                "keyType": "string",
                "valueType": "string",
                "valueContainsNull": True,
            },
            "nullable": True,
            "metadata": {},
        },
    ],
}
COLUMNS = {"x": "integer", "Y": "string", "s": STRUCT, "p": "integer", "a.b": "integer", "i": "interval"}


def by(*paths: list[str]) -> list[dict[str, Any]]:
    """CLUSTER BY as Spark tells it of a new table."""
    arguments = [{"col": path} for path in paths]
    return [{"name": "cluster_by", "columns": list(paths), "arguments": arguments, "text": "cluster_by(…)"}]


def cluster_by(*paths: list[str]) -> dict[str, Any]:
    """The same of ALTER TABLE; without paths, CLUSTER BY NONE."""
    return {"change": "cluster_by", "columns": list(paths)}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BridgeLake]:
    """A catalog without tables."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        yield BridgeLake(tmp_path, metastore)


def test_the_clause_is_the_property(lake: BridgeLake) -> None:
    """CLUSTER BY takes columns and fields of structs, in any letter case.

    The property and the clause show them as the table spells them.
    """
    made = lake.create(by=by(["y"], ["S", "in ner"], ["a.b"]), columns=COLUMNS, properties={})
    assert made["properties"]["sort-by"] == "y, S.`in ner`, `a.b`"
    assert made["clustered_by"] == [["Y"], ["s", "In Ner"], ["a.b"]]
    assert made["clauses"] == {"sort-by": "CLUSTER BY (Y, s.`In Ner`, `a.b`)"}
    again = lake.create(
        "again", by=[], columns=COLUMNS, properties={"sort-by": made["properties"]["sort-by"]}
    )
    assert again["clustered_by"] == made["clustered_by"]
    other = lake.alter(cluster_by(["x"]))
    assert (other["properties"]["sort-by"], other["clustered_by"]) == ("x", [["x"]])
    none = lake.alter(cluster_by())
    assert "sort-by" not in none["properties"]
    assert none["clustered_by"] == []
    assert lake.alter(cluster_by())["table"]["version"] == none["table"]["version"]


def test_a_name_with_a_dot_may_go_without_backticks(lake: BridgeLake) -> None:
    """As when fields could not be named: it leads to a column, unless there is a struct of that name."""
    made = lake.create(by=[], columns=COLUMNS, properties={"sort-by": "a.b"})
    assert made["clustered_by"] == [["a.b"]]


def test_names_follow_their_columns(lake: BridgeLake) -> None:
    """A column or field that is renamed gets its new name in the property.

    A column or field that the property names cannot be dropped.
    """
    lake.create(by=by(["s", "In Ner"], ["x"]), columns=COLUMNS, properties={})
    renamed = lake.alter(
        {"change": "rename_column", "column": ["s", "in ner"], "to": "inner"},
        {"change": "rename_column", "column": ["s"], "to": "t.u"},
        {"change": "rename_column", "column": ["x"], "to": "z"},
    )
    assert renamed["clustered_by"] == [["t.u", "inner"], ["z"]]
    assert renamed["properties"]["sort-by"] == "`t.u`.inner, z"
    drop = {"change": "drop_column", "if_exists": False}
    for path in (["t.u"], ["t.u", "inner"], ["Z"]):
        refused = lake.alter({**drop, "column": path})
        assert "as the property 'sort-by' of table default.t names it" in refused["message"]
    assert "code" not in lake.alter({**drop, "column": ["t.u", "m"]})


@pytest.mark.parametrize(
    ("by_", "properties"),
    [(PARTITIONED_BY_P, {}), ([BUCKETS], {}), ([], {"clustered-by": "(x) into 2 buckets"})],
    ids=["partitions", "buckets", "buckets of the property"],
)
def test_tables_that_the_clause_does_not_make(
    lake: BridgeLake, by_: list[dict[str, Any]], properties: dict[str, str]
) -> None:
    """A table with partitions or buckets shows the property, and no CLUSTER BY.

    Spark does not allow CLUSTER BY with PARTITIONED BY or CLUSTERED BY, but ALTER TABLE may set it.
    """
    made = lake.create(by=by_, columns=COLUMNS, properties={**properties, "sort-by": "Y"})
    assert made["clustered_by"] == []
    assert "sort-by" not in made.get("clauses", {})
    altered = lake.alter(cluster_by(["x"]))
    assert altered["properties"]["sort-by"] == "x"
    assert altered["clustered_by"] == []


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (["nope"], "CLUSTER BY of table default.t: Column 'nope' is not in the table; its columns are: x, Y, s"),
        (["s", "nope"], "CLUSTER BY of table default.t: Column s has no field 'nope'; its fields are: In Ner, m."),
        (["x", "nope"], "CLUSTER BY of table default.t: Column x has no field 'nope'; it is no struct."),
        (["s", "m"], "CLUSTER BY of table default.t: field s.m is a map, and maps have no order."),
        (["s"], "CLUSTER BY of table default.t: column s is of type struct<In Ner:int,m:map<string,string>>, whose"),
        (["i"], "CLUSTER BY of table default.t: column i is of type interval, whose values have no order."),
    ],
)  # fmt: skip
def test_what_rows_cannot_be_sorted_by(lake: BridgeLake, path: list[str], says: str) -> None:
    """The error names the table and the path, whether the table is new or not.

    No table is made, and no property changes.
    """
    refused = lake.create(by=by(["x"], path), columns=COLUMNS, properties={})
    assert refused["message"].startswith(says)
    lake.create(by=by(["x"]), columns=COLUMNS, properties={})
    assert lake.alter(cluster_by(path))["message"].startswith(says)
    assert lake.table().metadata.properties == {"sort-by": "x"}


def test_the_clause_and_the_property_are_one(lake: BridgeLake) -> None:
    """Both at once would leave open which holds."""
    refused = lake.create(by=by(["x"]), columns=COLUMNS, properties={"sort-by": "Y"})
    assert (
        "CLUSTER BY and the property 'sort-by', which is 'Y', say the same: give one." in refused["message"]
    )


def test_a_table_like_another(lake: BridgeLake) -> None:
    """It is sorted as that one, of ours or of Spark's; what the statement says holds in its place."""
    ours = {"sort-by": "x", "provider": "parquet"}
    sparks = {"clusteringColumns": '[["x"]]', "provider": "parquet"}
    for number, (like, properties, then) in enumerate(
        [(ours, {}, "x"), (sparks, {}, "x"), (ours, {"sort-by": "Y"}, "Y"), (sparks, {"sort-by": "Y"}, "Y")]
    ):
        made = lake.create(f"t{number}", by=by(["x"]), columns=COLUMNS, properties=properties, like=like)
        assert made["properties"]["sort-by"] == then
        assert "clusteringColumns" not in made["properties"]


def test_buckets_are_told_as_they_are(lake: BridgeLake) -> None:
    """The answer has the columns, number and sort order of buckets.

    A sort order with a descending column is left out.
    """
    clauses = {
        "(y, x) into 3 buckets": {"columns": ["Y", "x"], "count": 3, "sorted_by": []},
        "(x) sorted by (y, x) into 3 buckets": {"columns": ["x"], "count": 3, "sorted_by": ["Y", "x"]},
        "(x) sorted by (y, x desc) into 3 buckets": {"columns": ["x"], "count": 3, "sorted_by": []},
    }
    for number, (clause, told) in enumerate(clauses.items()):
        made = lake.create(f"t{number}", columns=COLUMNS, properties={"clustered-by": clause})
        assert made["bucketing"] == told
    like = lake.create(
        "like",
        by=[*PARTITIONED_BY_P, BUCKETS],
        columns=COLUMNS,
        properties={},
        like={"clustered-by": "(x) into 4 buckets", "provider": "parquet"},
    )
    assert like["bucketing"] == {"columns": ["x"], "count": 4, "sorted_by": []}
