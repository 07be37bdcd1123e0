"""Bloom filters prune row groups without a value between their minimum and maximum, and the
rows are right.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import sampled
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

SMALL = {
    "parquet": "'parquet.block.size' = '4096', 'parquet.block.size.row.check.min' = '100', 'parquet.page.size' = '256'",
    "orc": "'orc.row.index.stride' = '1000', 'orc.bloom.filter.fpp' = '0.001'",
}
TYPES = {
    "tinyint": ("1Y", "-128Y", "127Y"),
    "smallint": ("1S", "-32768S"),
    "int": ("1", "-2147483648", "0"),
    "bigint": ("1L", "9223372036854775807L"),
    "decimal(9,2)": ("1.50", "-0.01", "0.00"),
    "decimal(18,4)": ("1.5", "-99999999999.1234"),
    "decimal(38,10)": ("1.5", "-12345678901234567890.5"),
    "string": ("''", "'é中😀'", "'a '"),
    "varchar(4)": ("''", "'a b'", "'中'"),
    "char(4)": ("'a   '", "'a b '", "'abcd'"),
    "binary": ("X''", "X'00FF'"),
    "date": ("DATE'0001-01-01'", "DATE'1969-12-31'", "DATE'2026-11-22'"),
    "timestamp": ("TIMESTAMP'0001-01-01 00:00:00'", "TIMESTAMP'1500-01-01 01:02:03.000004'", "TIMESTAMP'2026-03-29 01:30:00'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'1969-12-31 23:59:58.5'", "TIMESTAMP_NTZ'2026-03-29 02:30:00'"),
}  # fmt: skip


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_row_groups_are_left_out(spark: SparkSession, db: str, format: str) -> None:
    """From even numbers in any order, a condition or a join on odd ones reads no row; without filters it
    reads all.
    """
    table, wanted = f"{db}.t", f"{db}.wanted"
    spark.sql(
        f"CREATE TABLE {wanted} AS SELECT * FROM VALUES (4001L, '4001', 1), (77L, '77', 1), (2L, '2', 0) v(k, s, n)"
    )
    read = {}
    for filters in ("", ", 'bloom-filter-columns' = 'k, s'"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")
        spark.sql(
            f"CREATE TABLE {table} (k bigint, s string, v int) USING {format} TBLPROPERTIES ({SMALL[format]}{filters})"
        )
        rows = "SELECT (id * 7919) % 5000 * 2 k, CAST((id * 7919) % 5000 * 2 AS STRING) s, id v FROM range(0, 5000, 1, 1)"
        spark.sql(f"INSERT INTO {table} {rows}")
        for query in (
            f"SELECT v FROM {table} WHERE k = 4001",
            f"SELECT v FROM {table} WHERE s IN ('4001', '77')",
            f"SELECT /*+ BROADCAST(w) */ f.v FROM {table} f JOIN {wanted} w ON f.k = w.k WHERE w.n = 1",
            f"SELECT /*+ BROADCAST(w) */ f.v FROM {table} f JOIN {wanted} w ON f.s = w.s WHERE w.n = 1",
        ):
            with settings(spark, {"spark.sql.adaptive.enabled": False}):
                frame = spark.sql(query)
                assert frame.collect() == []
                read[query, filters != ""] = plans.rows_read(frame, table)
    assert all(count == (0 if filtered else 5000) for (_, filtered), count in read.items()), read


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_every_type_is_found(spark: SparkSession, db: str, format: str) -> None:
    """For each type that has filters, a condition and a join by any value return the value's rows."""
    columns = ", ".join(f"c{n} {type}" for n, type in enumerate(TYPES))
    names = ", ".join(f"c{n}" for n in range(len(TYPES)))
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} ({columns}) USING {format} TBLPROPERTIES ({SMALL[format]}, 'bloom-filter-columns' = '{names}')"
    )
    longest = max(map(len, TYPES.values()))
    for row in range(longest):
        values = (f"CAST({(*values, *['NULL'] * longest)[row]} AS {type})" for type, values in TYPES.items())
        spark.sql(f"INSERT INTO {table} SELECT {', '.join(values)}")
    casts = [
        (n, f"CAST({value} AS {type})") for n, (type, values) in enumerate(TYPES.items()) for value in values
    ]
    asked = [f"SELECT {{}}, c{n} IS NOT NULL FROM {table} WHERE c{n} = {value}" for n, value in casts]
    joined = [
        f"SELECT /*+ BROADCAST(d) */ {{}}, f.c{n} IS NOT NULL FROM {table} f JOIN (VALUES ({value})) d(x) ON f.c{n} = d.x"
        for n, value in casts
    ]
    for questions in (sampled(asked, format), sampled(joined, format, "joined")):
        union = " UNION ALL ".join(each.format(number) for number, each in enumerate(questions))
        found = sorted(map(tuple, spark.sql(union).collect()))
        assert found == [(number, True) for number in range(len(questions))], questions


def test_they_are_as_large_as_needed(spark: SparkSession, db: str, warehouse: Path) -> None:
    """A filter of a thousand values takes some kilobytes, not the megabyte that Parquet takes if it does not
    know the number.
    """
    sizes = []
    for name, filters in (("without", ""), ("filtered", "TBLPROPERTIES ('bloom-filter-columns' = 'k')")):
        spark.sql(f"CREATE TABLE {db}.{name} (k bigint) {filters}")
        spark.sql(f"INSERT INTO {db}.{name} SELECT id * 7919 % 1000003 FROM range(0, 1000, 1, 1)")
        (file,) = (warehouse / "lake" / f"{db.removeprefix('lake.')}.db" / name).rglob("*.parquet")
        sizes.append(file.stat().st_size)
    assert 0 < sizes[1] - sizes[0] < 8_000


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("gone", "gone"),
        ("p", "column p is a partition column, which files do not hold"),
        ("d", "column d is a double, and files have no Bloom filters of these"),
        ("m", "column m is a map"),
        ("`k", "not a list of column names"),
    ],
)
def test_what_has_none(spark: SparkSession, db: str, columns: str, said: str) -> None:
    """CREATE and ALTER refuse a column that files cannot have a filter for; a renamed column keeps its
    filter.
    """
    table = f"{db}.t"
    created = f"CREATE TABLE {table} (k int, d double, m map<int, int>, p int) PARTITIONED BY (p)"
    with pytest.raises(Exception, match="bloom-filter-columns") as refused:
        spark.sql(f"{created} TBLPROPERTIES ('bloom-filter-columns' = '{columns}')")
    assert said in str(refused.value)
    spark.sql(f"{created} TBLPROPERTIES ('bloom-filter-columns' = 'k')")
    with pytest.raises(Exception, match="bloom-filter-columns"):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('bloom-filter-columns' = '{columns}')")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN k TO key")
    properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    assert properties["bloom-filter-columns"] == "key"
