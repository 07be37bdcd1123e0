"""With `parquetry.audit`, the rows of each new file are compared with the file's record before the commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf

from parquetry import metastore as ms
from parquetry.data_files import FileRecord
from parquetry.identifiers import quote_part
from parquetry.spark.write import committed_files
from parquetry.spark.write.slots import RowBuckets, RowSlots
from tests.support.stores.metastores import current_table

Rows = Callable[[str], list[tuple[Any, ...]]]

COLUMNS = (
    "k INT, x STRING, c CHAR(3), n DECIMAL(20, 2), f DOUBLE, b BINARY, d DATE, t TIMESTAMP, o TIMESTAMP_NTZ, "
    "s STRUCT<a: INT, b: ARRAY<DATE>>, m MAP<STRING, DATE>, `parquetry.file` BOOLEAN, p DATE"
)
SELECT = """
    SELECT CAST(id % 10 AS INT), if(id % 3 = 0, NULL, if(id % 3 = 1, 'heavy', repeat(string(id), 40))),
      if(id % 4 = 0, 'a\t', 'a'), CAST(id - 20.5 AS DECIMAL(20, 2)), if(id % 5 = 0, DOUBLE('NaN'), id - 10.0),
      CAST(string(id) AS BINARY), date_add(DATE'1582-10-01', CAST(id AS INT)), timestamp_micros(id * 77777 - 2000000),
      TIMESTAMP_NTZ'0001-01-01 00:00:00' + make_interval(id), named_struct('a', CAST(id AS INT), 'b', array(DATE'1582-10-08')),
      map('k', DATE'1582-10-08'), id % 2 = 0, if(id < 20, DATE'1582-10-08', NULL)
    FROM range(40)
"""
CLAUSE = (
    "PARTITIONED BY (p) CLUSTERED BY (k, t, s) SORTED BY (d DESC, c, n) INTO 3 BUCKETS "
    "SKEWED BY (x) ON ('heavy', NULL) STORED AS DIRECTORIES "
    "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed', 'bucketing-version' = '{version}')"
)


@pytest.fixture(autouse=True)
def _audited(spark: SparkSession) -> Iterator[None]:
    """Have every write of the test audited."""
    spark.conf.set("parquetry.audit", "on")
    yield
    spark.conf.unset("parquetry.audit")


def history(rows: Rows, table: str) -> list[str | None]:
    """Return what the history says of the audit of each version, oldest first."""
    found = rows(f"SELECT summary FROM {table}.history ORDER BY version")
    return [summary and json.loads(summary).get("audited") for (summary,) in found]


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
@pytest.mark.parametrize("version", [1, 2, "spark"])
def test_right_writes_pass(spark: SparkSession, db: str, rows: Rows, fmt: str, version: Any) -> None:
    """INSERT, UPDATE, MERGE and compaction of most types pass, in each version of the hash, with directories.

    The history counts the files, also of early days, NaN, long texts and padded chars.
    """
    columns = COLUMNS.replace(", m MAP<STRING, DATE>", "") if version == "spark" else COLUMNS
    select = SELECT.replace("map('k', DATE'1582-10-08'),", "") if version == "spark" else SELECT
    spark.sql(f"CREATE TABLE {db}.t ({columns}) USING {fmt} {CLAUSE.format(version=version)}")
    spark.sql(f"INSERT INTO {db}.t {select}")
    spark.sql(f"UPDATE {db}.t SET d = DATE'1582-10-09', k = 11 WHERE k = 1")
    spark.sql(
        f"MERGE INTO {db}.t USING (SELECT 2 AS k) u ON t.k = u.k WHEN MATCHED THEN UPDATE SET x = 'heavy'"
    )
    spark.sql(f"CALL lake.system.compact(table => '{db.removeprefix('lake.')}.t')")
    said = history(rows, f"{db}.t")
    assert said[0] is None
    assert len(said) >= 4
    assert all(text is not None and text.endswith("written, all hold") for text in said[1:])
    assert rows(f"SELECT count(*), count_if(d = DATE'1582-10-15') > 8 FROM {db}.t") == [(40, fmt == "orc")]


def test_it_is_off_by_default_and_can_be_a_share(spark: SparkSession, db: str, rows: Rows) -> None:
    """Without the setting, or with a share of 0, no write is audited. Buckets are not needed for it."""
    spark.sql(f"CREATE TABLE {db}.t (k INT)")
    for value in (None, "0", "1", "off"):
        if value is None:
            spark.conf.unset("parquetry.audit")
        else:
            spark.conf.set("parquetry.audit", value)
        spark.sql(f"INSERT INTO {db}.t VALUES (1), (NULL)")
    assert history(rows, f"{db}.t") == [None, None, None, "1 file written, all hold", None]
    spark.conf.set("parquetry.audit", "on")
    spark.sql(f"CREATE TABLE {db}.u AS SELECT id, id AS p FROM range(3)")
    assert history(rows, f"{db}.u") == [None, "1 file written, all hold"]


def shift_buckets(patch: pytest.MonkeyPatch) -> None:
    """Put each row into the bucket after its own."""
    add = RowBuckets.add

    def shifted(self: RowBuckets, rows: DataFrame) -> DataFrame:
        before = set(rows.columns)
        rows = add(self, rows)
        new = [name for name in rows.columns if name not in before]
        return rows.withColumns({name: (sf.col(quote_part(name)) + 1) % 4 for name in new})

    patch.setattr(RowBuckets, "add", shifted)


def swap_cells(patch: pytest.MonkeyPatch) -> None:
    """Put the rows of no heavy value into the directory of one."""
    case = RowSlots._case

    def swapped(self: RowSlots, *given: Any) -> Column:
        return sf.greatest(case(self, *given), sf.lit(5))

    patch.setattr(RowSlots, "_case", swapped)


def leave_order(patch: pytest.MonkeyPatch) -> None:
    """Leave rows in the order of the query."""
    patch.setattr(RowSlots, "order", lambda *_args, **_names: [])


def change_records(change: Callable[[FileRecord], FileRecord]) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what changes the record of each new file."""
    record = committed_files._record
    return lambda patch: patch.setattr(
        committed_files, "_record", lambda file, metadata: change(record(file, metadata))
    )


def column(**fields: Any) -> Callable[[FileRecord], FileRecord]:
    """Return what changes the statistics of the column `n`."""

    def change(file: FileRecord) -> FileRecord:
        columns = dict(file.columns or {})
        columns["n"] = msgspec.structs.replace(columns["n"], **fields)
        return msgspec.structs.replace(file, columns=columns)

    return change


PLANTED = {
    "bucket": (shift_buckets, r"is of bucket \d.* and \d+ rows? belongs? elsewhere, such as k = \d+ of bucket \d"),
    "directory": (swap_cells, r"is of bucket \d and cell 0, and \d+ rows belong elsewhere, such as x = .* of cell -1"),
    "order": (leave_order, r"is out of order: n = \d+ stands below n = \d+"),
    "rows": (change_records(lambda file: msgspec.structs.replace(file, rows=file.rows + 1)), "rows, and its record says"),
    "nulls": (change_records(column(nulls=2)), "n IS NULL, and its record says 2"),
    "minimum": (change_records(column(min=30)), "rows below the recorded minimum 30 of n"),
    "maximum": (change_records(column(max=30)), "rows above the recorded maximum 30 of n"),
    "exact": (change_records(column(min=-1, min_exact=True)), "no row with the recorded minimum -1 of n"),
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("planted", PLANTED)
def test_planted_faults_are_found(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, planted: str
) -> None:
    """A write with a fault in it is refused by name, its files are deleted, and the table is as before."""
    plant, says = PLANTED[planted]
    spark.sql(
        f"CREATE TABLE {db}.t (k INT, n INT, x INT) CLUSTERED BY (k) SORTED BY (n) INTO 4 BUCKETS SKEWED BY (x) ON (7, 8) "
        "STORED AS DIRECTORIES TBLPROPERTIES ('list-bucketing-rules' = 'relaxed', 'distribution' = 'auto')"
    )
    values = "SELECT CAST(id AS INT), CAST(pmod(id * 37, 100) AS INT), CAST(if(id < 50, 7, id) AS INT) FROM range(100)"
    table = current_table(store, f"{db}.t")
    folder = Path(table.metadata.location.removeprefix("file:"))
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        with pytest.raises(PySparkException, match=says) as error:
            spark.sql(f"INSERT INTO {db}.t {values}")
    assert "PARQUETRY_AUDIT" in str(error.value)
    assert not list(folder.rglob("*.parquet"))
    assert current_table(store, f"{db}.t").version == table.version
    assert rows(f"SELECT count(*) FROM {db}.t") == [(0,)]
