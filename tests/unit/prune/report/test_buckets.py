"""The reports on scans without usable buckets: the bucketing, and why no join may rely on it."""

from __future__ import annotations

import json

from parquetry.metastore import (
    ArrangementSpec,
    BucketSpec,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune.report.join import BucketReport
from parquetry.prune.report.scan import ScanReport
from parquetry.prune.rules.bucket_reasons import without_buckets
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore

COLUMNS = (
    TableColumn("id", "integer"),
    TableColumn("s", "string"),
    TableColumn("f", "double"),
    TableColumn("p", "integer"),
)
EIGHT = BucketSpec(("id",), 8)


def made(
    *specs: BucketSpec | None, own: BucketSpec | None = EIGHT, files: tuple[int | None, ...] = (0, 1)
) -> TableSnapshot:
    """Make a table with partitions 0, 1, … in buckets, each with files of some buckets."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(
        COLUMNS, ("p",), "parquet", "/lake/db.db/t", arrangement=ArrangementSpec(buckets=own)
    )
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p, spec in enumerate(specs):
        held = [FileRecord(f"{p}/{n}", 1, 1, bucket=n if spec else None) for n in files]
        transaction.replace((p,), held, arrangement=ArrangementSpec(buckets=spec))
    return commit(transaction)


def told(table: TableSnapshot, read: list[str] | None = None, where: str = "p >= 0") -> BucketReport | None:
    types = {column.name: column.column_type for column in table.metadata.columns}
    selection = select_files(table, [parse_filter(where, types)], read)
    found = without_buckets(table, selection.partitions, selection.block, read or list(types))
    report = ScanReport("t", (), found)
    assert ScanReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    return found


def reason(table: TableSnapshot, read: list[str] | None = None) -> str | None:
    found = told(table, read)
    assert found is not None
    return found.reason


def test_of_the_selected_partitions_what_differs_is_told() -> None:
    """Only partitions with selected files count for the reason.

    A table that was never bucketed has no report.
    """
    twelve = BucketSpec(("id",), 12)
    assert told(made(None, EIGHT, twelve), where="p = 0") == BucketReport(
        ("id",), ("int",), "2", 8, "partition p=0 is not in buckets"
    )
    assert told(made(EIGHT, twelve, files=(None,)), where="p < 2") == BucketReport(
        ("id",), ("int",), "2", 4, "the buckets of 2 files are not known, in partition p=0 and 1 other"
    )
    assert told(made(None, own=None)) is None
    assert reason(made(None)) == "partition p=0 is not in buckets"


def test_columns_that_are_not_read_are_told() -> None:
    """The report names the bucket columns that the query does not read, by their current names."""
    for table in (made(BucketSpec(("id", "s"), 8)), made(BucketSpec(("id", "s"), 8), None)):
        found = told(table, ["ID"])
        assert found is not None
        assert (found.columns, found.unread) == (("id", "s"), ("s",))


def test_what_no_join_can_rely_on_says_why() -> None:
    """A partition, files, columns, versions, counts, types, or what is not read."""
    assert reason(made(EIGHT, None)) == "partition p=1 is not in buckets"
    assert reason(made(None, EIGHT, None, None)) == "partition p=0 and 2 others are not in buckets"
    assert reason(made(EIGHT, files=(0, None))) == "the bucket of a file is not known, in partition p=0"
    assert reason(made(EIGHT, BucketSpec(("s",), 8))) == "its partitions are in buckets by different columns"
    assert reason(made(EIGHT, BucketSpec(("id",), 8, "spark"))) == (
        "its partitions are in buckets by different versions of the hash"
    )
    assert reason(made(EIGHT, BucketSpec(("id",), 3))) == (
        "its partitions' numbers of buckets share no divisor: 3, 8"
    )
    assert reason(made(BucketSpec(("f",), 8, 2, unsettled=True))) == (
        "equal values may lie in different buckets: -0.0 equals 0.0, and Hive's version 2 hashes it to another bucket"
    )
    assert reason(made(BucketSpec(("id", "s"), 8)), ["ID"]) == "the bucket column s is not read"
    assert reason(made(BucketSpec(("id", "s"), 8)), ["f"]) == "the bucket columns id, s are not read"
