"""The planner takes runtime values of several keys as tuples.

The tests count the partitions, buckets, directories and files that remain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from parquetry.hashing.bucket_hash import bucket_numbers
from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.skew_map import SkewMap
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
from parquetry.planner.scans import runtime_values
from parquetry.prune.report.report import Report
from parquetry.types import ColumnType, Value, parse_type
from tests.support.spark.packed_values import membership, tuples

INT, LONG, DAY, TEXT, PRICE = map(parse_type, ("int", "bigint", "date", "string", "decimal(9, 2)"))
Scan = Callable[..., Any]
PAIR = {"day": DAY, "y": INT}
COLUMNS = (
    TableColumn("a", "integer"),
    TableColumn("b", "integer"),
    TableColumn("day", "date"),
    TableColumn("y", "integer"),
    TableColumn("s", "string"),
    TableColumn("price", "decimal(9,2)"),
)


def planned(
    folder: Path, metadata: TableMetadata, files: Mapping[tuple[Value, ...], list[FileRecord]]
) -> Scan:
    """Return what asks for the scan of a new table with values that have come."""
    metastore = open_metastore(str(folder), create=True)
    metastore.create_database("db")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for values, some in files.items():
        transaction.append(values, some)
    commit(transaction)
    metastore.close()
    planner = Planner(NoEngine("UTC"))

    def asked(op: str, **question: Any) -> Any:
        head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(folder)}}
        return json.loads(planner.ask(json.dumps({**head, "op": op, **question})))["ok"]

    table = asked("load_table", namespace=["db"], name="t")["table"]
    columns = [column.name for column in metadata.columns]
    return lambda *found, **more: asked(
        "plan_scan", table=table, predicates=[], columns=columns, runtime=list(found), **more
    )


@pytest.fixture
def by_pairs(tmp_path: Path) -> Scan:
    """Plan a table of 31 days and 8 numbers, NULL included: 248 partitions of one file each.

    Column `a` of a file is the number of its day.
    """
    parts = [(day, y) for day in (None, *range(30)) for y in (None, *range(7))]
    metadata = TableMetadata(COLUMNS, ("day", "y"), "parquet", f"{tmp_path}/t")
    return planned(
        tmp_path,
        metadata,
        {
            (day, y): [FileRecord("x", 100, 10, 7, {"a": ColumnStatistics(40, 0, day or 0, day or 0)})]
            for day, y in parts
        },
    )


def kept(answer: Any, step: str = "partitions") -> tuple[int, int]:
    return next((each["kept"], each["of"]) for each in answer["report"]["steps"] if each["name"] == step)


def text(answer: Any) -> str:
    return str(Report.from_dict({"scans": [answer["report"]]}))


@pytest.mark.parametrize(
    ("rows", "partitions", "told"),
    [
        ([(day, day % 7) for day in range(8)], 8, "(day, y) → 8 tuples"),
        ([(day, day % 7) for day in range(8)] * 2, 8, "(day, y) → 8 tuples"),
        ([(3, 4)], 1, "day → 1 value, y → 1 value"),  # one of each: there is nothing to combine
        ([(3, y) for y in range(5)], 5, "day → 1 value, y → 5 values"),  # sets are as good
        ([(day, y) for day in range(4) for y in range(3)], 12, "day → 4 values, y → 3 values"),
        ([(day, y) for day in range(4) for y in range(3)][1:], 11, "(day, y) → 11 tuples"),
        ([(99, 1), (98, 2)], 0, "(day, y) → 2 tuples"),
        # NULL comes of `<=>` alone, where it is a value like any other
        ([(1, 1), (None, 2)], 2, "(day, y) → 2 tuples"),
        ([(1, 1), (None, 2), (3, None), (None, None), (4, None)], 5, "(day, y) → 5 tuples"),
        ([(None, None)], 1, "(day, y) → 1 tuple"),
    ],
)
def test_pairs_of_partition_columns(
    by_pairs: Scan, rows: list[tuple[Value, ...]], partitions: int, told: str
) -> None:
    """A partition is read if one of the tuples has its values; the report says how many tuples there were."""
    answer = by_pairs(tuples(PAIR, rows), before=by_pairs()["counts"])
    assert kept(answer) == (partitions, 248), text(answer)
    assert f"run time: {told}: partitions 248 → {partitions}" in text(answer)
    assert answer["again"] == [False]
    again = Report.from_dict(Report.from_dict({"scans": [answer["report"]]}).to_dict())
    assert str(again) == text(answer)


def test_no_tuples(by_pairs: Scan) -> None:
    """The bridge knows their name alone, and no partition is read."""
    answer = by_pairs({"fn": "TUPLES", "count": 0, "text": "(day, y)"}, before=by_pairs()["counts"])
    assert kept(answer) == (0, 248)
    assert "run time: (day, y) → 0 tuples: partitions 248 → 0" in text(answer)


def test_more_tuples_than_are_looked_up(by_pairs: Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are too many tuples, each column's values count by themselves, and NULL with them.

    The same holds if the bridge sends only the columns' sets.
    """
    rows: list[tuple[Value, ...]] = [(day, day % 7) for day in range(8)]
    monkeypatch.setattr(runtime_values, "LIMITS", replace(LIMITS, tuples=7))
    answer = by_pairs(tuples(PAIR, rows), before=by_pairs()["counts"])
    assert kept(answer) == (56, 248)
    assert "run time: day → 8 values, y → 7 values: partitions 248 → 56" in text(answer)
    assert kept(by_pairs(tuples(PAIR, [*rows[:-1], (None, 3)]))) == (56, 248)  # seven days and NULL
    sets = [
        membership("day", DAY, [1, 2]),
        {"fn": "WITHIN", "col": ["y"], "type": "int", "count": 9, "least": "3", "greatest": "5"},
    ]
    answer = by_pairs({"fn": "AND", "args": sets}, before=by_pairs()["counts"])
    assert kept(answer) == (6, 248)
    assert "run time: day → 2 values, y → 9 values (more than 1,000,000: by the least" in text(answer)
    with_null = {"fn": "OR", "args": [sets[1], {"fn": "IS_NULL", "args": [{"col": ["y"]}]}]}
    nulls = kept(by_pairs({"fn": "IS_NULL", "args": [{"col": ["y"]}]}))[0]
    assert nulls
    assert kept(by_pairs({"fn": "AND", "args": [with_null]}))[0] == kept(by_pairs(sets[1]))[0] + nulls


def test_other_conditions_hold_as_well(by_pairs: Scan) -> None:
    """Tuples of one dimension, a set of another, and a condition that Spark evaluates over partitions."""
    rows = [(day, day % 7) for day in range(8)]
    answer = by_pairs(tuples(PAIR, rows), membership("day", DAY, [2, 3, 20]))
    assert kept(answer) == (2, 248)
    answer = by_pairs(tuples({"y": INT, "a": INT, "day": DAY}, [(y, day, day) for day, y in rows]))
    assert kept(answer) == (8, 248)
    answer = by_pairs(tuples({"day": DAY, "a": INT}, [(1, 1), (2, 2), (3, 4)]))
    assert (kept(answer), kept(answer, "files")) == ((24, 248), (16, 24))


@pytest.mark.parametrize(
    ("columns", "rows", "files"),
    [
        ({"a": INT, "b": INT}, [(1, 10), (7, 70), (20, 200)], 3),
        ({"b": INT, "a": INT, "s": TEXT}, [(10, 1, "x"), (70, 7, "y")], 2),
        ({"a": INT, "b": LONG}, [(1, 10), (7, 1 << 40)], 1),  # what the column cannot hold equals nothing
    ],
)
def test_pairs_of_bucket_columns(
    tmp_path: Path, columns: dict[str, ColumnType], rows: list[tuple[Value, ...]], files: int
) -> None:
    """The hash of both gives the bucket: at most one for each tuple."""
    spec = BucketSpec(("a", "b"), 64)
    metadata = TableMetadata(
        COLUMNS, (), "parquet", f"{tmp_path}/t", arrangement=ArrangementSpec(buckets=spec)
    )
    scan = planned(
        tmp_path,
        metadata,
        {(): [FileRecord(f"{n:06}_0", 100, 10, 7, {}, bucket=n) for n in range(64)]},
    )
    answer = scan(tuples(columns, rows))
    assert (kept(answer, "buckets"), kept(answer, "files")) == ((files, 64), (files, files))
    assert len(set(bucket_numbers(2, 64, [INT, INT], [(1, 10), (7, 70), (20, 200)]))) == 3


def test_pairs_of_skewed_columns(tmp_path: Path) -> None:
    """Directories of heavy tuples are left out unless one of them came, and the rest unless others came."""
    cells = tuple((a, b) for a in range(1, 4) for b in (10, 20))
    arranged = ArrangementSpec(skew=SkewMap(("a", "b"), cells, directories=True))
    metadata = TableMetadata(COLUMNS, (), "parquet", f"{tmp_path}/t", arrangement=arranged)
    scan = planned(
        tmp_path, metadata, {(): [FileRecord(f"x{n}", 100, 10, 7, {}, cell=n) for n in range(-1, len(cells))]}
    )
    for rows, directories in (
        ([(1, 10), (2, 20)], 2),
        ([(1, 10), (2, 20), (3, 30)], 3),
        ([(1, 1), (2, 2)], 1),
        ([(a, b) for a in (1, 2) for b in (10, 20)], 4),
    ):
        answer = scan(tuples({"a": INT, "b": INT}, rows))
        assert kept(answer, "directories") == (directories, 7), text(answer)


def test_texts_and_decimals(tmp_path: Path) -> None:
    """Values that are not sent as numbers are read as values of sets are."""
    metadata = TableMetadata(COLUMNS, ("s", "price"), "parquet", f"{tmp_path}/t")
    parts = [(s, price) for s in ("", "a", "é") for price in (None, "1.50", "2.00")]

    values = [(s, None if price is None else Decimal(price)) for s, price in parts]
    scan = planned(tmp_path, metadata, {each: [FileRecord("x", 100, 10, 7, {})] for each in values})
    found = tuples({"s": TEXT, "price": PRICE}, [("", Decimal("1.50")), ("é", Decimal("2.00")), ("a", None)])
    assert kept(scan(found)) == (3, 9)
