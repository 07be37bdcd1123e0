"""Two mechanisms that read less meet in one statement: plain Spark's rows, the golden file's files, and a
report that agrees with itself and with the files that were opened.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from tests.support.effort import STEP
from tests.support.opened_files import OpenedFiles
from tests.support.pairs.contradictions import contradictions, files_opened
from tests.support.pairs.files_read import PATH, FilesRead
from tests.support.pairs.statements import MECHANISMS, MEETINGS, PAIRS, Pair
from tests.support.pairs.tables import PairTables
from tests.support.spark import audit, plans
from tests.support.tables.bucketed_tables import plainly, settings

DATABASE = "lake.pairs"
GOLDEN = FilesRead(
    PATH, {f"{each.name}: {each.query}": [meeting.name for meeting in MEETINGS] for each in MECHANISMS}
)


pytestmark = pytest.mark.newest("the files that the newest plans read")


@pytest.fixture(scope="module")
def folder(warehouse: Path) -> Path:
    """The folder of the database."""
    return warehouse / "lake" / "pairs.db"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, folder: Path) -> Iterator[PairTables]:
    """The tables of all pairs."""
    with settings(spark, {"spark.sql.codegen.wholeStage": False}):
        yield PairTables(spark, DATABASE, folder)
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


def frame_of(spark: SparkSession, pair: Pair, tables: PairTables) -> DataFrame:
    """Return the frame of a pair's statement."""
    if pair.meeting.kind == "cache":
        cached = spark.sql(tables.ours(pair.query)).cache()
        cached.createOrReplaceTempView("cached_pair")
    elif pair.meeting.kind == "stream":
        spark.readStream.table(f"{DATABASE}.g").createOrReplaceTempView("streamed_g")
        return spark.sql(tables.ours(pair.text.replace("{g}", "streamed_g")))
    return spark.sql(tables.ours(pair.text))


def run(frame: DataFrame, pair: Pair) -> list[tuple[Any, ...]]:
    """Run a frame; return its rows."""
    if pair.meeting.kind != "stream":
        return plans.comparable(frame.collect())
    found: list[tuple[Any, ...]] = []
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: found.extend(map(tuple, batch.collect())))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(found, key=repr)


def read(
    spark: SparkSession, pair: Pair, tables: PairTables, folder: Path, expected: list[tuple[Any, ...]]
) -> str:
    """Run a pair's statement, check its rows and its report, and return the files that its scans opened."""
    frame = frame_of(spark, pair, tables)
    try:
        with OpenedFiles(folder) as files:
            rows = run(frame, pair)
        assert rows == expected, pair.text
        if audit.is_on():
            return ""  # it opens files of its own
        opened = files.by_table()
        if pair.meeting.kind == "stream":
            return " · ".join(
                f"{table} {opened.get(table, 0)} of {tables.files[table]}"
                for table in dict.fromkeys(pair.tables)
            )
        report = parquetry.report(frame)
        names = [f"{DATABASE}.{table}" for table in pair.tables]
        said = contradictions(
            report, names, {f"{DATABASE}.{table}": count for table, count in opened.items()}
        )
        assert not said, "\n".join([tables.ours(pair.text), *said, str(report)])
        short = [(scan.table.rpartition(".")[2], files_opened(scan)) for scan in report.scans]
        return " · ".join(f"{table} {count} of {tables.files[table]}" for table, count in short)
    finally:
        if pair.meeting.kind == "cache":
            spark.catalog.clearCache()


def check(spark: SparkSession, tables: PairTables, folder: Path, name: str, turns: Sequence[bool]) -> None:
    """Check the rows, the files and the report of a pair, with adaptive execution on, off or both."""
    pair = PAIRS[name]
    plain = pair.query if pair.meeting.kind == "cache" else pair.text
    expected = plainly(spark, tables.plain(plain))
    if pair.meeting.kind == "cache":
        expected = sorted(expected * 2, key=repr)
    found = {}
    for adaptive in turns:
        with settings(spark, {**pair.mechanism.settings, "spark.sql.adaptive.enabled": adaptive}):
            found[adaptive] = read(spark, pair, tables, folder, expected)
    if not audit.is_on():
        GOLDEN.check(pair.mechanism.name, pair.meeting.name, found.get(True), found.get(False))


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair(spark: SparkSession, tables: PairTables, folder: Path, name: str) -> None:
    """A statement with two mechanisms has plain Spark's rows, opens the files of the golden file, and has a
    report without contradictions. Adaptive execution is on and off by turns, or both if all cases run.
    """
    check(spark, tables, folder, name, (True, False) if STEP == 1 else (zlib.crc32(name.encode()) % 2 == 0,))


def test_pairs_that_were_lost(spark: SparkSession, tables: PairTables, folder: Path) -> None:
    """Pairs that once read more, or whose report was wrong, read no more than the golden file says."""
    for name in (
        "min and max / values of a build side",
        "min and max where files match in part / values of a build side",
        "min and max where files match in part / stream",
        "one-sided bucket join / alone",
        "tuples / cache(), twice",
        "tuples / scalar subquery",
    ):
        check(spark, tables, folder, name, (True, False))


def test_branches_of_a_union_are_answered(spark: SparkSession, tables: PairTables) -> None:
    """The metastore answers each branch of a UNION ALL that it can, and the other branches are read."""
    branches = ("SELECT * FROM {f} WHERE p < 8", "SELECT * FROM {o}", "SELECT * FROM {n} WHERE v % 2 = 0")
    for read in ({"f": 0, "o": 0}, {"f": 0, "o": 0, "n": 4}):
        union = " UNION ALL ".join(branches[: len(read)])
        query = f"SELECT count(*), count(k), min(k), max(v) + 1 FROM ({union})"
        frame = spark.sql(tables.ours(query))
        assert plans.comparable(frame.collect()) == plainly(spark, tables.plain(query))
        scans = parquetry.report(frame).scans
        assert {scan.table.rpartition(".")[2]: files_opened(scan) for scan in scans} == read
