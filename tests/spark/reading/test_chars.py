"""Conditions on columns of type CHAR and VARCHAR: the rows and the partitions of Spark's own tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.spark.partitions.test_functions import kept_by_spark, kept_by_us
from tests.support.effort import sampled
from tests.support.tables import filtered
from tests.support.tables.bucketed_tables import settings

Rows = Callable[..., list[tuple[Any, ...]]]

COLUMNS = "id INT, d CHAR(4), e VARCHAR(4), c CHAR(3), v VARCHAR(3)"
VALUES = (
    "(1, 'a', 'a', 'a', 'a'), (2, 'b', 'b ', 'b', 'b '), (3, 'abc', 'abc', 'abc', 'abc'), "
    "(4, NULL, NULL, NULL, NULL), (5, 'a', 'a ', 'a', 'a '), (6, ' a', ' a', 'ab', 'ab'), (7, 'b\\t', 'c', 'b\\t', 'c')"
)
ENDS = [
    "= 'a'", "= 'a  '", "= 'a     '", "= 'abcd'", "= ''", "!= 'a'", "< 'b'", "<= 'ab'", "> 'a'", ">= 'ab '",
    "BETWEEN 'a' AND 'ab'", "BETWEEN 'ab' AND 'b'", "IN ('a', 'b ')", "IN ('a', NULL)", "NOT IN ('a', 'b')",
    "IN ('a','ab','abc','b','e','f','g','h','i','j','k')", "LIKE 'a'", "LIKE 'a  '", "LIKE 'a%'", "LIKE '% '",
    "LIKE '_b%'", "NOT LIKE 'a%'", "IS NULL", "IS NOT NULL", "<=> 'a'", "<=> NULL", "< 'a     '", "> 'abcd'",
]  # fmt: skip
WHOLE = [
    "'a' = c", "c = v", "c = 'a' OR v = 'b'", "c = 'a' AND id < 3", "NOT (c = 'a' OR c > 'b')", "trim(c) = 'a'",
    "length(c) = 3", "upper(c) = 'A  '", "rpad(c, 2, ' ') = 'ab'", "(c, v) IN (('a  ', 'a'), ('b  ', 'b '))",
]  # fmt: skip
CONDITIONS = [*(f"{column} {end}" for column in "cv" for end in ENDS), *WHOLE]
ON_DATA = [f"{column} {end}" for column in "de" for end in ENDS]
SETTINGS = [
    "",
    "spark.sql.readSideCharPadding=false",
    "spark.sql.legacy.charVarcharAsString=true",
    "spark.sql.codegen.wholeStage=false",
]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """The same rows in a table of ours and in one of Spark's own, each a partition."""
    spark.sql("CREATE NAMESPACE lake.chars")
    names = ("lake.chars.t", "spark_catalog.default.chars_t")
    for name in names:
        spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING parquet PARTITIONED BY (c, v)")
        spark.sql(f"INSERT INTO {name} VALUES {VALUES}")
    yield names
    spark.sql("DROP TABLE spark_catalog.default.chars_t")
    spark.sql("DROP NAMESPACE lake.chars CASCADE")


@pytest.mark.parametrize("setting", SETTINGS)
def test_partitions_and_rows(spark: SparkSession, tables: tuple[str, str], setting: str) -> None:
    """Conditions on padded chars, other chars and plain texts keep no more partitions than Spark, and return
    the same rows.
    """
    asked = sampled(CONDITIONS, setting)
    name, _, value = setting.partition("=")
    with settings(spark, {name: value} if name else {}):
        wrong = []
        for condition in asked:
            ours, stock = (spark.table(table).where(condition) for table in tables)
            mine, theirs = kept_by_us(ours), kept_by_spark(stock)
            if mine > theirs:
                wrong.append((condition, mine, theirs))
        assert wrong == []
        same_rows(spark, tables, asked)
        if setting == SETTINGS[2]:  # where Spark's own table gives a char of a directory without its blanks
            same_rows(spark, tables, sampled(ON_DATA, setting))


def same_rows(spark: SparkSession, tables: tuple[str, str], conditions: Sequence[str]) -> None:
    """Each of the conditions selects the same rows of both tables."""
    ours, stock = (filtered.found(spark, table, conditions) for table in tables)
    assert filtered.differences(conditions, ours, stock) == []


def files(spark: SparkSession, table: str, condition: str) -> int:
    """Return how many files a query reads."""
    step = parquetry.report(spark.table(table).where(condition)).scans[0].step("files")
    assert step is not None
    return step.kept


def test_files_are_left_out_by_their_bounds(spark: SparkSession, tables: tuple[str, str]) -> None:
    """Bounds of a CHAR outside of the partition columns, padded as Spark reads it, prune files, and the rows
    are as in Spark's own table.
    """
    same_rows(spark, tables, sampled(ON_DATA, "files"))
    counts = {
        "d = 'a'": 2, "d < 'a'": 1, "d IN ('x', 'abc')": 1, "d LIKE 'a%'": 3, "d IS NULL": 1, "d BETWEEN 'a' AND 'ab'": 2,
        "d > 'b'": 0, "d <= 'b'": 6, "d = 'x'": 0,
        "d = 'b'": 2,  # 'b\t  ' is less, and what a file with such a text in its bounds holds may be more
    }  # fmt: skip
    assert {condition: files(spark, tables[0], condition) for condition in counts} == counts


def test_the_report_says_it_as_it_was_written(spark: SparkSession, tables: tuple[str, str]) -> None:
    """Without what Spark puts around a CHAR that it reads."""
    for condition, told in (
        ("c = 'a'", "c = 'a  '"),
        ("c BETWEEN 'a' AND 'ab'", "c <= 'ab'"),
        ("upper(c) = 'A  '", "upper(c) = 'A  '"),
        ("length(trim(c)) = 1", "length(trim(c)) = 1"),
    ):
        step = parquetry.report(spark.table(tables[0]).where(condition)).scans[0].step("partitions")
        assert step is not None
        assert told in step.by


@pytest.mark.needs("functions of partitions")
def test_few_partitions_are_looked_at(
    spark: SparkSession, tables: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison of a CHAR is a range of keys: Spark is given no partitions' values to evaluate it."""
    from parquetry.planner import planner
    from parquetry.planner.protocol import questions
    from parquetry.planner.scans import scans

    given: list[int] = []

    def counting(lake: Any, question: Any) -> Any:
        answer = scans.partition_values(lake, question)
        given.extend(map(len, answer.values))
        return answer

    monkeypatch.setitem(planner._ANSWERS, questions.PartitionValues, counting)
    for condition, most in (
        ("c = 'a'", 0),
        ("c IN ('a', 'b')", 0),
        ("c < 'ab'", 0),
        ("c LIKE 'b%'", 0),
        ("c IS NULL", 0),
        ("c = 'ab     '", 2),
        ("c >= 'ab' AND length(c) = 3", 5),
    ):
        given.clear()
        assert kept_by_us(spark.table(tables[0]).where(condition)) > 0
        assert max(given, default=0) <= most, condition


@pytest.mark.parametrize("type_", ["CHAR(2)", "CHAR(3)", "CHAR(6)", "VARCHAR(6)", "STRING"])
def test_joins(spark: SparkSession, db: str, tables: tuple[str, str], rows: Rows, type_: str) -> None:
    """With texts of other lengths, some with blanks, by = and by <=>."""
    spark.sql(f"CREATE TABLE {db}.small (k {type_}, a INT) USING parquet")
    spark.sql(f"INSERT INTO {db}.small VALUES ('a', 1), ('b', 1), ('ab', 2), (NULL, 1)")
    if type_ != "CHAR(2)":
        spark.sql(f"INSERT INTO {db}.small VALUES ('a  ', 1), ('b\t ', 1)")
    joins = " UNION ALL ".join(
        f"SELECT /*+ BROADCAST(s) */ '{column} {op}', t.id FROM {{0}} t JOIN {db}.small s ON t.{column} {op} s.k WHERE s.a = 1"
        for column in ("c", "v", "d")
        for op in ("=", "<=>")
    )
    ours, stock = (sorted(rows(joins.format(table))) for table in tables)
    assert ours == stock
    assert ours


@pytest.mark.parametrize("padded", [True, False])
def test_adopted_directories(
    spark: SparkSession, db: str, stock: str, tmp_path: Path, padded: bool, rows: Rows
) -> None:
    """With the blanks in their names and without them, and files whose chars have none."""
    folder = tmp_path / "tree"
    for number, text in enumerate(("a", "ab", "abc", "b")):
        name = text.ljust(3).replace(" ", "%20") if padded else text
        spark.sql(f"SELECT {number} AS id, '{text}' AS d").coalesce(1).write.parquet(f"{folder}/c={name}")
    for name in (f"{db}.t", f"{stock}.t"):
        spark.sql(
            f"CREATE TABLE {name} (id INT, d CHAR(3), c CHAR(3)) USING parquet PARTITIONED BY (c) LOCATION '{folder}'"
        )
        spark.sql(f"MSCK REPAIR TABLE {name}")
    ends = sampled(ENDS, str(padded))
    same_rows(spark, (f"{db}.t", f"{stock}.t"), [f"{column} {end}" for column in "cd" for end in ends])
    for end in ends:
        ours, theirs = (spark.table(f"{each}.t").where(f"c {end}") for each in (db, stock))
        assert kept_by_us(ours) <= kept_by_spark(theirs), end
    assert rows(f"SELECT count(*) FROM {db}.t WHERE c = 'ab'") == [(1,)]
    spark.sql(f"DELETE FROM {db}.t WHERE c = 'ab'")
    assert rows(f"SELECT id FROM {db}.t ORDER BY id") == [(0,), (2,), (3,)]
