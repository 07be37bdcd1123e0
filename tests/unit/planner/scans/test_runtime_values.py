"""The planner prunes by runtime values of a join, and reports that in all forms of the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parquetry.joins.runtime.cost_model import LIMITS
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
from parquetry.prune.report.report import Report
from parquetry.types import parse_type
from tests.support.spark.packed_values import membership

LONG = parse_type("bigint")
Ask = Callable[..., Any]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask for the scan of a table of ten partitions `p` with a file each, which holds ten values of `k`."""
    return _scans(tmp_path, {})


def _scans(tmp_path: Path, properties: dict[str, str]) -> Ask:
    metastore = open_metastore(str(tmp_path), create=True)
    metastore.create_database("db")
    columns = (
        TableColumn("k", "long"),
        TableColumn("s", {"type": "struct", "fields": []}),
        TableColumn("f", "double"),
        TableColumn("p", "long"),
    )
    metadata = TableMetadata(columns, ("p",), "parquet", f"{tmp_path}/t", properties=properties)
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p in range(10):
        transaction.append(
            (p,), [FileRecord("x", 100, 10, 7, {"k": ColumnStatistics(40, 0, 10 * p, 10 * p + 9)})]
        )
    commit(transaction)
    metastore.close()
    planner = Planner(NoEngine("UTC"))

    def asked(op: str, **question: Any) -> Any:
        head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(tmp_path)}}
        answer = json.loads(planner.ask(json.dumps({**head, "op": op, **question})))
        return answer["ok"] if "ok" in answer else answer["error"]

    table = asked("load_table", namespace=["db"], name="t")["table"]

    def scan(*found: Any, before: Any = None, columns: Any = ("k", "s", "p"), **question: Any) -> Any:
        about = {"table": table, "predicates": [], "columns": list(columns), **question}
        return asked("plan_scan", **about, runtime=list(found), **({"before": before} if before else {}))

    return scan


def text(answer: Any) -> str:
    return str(Report.from_dict({"scans": [answer["report"]]}))


def test_all_that_can_be_compared_is_filterable(ask: Ask) -> None:
    """Each column of the scan that can be compared is filterable, by the table's name.

    Structs are not, and no column is if runtime pruning is off.
    """
    answer = ask(columns=["K", "s", "f", "p"])
    assert (answer["filterable"], answer["most_values"]) == (["k", "f", "p"], 1_000_000)
    assert ask(settings={"parquetry.runtime-pruning": "false"})["filterable"] == []


def test_the_report_says_how_many_values_and_what_they_cut(ask: Ask) -> None:
    """The report has the number of values of each set, and what all sets pruned, step by step.

    The numbers before are the numbers without values.
    """
    first = ask(columns=["k", "p"])
    assert "run_time" not in first["report"]
    found = (membership("k", LONG, [3, 25, 25, 77]), membership("p", LONG, [0, 2, 3]))
    answer = ask(*found, before=first["counts"], columns=["k", "p"])
    assert answer["report"]["run_time"] == {
        "values": [{"column": "k", "count": 3}, {"column": "p", "count": 3}],
        "cuts": [
            {"name": "partitions", "before": 10, "after": 3},
            {"name": "files", "before": 10, "after": 2},
            {"name": "bytes", "before": 400, "after": 80},
        ],
    }
    assert (
        "\n  run time: k → 3 values, p → 3 values: partitions 10 → 3 · files 10 → 2 · 400 B → 80 B"
        in text(answer)
    )
    assert (
        "partitions 3 of 10 (run-time values p IN (0, 2, 3)) · files 2 of 3 (run-time values k IN (3, 25, 77))"
        in text(answer)
    )
    html = Report.from_dict({"scans": [answer["report"]]})._repr_html_()
    assert "<li>run time: k → 3 values, p → 3 values: partitions 10 → 3 · " in html
    again = Report.from_dict(Report.from_dict({"scans": [answer["report"]]}).to_dict())
    assert str(again) == text(answer)


def test_values_that_leave_nothing_out_are_told_as_well(ask: Ask) -> None:
    """The report says that the values prune no file, and why."""
    first = ask()
    answer = ask(membership("k", LONG, list(range(100))), before=first["counts"])
    assert "  run time: k → 100 values: nothing less is read" in text(answer)
    assert "not by run-time values k IN (100 values from 0 to 99): every file may hold a match" in text(
        answer
    )


def test_each_set_that_leaves_nothing_out_has_a_reason(ask: Ask) -> None:
    """Each set that prunes no file has a reason, and a set that prunes some has none.

    The sets are of partitions, of files, of more values than are listed, and of functions.
    """
    every = "every {} may hold a match"
    within = {
        "fn": "WITHIN",
        "col": ["k"],
        "type": "bigint",
        "count": 2_000_000,
        "least": "0",
        "greatest": "99",
    }
    ends = f"more than 1,000,000: by the least and the greatest, and {every.format('file')}"
    within_files = every.format("file")
    ten = range(0, 100, 10)
    sides = [{"fn": function, "args": [{"col": ["k"]}, {"col": ["p"]}]} for function in ("+", "HASH")]
    sums, hashes = ({"fn": "=", "args": [side, {"lit": "3", "type": "bigint"}]} for side in sides)
    for found, reason in (
        (membership("p", LONG, [*range(10)]), every.format("partition")),
        (membership("k", LONG, [*ten]), within_files),
        (within, ends),
        (hashes, "function on the column"),
        (sums, None),
        (membership("k", LONG, [3, 4]), None),
    ):
        assert ask(found, columns=["k", "p"])["unused"] == [reason], reason
    both = ask(membership("k", LONG, [*ten]), membership("p", LONG, [3]), columns=["k", "p"])
    assert both["unused"] == [within_files, None]
    assert ask(columns=["k", "p"])["unused"] == []


def test_readers_may_look_for_values(tmp_path: Path) -> None:
    """A set that prunes no file goes to readers if the table says how its files are laid out."""
    found = membership("k", LONG, [*range(0, 100, 10)])
    reason = "every file may hold a match, and readers look for row groups"
    assert _scans(tmp_path, {"sort-by": "k"})(found, columns=["k", "p"])["unused"] == [reason]


def test_no_value_leaves_nothing(ask: Ask) -> None:
    """An empty set, or one of NULL alone, equals no row."""
    for values in ([], [None]):
        answer = ask(membership("k", LONG, values), before=ask()["counts"])
        assert answer["files"]["names"] == ""


def test_too_many_values_count_by_their_ends(ask: Ask) -> None:
    """If there are too many values, the bridge sends their minimum and maximum.

    Floats have no such range, as NaN may be among the values.
    """
    within = {
        "fn": "WITHIN",
        "col": ["k"],
        "type": "bigint",
        "count": 2_000_000,
        "least": "35",
        "greatest": "52",
    }
    answer = ask(within, before=ask()["counts"])
    assert len(answer["files"]["names"].split("/")) == 3
    note = "more than 1,000,000: by the least and the greatest"
    assert answer["report"]["run_time"]["values"] == [{"column": "k", "count": 2_000_000, "note": note}]
    assert f"run time: k → 2,000,000 values ({note}): files 10 → 3" in text(answer)
    floats = {**within, "col": ["f"], "type": "double", "least": "0.0", "greatest": "NaN"}
    assert len(ask(floats, columns=["f"])["files"]["names"].split("/")) == 10


def test_what_is_not_understood_of_partitions_is_wanted_again(ask: Ask) -> None:
    """A condition with a function of a partition column returns to Spark for evaluation.

    A condition of another column does not.
    """
    function = {"fn": "ABS", "args": [{"col": ["p"]}]}
    on_p = {"fn": "=", "args": [function, {"lit": "3", "type": "bigint"}]}
    on_k = {"fn": ">", "args": [{"col": ["k"]}, {"lit": "35", "type": "bigint"}]}
    answer = ask(on_p, on_k, membership("p", LONG, [1]))
    assert answer["again"] == [True, False, False]
    assert answer["report"]["run_time"]["values"][1] == {"condition": "k > 35"}


def test_many_values_are_looked_for_in_ranges_and_looked_up(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partitions that only the ranges hold are left out by the values themselves."""
    monkeypatch.setattr("parquetry.scan.coarse.MAX_IN_VALUES", 2)
    monkeypatch.setattr("parquetry.scan.coarse._RANGES_PER_IN", 2)
    answer = ask(membership("p", LONG, [1, 3, 8, 500]))
    assert [row[-1] for row in answer["partitions"]] == ["1", "3", "8"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"read_options": {"Runtime-Pruning": "false"}}, "option 'runtime-pruning'"),
        ({"settings": {"parquetry.runtime-pruning": "FALSE"}}, "session setting 'parquetry.runtime-pruning'"),
        (
            {"read_options": {"runtime-pruning": "true"}, "settings": {"parquetry.runtime-pruning": "false"}},
            None,
        ),
    ],
)
def test_where_it_was_turned_off_is_told(ask: Ask, question: Any, said: str | None) -> None:
    """The option comes before the session, and the report names the setting only if it turns pruning off."""
    answer = ask(**question)
    assert answer["report"].get("run_time") == (None if said is None else {"off": said})
    assert ("run time: off" in text(answer)) == (said is not None)


def test_the_limit_is_the_one_that_is_told() -> None:
    """The limit that goes to the bridge and the limit of the report are one number."""
    assert LIMITS.set_values == 1_000_000
