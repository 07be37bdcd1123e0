"""The answer about a scan has the buckets and the order that all its files share, and no others."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from parquetry.data_files.records import PHYSICAL_NAME
from parquetry.layout.arrangement import PLAIN, ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.part import SortColumn
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.lake import table_ref
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec

SORTED = (SortColumn("k"), SortColumn("was", descending=True))
COLUMNS = (
    TableColumn("k", "varchar(9)"),
    TableColumn("v", "long", metadata={PHYSICAL_NAME: "was"}),
    TableColumn("w", "long"),
    TableColumn("p", "integer"),
)


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[Metastore]:
    """An empty one, with a database."""
    with open_metastore(str(tmp_path), create=True) as opened:
        opened.create_database("db")
        yield opened


def scan(
    metastore: Metastore,
    folder: Path,
    partitions: Sequence[tuple[BucketSpec | None, Sequence[FileRecord]]],
    columns: Sequence[str] = ("k", "v", "p"),
    table: BucketSpec | None = None,
    properties: dict[str, str] | None = None,
    **question: Any,
) -> Any:
    """Return the answer about a scan of a table that has such partitions."""
    metadata = TableMetadata(
        COLUMNS,
        ("p",),
        "parquet",
        f"{folder}/t",
        arrangement=ArrangementSpec(buckets=table),
        properties=properties or {},
    )
    metastore.create_table("db", "t", metadata)
    for p, (spec, files) in enumerate(partitions):
        transaction = Transaction(metastore.table("db", "t"), "append")
        transaction.replace((p,), files, arrangement=PLAIN if spec is None else ArrangementSpec(buckets=spec))
        commit(transaction)
    planner = Planner(NoEngine("UTC"))
    snapshot = metastore.table("db", "t")
    ref = msgspec.to_builtins(table_ref(snapshot))
    head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(folder)}}
    about = {"op": "plan_scan", "table": ref, "predicates": [], "runtime": [], "columns": list(columns)}
    answer = json.loads(planner.ask(json.dumps({**head, **about, **question})))
    return answer["ok"] if "ok" in answer else answer["error"]


def files(*buckets: int | None, in_order: bool = False) -> list[FileRecord]:
    """Return a file for each bucket."""
    return [
        FileRecord(f"f{n}", 100, 10, 7, bucket=bucket, sorted=in_order) for n, bucket in enumerate(buckets)
    ]


def of_files(answer: Any) -> list[int]:
    """Return the bucket of each file."""
    found: list[int] = np.frombuffer(base64.b64decode(answer["files"]["bucket"]), "<i4").tolist()
    return found


def test_buckets_are_folded_to_what_all_partitions_share(metastore: Metastore, tmp_path: Path) -> None:
    """Partitions of 4 and 6 buckets share 2; the columns have the table's names and types.

    The order is the order of all files.
    """
    four, six = (BucketSpec(("k", "was"), count, 1, SORTED) for count in (4, 6))
    found = scan(metastore, tmp_path, [(four, files(0, 3, in_order=True)), (six, files(5, 2, in_order=True))])
    assert found["buckets"] == {
        "version": "1",
        "count": 2,
        "held": 2,
        "columns": ["k", "v"],
        "types": ["varchar(9)", "long"],
        "order": [{"column": "k", "descending": False}, {"column": "v", "descending": True}],
        "merged": True,
        "larger": False,
        "outside": 0,
        "sizes": {"rows": [20, 20], "bytes": [200, 200], "files": [2, 2]},
        "least": 1_000_000,
        "hot": False,
    }
    assert of_files(found) == [0, 1, 1, 0]
    assert found["description"].endswith(
        " · 2 buckets by k, v, sorted by k, v DESC, merging up to 2 files a bucket"
    )


PLAIN_SPEC = BucketSpec(("k",), 4)


@pytest.mark.parametrize(
    "partitions",
    [
        [(PLAIN_SPEC, files(0, 3)), (None, files(None))],
        [(PLAIN_SPEC, files(0, 3, None))],
        [(BucketSpec(("k",), 3), files(0)), (PLAIN_SPEC, files(0, 3))],
        [(PLAIN_SPEC, files(0, 3)), (BucketSpec(("k",), 4, 1), files(0))],
        [(BucketSpec(("w",), 4), files(0)), (PLAIN_SPEC, files(0, 3))],
    ],
    ids=["partition", "file", "count", "version", "columns"],
)
def test_the_buckets_of_most_files(metastore: Metastore, tmp_path: Path, partitions: Any) -> None:
    """The answer has the buckets of most bytes, and says of the other files that they are outside.

    Outside are files without a bucket, and partitions without buckets or by another number, hash or column.
    """
    found = scan(metastore, tmp_path, partitions, table=PLAIN_SPEC)
    buckets = found["buckets"]
    assert (buckets["version"], buckets["count"], buckets["outside"]) == ("2", 4, 100)
    assert sorted(of_files(found)) == [-1, 0, 3]
    assert found["description"].endswith(" · 4 buckets by k, 100 B of the files in others or none")


@pytest.mark.parametrize(
    "partitions",
    [
        [(BucketSpec(("k",), 4, unsettled=True), files(0))],
        [(BucketSpec(("w",), 4), files(0))],
        [(BucketSpec(("k", "w"), 4), files(0))],
        [(PLAIN_SPEC, files(None))],
    ],
    ids=["unsettled", "not read", "not all read", "no file"],
)
def test_nothing_is_told_that_is_not_true(metastore: Metastore, tmp_path: Path, partitions: Any) -> None:
    """The answer has no buckets if others may have placed the rows otherwise, if a column is not read, or if
    no file has a bucket.
    """
    found = scan(metastore, tmp_path, partitions, table=PLAIN_SPEC)
    assert found["buckets"] is None
    assert found["files"]["bucket"] == ""
    assert "buckets by" not in found["description"]


def test_an_order_is_told_as_far_as_it_is_read(metastore: Metastore, tmp_path: Path) -> None:
    """Up to the first column that is not; and not at all if one file is not sorted."""
    spec = BucketSpec(("k",), 4, 2, SORTED)
    found = scan(metastore, tmp_path, [(spec, files(0, 1, in_order=True))], columns=["k", "p"])
    assert found["buckets"]["order"] == [{"column": "k", "descending": False}]
    metastore.drop_table("db", "t")
    found = scan(metastore, tmp_path, [(spec, files(0, in_order=True)), (spec, files(0))])
    assert found["buckets"]["order"] == []


def test_an_empty_scan_is_in_the_tables_buckets(metastore: Metastore, tmp_path: Path) -> None:
    """An empty scan has the table's buckets, so a join with it needs no shuffle."""
    found = scan(metastore, tmp_path, [], table=PLAIN_SPEC)
    assert (found["buckets"]["count"], of_files(found) if "bucket" in found["files"] else []) == (4, [])


def test_more_buckets_may_be_wanted(metastore: Metastore, tmp_path: Path) -> None:
    """A join that wants 12 buckets gets 12 from 4, and the files stay in the 4.

    A join that wants 6 gets 4, as 4 does not divide 6.
    """
    found = scan(metastore, tmp_path, [(PLAIN_SPEC, files(0, 3))], buckets=12)
    assert (found["buckets"]["count"], found["buckets"]["held"], of_files(found)) == (12, 4, [0, 3])
    assert found["description"].endswith(" · 4 buckets by k, read as 12 (400 B again)")
    metastore.drop_table("db", "t")
    found = scan(metastore, tmp_path, [(PLAIN_SPEC, files(0, 3))], buckets=6)
    assert found["buckets"]["count"] == 4


def test_fewer_buckets_may_be_wanted(metastore: Metastore, tmp_path: Path) -> None:
    """A join that wants 2 buckets gets 2 from 4, and no file is read twice."""
    found = scan(metastore, tmp_path, [(PLAIN_SPEC, files(0, 3, 2))], buckets=2)
    assert (found["buckets"]["count"], found["buckets"]["held"], of_files(found)) == (2, 2, [0, 1, 0])
    assert found["description"].endswith(" · 2 buckets by k")


@pytest.mark.parametrize(
    ("spec", "count", "held", "expected"),
    [
        (PLAIN_SPEC, 4, 4, [0, 3]),
        (PLAIN_SPEC, 2, 2, [0, 1]),
        (PLAIN_SPEC, 8, 4, [0, 3]),
        (BucketSpec(("k",), 8), 4, 4, [0, 3]),
        (BucketSpec(("k",), 2), 4, 4, [-1, -1]),
        (BucketSpec(("k",), 4, 1), 4, 4, [-1, -1]),
        (BucketSpec(("w",), 4), 4, 4, [-1, -1]),
        (BucketSpec(("k",), 4, unsettled=True), 4, 4, [-1, -1]),
        (None, 4, 4, [-1, -1]),
    ],
)
def test_a_place_does_not_depend_on_the_files(
    metastore: Metastore, tmp_path: Path, spec: BucketSpec | None, count: int, held: int, expected: list[int]
) -> None:
    """A question that names buckets gets these, and files in others, or in fewer, are outside."""
    place = {"version": "2", "count": count, "held": held, "columns": ["k"]}
    numbers = [None, None] if spec is None else [0, min(3, spec.count - 1)]
    found = scan(metastore, tmp_path, [(spec, files(*numbers))], table=PLAIN_SPEC, place=place)
    buckets = found["buckets"]
    assert (buckets["version"], buckets["count"], buckets["held"]) == ("2", count, held)
    assert of_files(found) == expected
    assert buckets["outside"] == 100 * expected.count(-1)


@pytest.mark.parametrize("where", ["read_options", "settings", "properties"])
def test_who_wants_more_buckets_says_so(metastore: Metastore, tmp_path: Path, where: str) -> None:
    """By an option, for the session, or by the table's property."""
    name = "parquetry.bucket-join" if where == "settings" else "bucket-join"
    found = scan(metastore, tmp_path, [(PLAIN_SPEC, files(0))], **{where: {name: "larger"}})
    assert found["buckets"]["larger"] is True
    assert msgspec.json.encode(found)
