"""Statistics of a scan for Spark's optimizer."""

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
from parquetry.planner.scans import estimates
from tests.support.tables.statistics import exact

Ask = Callable[..., Any]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Return a function that asks about a table of 120 partitions `p` with a file of ten rows each."""
    metastore = open_metastore(str(tmp_path), create=True)
    metastore.create_database("db")
    columns = (
        TableColumn("k", "long"),
        TableColumn("day", "date"),
        TableColumn("at", "timestamp_ntz"),
        TableColumn("p", "long"),
    )
    transaction = Transaction(
        metastore.create_table("db", "t", TableMetadata(columns, ("p",), "parquet", f"{tmp_path}/t")),
        "append",
    )
    for p in range(120):
        statistics = {
            "k": exact(40, 1, 10 * p, 10 * p + 9),
            "day": exact(20, 0, p, p),
            "at": exact(9, 0, 0, 0),
        }
        transaction.append((p,), [FileRecord("x", 100, 10, 7, statistics)])
    commit(transaction)
    metastore.close()
    planner = Planner(NoEngine("UTC"))

    def asked(op: str, **question: Any) -> Any:
        head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(tmp_path)}}
        return json.loads(planner.ask(json.dumps({**head, "op": op, **question})))["ok"]

    described = asked("load_table", namespace=["db"], name="t")["table"]

    def of_table(*columns: str, op: str = "estimate_scan", **more: Any) -> Any:
        read = {"columns": list(columns)} if op == "estimate_scan" else {}
        return asked(op, table=described, **{"predicates": [], **read, **more})

    return of_table


def compare(fn: str, column: str, value: int) -> dict[str, Any]:
    return {"fn": fn, "args": [{"col": [column]}, {"lit": str(value), "type": "bigint"}]}


def test_statistics_of_a_table_that_is_listed_later(ask: Ask) -> None:
    """A table of many partitions has the statistics of its files, which are not listed yet."""
    answer = ask("k", "day", "p")
    assert answer["rows"] == 1200
    named = {each.pop("name"): each for each in answer["columns"]}
    assert named == {
        "k": {
            "distinct": 1080,
            "nulls": 120,
            "least": "0",
            "greatest": "1199",
            "length": None,
            "histogram": None,
        },
        "day": {
            "distinct": 120,
            "nulls": 0,
            "least": "0",
            "greatest": "119",
            "length": None,
            "histogram": None,
        },
        "p": {
            "distinct": 120,
            "nulls": 0,
            "least": "0",
            "greatest": "119",
            "length": None,
            "histogram": None,
        },
    }


def test_conditions_of_the_query_and_of_joins_prune(ask: Ask) -> None:
    """Conditions, and values that a join has at plan time, leave the statistics of fewer files."""
    answer = ask("k", predicates=[compare("<", "p", 3)], joined=[compare(">=", "k", 15)])
    assert answer["rows"] == 20
    assert answer["columns"][0]["least"] == "10"


def test_the_estimate_comes_with_the_answer_about_conditions(ask: Ask) -> None:
    """The answer about conditions has the same estimate if it is wanted, of some files and of all."""
    for conditions in ([compare("<", "p", 3)], [compare(">=", "k", 0)], [compare("<", "k", 2000)]):
        for estimated in (True, False):
            scan = {"columns": ["k", "p"], "output": ["k", "p"], "opens_all": False, "estimated": estimated}
            pushed = ask(op="push_predicates", predicates=conditions, scan=scan)
            expected = ask(*pushed["columns"], predicates=conditions) if estimated else None
            assert pushed["estimate"] == expected
    assert ask("k", predicates=[compare(">=", "k", 0)])["rows"] == 1200


def test_rows_come_with_all_columns_or_not_at_all(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rows are reported with a column that Spark cannot estimate, which may be a key, or of many files."""
    assert ask("k", "at") == {"rows": None, "columns": []}
    assert ask()["rows"] == 1200
    monkeypatch.setattr(estimates, "MAX_ESTIMATED_FILES", 10)
    assert ask("k", "day") == {"rows": None, "columns": []}
    assert ask("day", predicates=[compare("<", "p", 3)])["rows"] == 30
