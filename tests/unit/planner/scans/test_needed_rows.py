"""The answer for a scan below a LIMIT: the bounds of its files, and what readers may skip."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parquetry.metastore import FileRecord, TableColumn, TableMetadata, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec
from tests.support.tables.statistics import exact

COLUMNS = (
    TableColumn("v", "long"),
    TableColumn("s", "string"),
    TableColumn("t", "timestamp"),
    TableColumn("f", "double"),
    TableColumn("n", "integer"),
)
Ask = Callable[..., Any]


@pytest.fixture(params=["parquet", "orc"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Ask]:
    """A table of three files, with NULL in the last column, and a function that plans its scan."""
    metastore = open_metastore(str(tmp_path), create=True)
    metastore.create_database("db")
    properties = {"parquet.block.size": "64", "orc.stripe.size": "64"}
    metadata = TableMetadata(COLUMNS, (), request.param, f"{tmp_path}/t", properties=properties)
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for low in (0, 500, 1000):
        high = low + 999
        columns = {
            "v": exact(9, 0, low, high),
            "s": exact(9, 0, f"{low:04}", f"{high:04}"),
            "t": exact(9, 0, low * 10**12, high * 10**12),
            "f": exact(9, 0, float(low), float(high)),
            "n": exact(9, 5, low, high),
        }
        transaction.append((), [FileRecord(f"{low}", 100, 1000, 7, columns)])
    commit(transaction)
    metastore.close()
    planner = Planner(NoEngine("UTC"))

    def ask(op: str, **question: Any) -> Any:
        head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(tmp_path)}}
        answer = json.loads(planner.ask(json.dumps({**head, "op": op, **question})))
        return answer["ok"]

    about = {"table": ask("load_table", namespace=["db"], name="t")["table"], "predicates": [], "runtime": []}

    def plan(column: str | None, **key: Any) -> Any:
        first = {"count": 5, "ties": True, "key": {"column": column, "text": column, **key}}
        return ask("plan_scan", **about, columns=[column or "v"], first=first)

    return request.param, plan


@pytest.mark.parametrize(
    ("column", "key", "ends"),
    [
        ("v", {"descending": True}, ["1000", None]),
        ("v", {}, [None, "999"]),
        ("s", {"descending": True}, ["1000", None]),
        ("t", {}, [None, "999000000000000"]),
        ("n", {"nulls_first": False}, [None, "999"]),
        ("n", {"nulls_first": True}, None),
        ("f", {}, None),
        ("f", {"descending": True}, None),
    ],
)
def test_readers_get_the_range_of_the_first_rows(
    table: tuple[str, Ask], column: str, key: dict[str, Any], ends: list[str | None] | None
) -> None:
    """The range has one end; there is none for floats, where NULL is first, and for timestamps in ORC."""
    file_format, plan = table
    answer = plan(column, **key)
    expected = [] if ends is None or (column, file_format) == ("t", "orc") else [ends]
    assert [each for ranges in answer["row_groups"] for each in ranges["ends"]] == expected


def test_the_order_of_an_expression_has_bounds_of_its_type(table: tuple[str, Ask]) -> None:
    """The bridge compares rows with bounds of the key's values, and reads files without bounds first."""
    _, plan = table
    tree = {
        "fn": "CAST",
        "class": "CAST",
        "type": "double",
        "args": [{"fn": "UNARYMINUS", "class": "UNARYMINUS", "type": "bigint", "args": [{"col": ["v"]}]}],
    }
    order = plan("v", descending=False)["order"]
    assert order["bounds"] == [["0"], ["500"]]
    order = plan(None, text="double(-v)", tree=tree)["order"]
    assert order["bounds"] == [["-1999.0"], ["-1499.0"]]
    assert plan("f", descending=True)["order"] is None
