"""Rows are where readers look for them, though their files hold other dates and times than were given.

ORC's calendar has no 5 to 14 October 1582, nor has Parquet's in the mode `LEGACY`. ORC reads some times of
the last second before 1970 as a second later (ORC-763).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from tests.support.stores.metastores import current_table

Rows = Callable[[str], list[tuple[Any, ...]]]
STOCK = "spark_catalog.default.of_other_days"
"""A table of Spark's own, to compare with."""

DATES = ["1582-10-04", "1582-10-05", "1582-10-10", "1582-10-14", "1582-10-15", "1969-12-31", "0999-02-28"]
TIMES = [
    "1582-10-04 01:00:00", "1582-10-07 01:02:03.000004", "1582-10-10 00:00:00", "1582-10-15 00:00:00",
    "1582-10-15 01:02:03.000004", "1969-12-31 23:59:59.5", "1970-01-01 00:00:00.5", "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00.999999", "1899-12-31 23:59:59.5", "1969-12-31 23:59:58.5",
]  # fmt: skip
"""Some of these are read as others of these."""


@pytest.fixture(params=["orc", "parquet"])
def written(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Set the mode `LEGACY` for Parquet's files, which ORC does not heed, and return a format of files."""
    settings = {"datetimeRebaseModeInWrite": "LEGACY", "outputTimestampType": "TIMESTAMP_MICROS"}
    for name, value in settings.items():
        spark.conf.set(f"spark.sql.parquet.{name}", value)
    yield request.param
    for name in settings:
        spark.conf.unset(f"spark.sql.parquet.{name}")
    spark.sql(f"DROP TABLE IF EXISTS {STOCK}")


def values(kind: str) -> list[str]:
    """Return values of a type as SQL: each value twice, and NULL."""
    if kind == "DATE":
        return [f"DATE'{each}'" for each in DATES] * 2 + ["NULL"]
    if kind == "TIMESTAMP":
        return [f"TIMESTAMP'{each}'" for each in TIMES] * 2 + ["NULL"]
    dates = [each for each in values("DATE") if each != "NULL"]
    times = [each for each in values("TIMESTAMP") if each != "NULL"]
    both = list(zip(dates, times, strict=False))
    return [f"named_struct('d', {d}, 'a', array({t}, NULL))" for d, t in both] + ["NULL"]


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "STRUCT<d: DATE, a: ARRAY<TIMESTAMP>>"])
@pytest.mark.parametrize("version", ["1", "2", "spark"])
def test_buckets_are_of_the_values_that_readers_see(
    spark: SparkSession, db: str, rows: Rows, written: str, kind: str, version: str
) -> None:
    """Equal values that were read are in one bucket, in order, for WHERE, GROUP BY and joins. Spark's own
    table gives the same values.
    """
    listed = ", ".join(f"({value}, {at})" for at, value in enumerate(values(kind)))
    spark.sql(f"CREATE TABLE {STOCK} (k {kind}, n INT) USING {written}")
    clause = (
        f"CLUSTERED BY (k) SORTED BY (k) INTO 7 BUCKETS TBLPROPERTIES ('bucketing-version' = '{version}')"
    )
    spark.sql(f"CREATE TABLE {db}.t (k {kind}, n INT) USING {written} {clause}")
    for table in (f"{db}.t", STOCK):
        spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM VALUES {listed} AS v (k, n)")
    given = rows(f"SELECT string(k), n FROM {db}.t ORDER BY n")
    assert given == rows(f"SELECT string(k), n FROM {STOCK} ORDER BY n")
    grouped = f"SELECT string(k), count(*) FROM (SELECT k, count(*) FROM {db}.t GROUP BY k) GROUP BY 1"
    assert {count for _, count in rows(grouped)} == {1}
    joined = f"SELECT count(*) FROM {db}.t a JOIN {db}.t b ON a.k <=> b.k"
    again = joined.replace(f"{db}.t b", f"{STOCK} b")
    texts = [text for text, _ in given]
    assert rows(joined) == rows(again) == [(sum(texts.count(text) for text in texts),)]
    if kind in ("DATE", "TIMESTAMP"):
        for value in {value for value in values(kind) if value != "NULL"}:
            found = rows(f"SELECT string({value}), count(*) FROM {db}.t WHERE k = {value}")
            assert [(text, count) for text, count in found] == [(found[0][0], texts.count(found[0][0]))]


def test_directories_statistics_and_rewrites(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, written: str
) -> None:
    """A value that the files cannot hold is in the directory of the value that readers see, and in the order
    of a merged bucket, also after UPDATE and compaction. Partitions keep the date that was given, as their
    names hold it.
    """
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (d DATE, n INT, p DATE) USING {written} PARTITIONED BY (p) "
        "CLUSTERED BY (n) SORTED BY (d) INTO 2 BUCKETS SKEWED BY (d) ON ('1582-10-15') STORED AS DIRECTORIES "
        "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"
    )
    listed = ", ".join(f"(DATE'{day}', {at}, DATE'1582-10-10')" for at, day in enumerate(DATES))
    spark.sql(f"INSERT INTO {table} VALUES {listed}")
    spark.sql(f"INSERT INTO {table} VALUES (DATE'1582-10-08', 20, DATE'1582-10-10')")

    def check(count: int) -> None:
        assert rows(f"SELECT count(*) FROM {table} WHERE d = DATE'1582-10-15'") == [(count,)]
        partition = current_table(store, table).partition((-141_432,))
        assert partition is not None
        assert {file.cell for file in partition.files} == {-1, 0}
        heavy = [file.rows or 0 for file in partition.files if file.cell == 0]
        assert sum(heavy) == count
        assert rows(f"SELECT count(*), min(d), max(d) FROM {table} WHERE p = DATE'1582-10-10'") == [
            rows(f"SELECT count(*), min(d + INTERVAL 0 DAYS), max(d + INTERVAL 0 DAYS) FROM {table}")[0]
        ]

    check(5)
    spark.sql(f"UPDATE {table} SET d = DATE'1582-10-09' WHERE n = 0")
    check(6)
    spark.sql(f"CALL lake.system.compact(table => '{table.removeprefix('lake.')}')")
    check(6)


@pytest.mark.parametrize("zone", ["America/Juneau", "Europe/Amsterdam", "Asia/Manila"])
def test_times_in_zones_with_gaps(spark: SparkSession, db: str, rows: Rows, written: str, zone: str) -> None:
    """Buckets go by the values that Spark's own files give back, in zones that left out a day or have odd
    offsets. The times are around the change of calendars, the end of local mean time, and 1970.
    """
    turns = (
        -12_219_292_800,
        -12_220_156_800,
        -2_208_988_800,
        -3_225_223_728,
        -1_025_740_800,
        -62_135_596_800,
        0,
    )
    zones = spark._jvm.java.util.TimeZone
    default = zones.getDefault()
    session_zone = spark.conf.get("spark.sql.session.timeZone")
    times = " UNION ALL ".join(
        f"SELECT timestamp_micros({turn}000000 + hour * 1800000000 + part) t FROM range(-50, 50) h(hour), "
        "(VALUES (0L), (1L), (999999L), (500000L)) v(part)"
        for turn in turns
    )
    try:
        zones.setDefault(zones.getTimeZone(zone))
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.sql(f"CREATE TABLE {STOCK} USING {written} AS {times}")
        spark.sql(
            f"CREATE TABLE {db}.t USING {written} CLUSTERED BY (t) INTO 4 BUCKETS "
            f"TBLPROPERTIES ('bucketing-version' = 'spark') AS {times}"
        )
        stock = f"SELECT t FROM {STOCK}"
        assert rows(f"{stock} EXCEPT ALL SELECT t FROM {db}.t") == []
        joined = f"SELECT count(*) FROM (SELECT DISTINCT t FROM {db}.t) a JOIN ({stock}) b ON a.t = b.t"
        assert rows(joined) == rows(f"SELECT count(*) FROM {STOCK}")
    finally:
        zones.setDefault(default)
        spark.conf.set("spark.sql.session.timeZone", session_zone)


PROLEPTIC = "orc.proleptic.gregorian"
"""With this setting, ORC takes the days that Spark gives it for other days."""


@pytest.fixture(params=["property", "OPTIONS", "writer", "session", "Hadoop"])
def proleptic(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Set the setting for a session or a process, if it is one of these, and return where it is set."""
    hadoop = spark._jsc.hadoopConfiguration()
    if request.param == "session":
        spark.conf.set(PROLEPTIC, "true")
    if request.param == "Hadoop":
        hadoop.set(PROLEPTIC, "true")
    yield request.param
    spark.conf.unset(PROLEPTIC)
    hadoop.unset(PROLEPTIC)


@pytest.mark.every_case
def test_orc_has_one_calendar(spark: SparkSession, db: str, rows: Rows, proleptic: str) -> None:
    """However `orc.proleptic.gregorian` is set, an old date or time is read as it was written, and is in the
    bucket of the value that readers see.
    """
    clause = {
        "property": f"TBLPROPERTIES ('{PROLEPTIC}' = 'true')",
        "OPTIONS": f"OPTIONS ('{PROLEPTIC}' 'true')",
    }.get(proleptic, "")
    early = [f"{year}-03-04" for year in ("0001", "0999", "1500")]
    days = [f"(DATE'{day}', TIMESTAMP'{day} 05:06:07')" for day in early]
    days += [f"(DATE'{TIMES[n][:10]}', TIMESTAMP'{TIMES[n]}')" for n in range(len(TIMES))]
    days += [f"(DATE'{day}', TIMESTAMP'{day} 00:00:00.000001')" for day in DATES]
    for column in "dt":
        table = f"{db}.by_{column}"
        spark.sql(
            f"CREATE TABLE {table} (d DATE, t TIMESTAMP) USING orc {clause} CLUSTERED BY ({column}) INTO 7 BUCKETS"
        )
        written = spark.sql(f"SELECT * FROM VALUES {', '.join(days)} AS v (d, t)").writeTo(table)
        (written.option(PROLEPTIC, "true") if proleptic == "writer" else written).append()
        given = rows(f"SELECT string(d), string(t) FROM {table}")
        assert {(day, f"{day} 05:06:07") for day in early} <= set(given)
        seen = ", ".join(f"(DATE'{day}', TIMESTAMP'{time}')" for day, time in set(given))
        for hint in ("MERGE", "BROADCAST"):
            joined = (
                f"SELECT /*+ {hint}(b) */ string(a.d), string(a.t) FROM {table} a "
                f"JOIN (VALUES {seen} AS v (d, t)) b ON a.{column} <=> b.{column} AND a.d = b.d AND a.t = b.t"
            )
            assert sorted(rows(joined)) == sorted(given)


def test_days_that_javas_calendar_lacks(spark: SparkSession, db: str, rows: Rows) -> None:
    """Parquet's files have 5 to 14 October 1582, and conditions on these days lose no row group."""
    listed = ", ".join(f"(DATE'{time[:10]}', TIMESTAMP'{time}')" for time in TIMES[1:3])
    spark.sql(
        f"CREATE TABLE {db}.t USING parquet AS SELECT /*+ COALESCE(1) */ * FROM VALUES {listed} v (d, t)"
    )
    for time in TIMES[1:3]:
        for column, value in {"d": f"DATE'{time[:10]}'", "t": f"TIMESTAMP'{time}'"}.items():
            found = f"SELECT count(*) FROM {db}.t WHERE"
            assert rows(f"{found} {column} = {value}") == [(1,)]
            assert rows(f"{found} {column} IN ({value}, {value} + INTERVAL 400 DAYS)") == [(1,)]
