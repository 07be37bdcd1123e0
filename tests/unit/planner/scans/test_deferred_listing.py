"""A scan that waits for a join's values reports totals first, and the remaining files later."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec
from parquetry.prune.report.join_values import RunTimeReport, TimedOutValues
from parquetry.prune.report.report import Report
from parquetry.prune.report.scan import ScanReport, Step
from parquetry.types import parse_type
from tests.support.spark.packed_values import membership

LONG = parse_type("bigint")
Ask = Callable[..., Any]
PARTITIONS = 120


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Return a function that plans a scan of a table of 120 partitions `p` with one file each.

    Column k takes 40 of each file's 100 bytes.
    """
    metastore = open_metastore(str(tmp_path), create=True)
    metastore.create_database("db")
    columns = (TableColumn("k", "long"), TableColumn("o", "long"), TableColumn("p", "long"))
    metadata = TableMetadata(columns, ("p",), "parquet", f"{tmp_path}/t")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p in range(PARTITIONS):
        statistics = {"k": ColumnStatistics(40, 0, 10 * p, 10 * p + 9), "o": ColumnStatistics(60, 0, 0, 9)}
        transaction.append((p,), [FileRecord("x", 100, 3, 7, statistics)])
    commit(transaction)
    metastore.close()
    planners = [Planner(NoEngine("UTC"))]

    def asked(op: str, **question: Any) -> Any:
        head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(tmp_path)}}
        return json.loads(planners[-1].ask(json.dumps({**head, "op": op, **question})))["ok"]

    table = asked("load_table", namespace=["db"], name="t")["table"]

    def scan(*found: Any, columns: Any = ("k", "p"), restart: bool = False, **question: Any) -> Any:
        if restart:
            planners.append(Planner(NoEngine("UTC")))
        about = {"table": table, "predicates": [], "columns": list(columns), **question}
        return asked("plan_scan", **about, runtime=list(found))

    return scan


def text(report: Any) -> str:
    return str(Report.from_dict({"scans": [report]}))


def test_the_first_answer_has_totals(ask: Ask) -> None:
    """The first answer has the number of files and partitions, but lists none.

    The same question without `late` lists all.
    """
    late, listed = ask(late=True), ask()
    assert late["late"]
    assert not listed["late"]
    assert (late["files"]["names"], late["partitions"]) == ("", [])
    assert late["statistics"] == listed["statistics"] == {"bytes": 4800, "rows": 360, "files": 120}
    assert late["metrics"] == listed["metrics"]
    assert late["filterable"] == listed["filterable"] == ["k", "p"]
    assert (late["most_values"], late["most_wait"]) == (listed["most_values"], listed["most_wait"])
    assert text(late["report"]) == (
        "lake.db.t: partitions 120 of 120 · files 120 of 120 · about 4.8 kB of 12 kB (column k)"
    )
    assert "partitions 120 of 120" in late["description"]


def test_values_are_told_beside_the_totals(ask: Ask) -> None:
    """The report shows the totals before the values beside the numbers after them.

    Bytes of some columns are an estimate. The report is the same from a planner that has restarted meanwhile.
    """
    late = ask(late=True)
    answer = ask(membership("p", LONG, [2, 3, 500]), before=late["counts"])
    assert answer["report"]["run_time"] == {
        "values": [{"column": "p", "count": 3}],
        "cuts": [
            {"name": "partitions", "before": 120, "after": 2},
            {"name": "files", "before": 120, "after": 2},
            {"name": "bytes", "before": 4800, "after": 80, "about": True},
        ],
        "late": True,
    }
    assert text(answer["report"]).split("\n")[1] == (
        "  run time: p → 3 values: partitions 120 → 2 · files 120 → 2 · about 4.8 kB → 80 B (none listed before the values came)"
    )
    assert ask(membership("p", LONG, [2, 3, 500]), before=late["counts"], restart=True) == answer
    whole = ask(late=True, columns=["k", "o", "p"])["counts"]
    cuts = ask(membership("p", LONG, [2]), before=whole, columns=["k", "o", "p"])["report"]["run_time"][
        "cuts"
    ]
    assert cuts[-1] == {"name": "bytes", "before": 12_000, "after": 100}


@pytest.mark.parametrize(
    "question",
    [
        {"predicates": [{"fn": "=", "args": [{"col": ["p"]}, {"lit": "3", "type": "bigint"}]}]},
        {"joined": [membership("p", LONG, [1, 2])]},
        {"settings": {"parquetry.runtime-pruning": "false"}},
        {"columns": []},
    ],
)
def test_what_is_told_at_once(ask: Ask, question: dict[str, Any]) -> None:
    """Files are listed at once if the query has conditions or plan-time values, or if no value can come.

    The argument `late` then makes no difference.
    """
    assert ask(late=True, **question) == ask(**question)


def test_conditions_that_have_decided_partitions_are_told(ask: Ask) -> None:
    """The answer has the query's conditions that pruned partitions, without the values of joins.

    If no condition pruned a partition, the answer has none.
    """
    asked = {"fn": "=", "args": [{"col": ["p"]}, {"lit": "3", "type": "bigint"}]}
    assert ask(predicates=[asked], joined=[membership("p", LONG, [3, 4])])["decided"] == ["p = 3"]
    assert ask(joined=[membership("p", LONG, [3, 4])])["decided"] == []


def test_the_wait_is_a_setting(ask: Ask) -> None:
    """In milliseconds, by default a minute; `none` has no number."""
    assert ask()["most_wait"] == 60_000
    assert ask(read_options={"runtime-pruning-max-wait": "2s"})["most_wait"] == 2000
    assert ask(settings={"parquetry.runtime-pruning-max-wait": "none"})["most_wait"] is None


def test_values_that_were_missed_are_told() -> None:
    """Each with how long it was waited for, in the text and as a dict that is read back."""
    missed = (TimedOutValues("p", 60_000), TimedOutValues("(k + 1)", 1500))
    report = Report((ScanReport("t", (Step("files", 3, 3),), run_time=RunTimeReport(missed=missed)),))
    assert str(report).split("\n")[1] == (
        "  run time: no values of p within 60 s, no values of (k + 1) within 1.5 s: nothing less is read"
    )
    assert Report.from_dict(report.to_dict()) == report
    assert (
        Report.from_dict({"scans": [{"table": "t", "steps": [], "run_time": {"missed": []}}]})
        .scans[0]
        .run_time
    )
