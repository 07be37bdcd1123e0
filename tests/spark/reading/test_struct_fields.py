"""Fields of structs: conditions, orders, limits, aggregates and joins open the files that may have a row."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import examples
from tests.support.tables.filtered import differences, evaluated, found

FIELDS = "lat: DOUBLE, Z: STRING, t: STRUCT<n: BIGINT, ts: TIMESTAMP, o: INT, `x.y`: DECIMAL(9,2)>"
ROWS = """SELECT CAST(id AS INT) id, IF(id % 20 = 19 AND id < 160, NULL, named_struct('lat', (id DIV 20) / 2D,
    'Z', CAST(1000 + id DIV 20 AS STRING), 't', named_struct('n', id DIV 20 * 1000 + id % 20,
    'ts', timestamp_seconds(1772323200 + (id DIV 20) * 86400), 'o', IF(id < 160, NULL, CAST(id AS INT)),
    'x.y', CAST(id AS DECIMAL(9,2))))) s, id `s.lat` FROM range(240) ORDER BY id"""
FILES = 12
"""Files of 20 rows each, in the order of all fields; the first eight have a row without the struct."""


@pytest.fixture(scope="module", params=["parquet", "orc"])
def table(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    name = f"lake.fields.of_{request.param}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.fields")
    spark.sql(f"CREATE TABLE {name} (id INT, s STRUCT<{FIELDS}>, `s.lat` BIGINT) USING {request.param}")
    spark.sql(ROWS).coalesce(1).createOrReplaceTempView("rows_of_fields")
    for number in range(0, FILES, 4):  # few statements, each with four files
        part = spark.sql(f"SELECT * FROM rows_of_fields WHERE id DIV 80 = {number // 4}")
        part.repartitionByRange(4, "id").writeTo(name).append()
    spark.sql("CREATE TABLE IF NOT EXISTS lake.fields.dim (k BIGINT, z STRING) USING parquet")
    spark.sql("INSERT OVERWRITE lake.fields.dim VALUES (5003, '1005'), (7007, '1007')")
    yield name
    spark.sql(f"DROP TABLE {name}")


def opened(spark: SparkSession, query: str) -> list[int]:
    """Return how many files of the table each scan of a query opens."""
    frame = spark.sql(query)
    frame.collect()
    counts = re.findall(r"files ([\d,]+) of ([\d,]+)", str(parquetry.report(frame)))
    return [int(kept) for kept, of in counts if int(of) == FILES]


CONDITIONS = {
    "s.t.n = 5003": 1,
    "S.T.N IN (5003, 9001)": 2,
    "s.z LIKE '1007%' OR s.t.`x.y` < 20": 2,
    "s.t.ts >= '2026-03-12'": 1,
    "to_date(s.t.ts) = DATE '2026-03-05'": 1,
    "date_format(s.t.ts, 'yyyy-MM-dd') = '2026-03-05'": 1,
    "s.t.n + 1 = 5004": 1,
    "upper(s.z) = '1005'": 1,
    "s.t.o IS NOT NULL": 4,
    "s.lat IS NULL": 8,
    "s IS NULL": 8,
    "s.lat = 2.5 AND `s.lat` = 103": 1,
    "`s.lat` = 103 AND s.lat = 3": 0,
}


WIDENED = {
    "s.t.ts >= '2026-03-12'": 3,
    "to_date(s.t.ts) = DATE '2026-03-05'": 5,
    "date_format(s.t.ts, 'yyyy-MM-dd') = '2026-03-05'": 5,
}
"""The same of timestamps in ORC, whose bounds are wider by two days."""


def test_conditions_open_the_files_with_a_row(spark: SparkSession, table: str) -> None:
    """Each condition opens exactly the files with a matching row, and finds all of them."""
    expected = CONDITIONS | (WIDENED if table.endswith("orc") else {})
    counts = {where: opened(spark, f"SELECT id FROM {table} WHERE {where}") for where in CONDITIONS}
    assert counts == {where: [count] for where, count in expected.items()}
    conditions = list(CONDITIONS)
    ours, theirs = found(spark, table, conditions), evaluated(spark, table, conditions)
    assert differences(conditions, ours, theirs) == []


SHAPES = {
    "SELECT id FROM {t} ORDER BY s.t.n DESC LIMIT 3": 1,
    "SELECT id FROM {t} ORDER BY s.z NULLS LAST, id LIMIT 2": 1,
    "SELECT id FROM {t} WHERE s.t.n >= 9000 LIMIT 5": 1,
    "SELECT min(s.t.n), max(s.z), count(s.t.o), max(s.t.`x.y`) FROM {t}": 0,
    "SELECT count(*) FROM {t} WHERE s.t.n >= 10005": 1,
    "SELECT id FROM {t} JOIN lake.fields.dim d ON s.t.n = d.k AND d.z = '1005'": 1,
    "SELECT id FROM {t} WHERE s.z IN (SELECT z FROM lake.fields.dim)": 2,
    "SELECT id FROM {t} WHERE s.t.n = (SELECT min(k) FROM lake.fields.dim)": 1,
}


def test_results_of_fields_open_few_files(spark: SparkSession, table: str) -> None:
    """Orders, limits, aggregates and joins use the statistics of fields, and have the rows of memory."""
    if table.endswith("orc"):
        pytest.skip("what is exact in ORC depends on the type: its conditions are tested above")
    frame = spark.table(table)
    spark.createDataFrame(frame.collect(), frame.schema).createOrReplaceTempView("fields_in_memory")
    for query, files in SHAPES.items():
        assert opened(spark, query.format(t=table)) == [files], query
        if "LIMIT 5" not in query:
            ours, plain = (spark.sql(query.format(t=name)).collect() for name in (table, "fields_in_memory"))
            assert sorted(map(repr, ours)) == sorted(map(repr, plain)), query


def test_changed_fields_keep_their_own_statistics(spark: SparkSession) -> None:
    """A renamed field keeps its statistics; an added one, and one added again, is NULL in older files."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.fields")
    spark.sql("CREATE OR REPLACE TABLE lake.fields.changed (s STRUCT<a: INT, b: INT>) USING parquet")
    spark.sql("INSERT INTO lake.fields.changed VALUES (named_struct('a', 1, 'b', 10)), (NULL)")
    spark.sql("ALTER TABLE lake.fields.changed RENAME COLUMN s.b TO c")
    spark.sql("ALTER TABLE lake.fields.changed DROP COLUMN s.a")
    spark.sql("ALTER TABLE lake.fields.changed ADD COLUMNS (s.a INT, s.b INT)")
    spark.sql("INSERT INTO lake.fields.changed VALUES (named_struct('c', 20, 'a', 2, 'b', 3))")

    def counts(where: str) -> tuple[int, int]:
        frame = spark.sql(f"SELECT * FROM lake.fields.changed WHERE {where}")
        rows = len(frame.collect())
        (files,) = re.findall(r"files (\d+) of 2", str(parquetry.report(frame)))
        return rows, int(files)

    conditions = ("s.a = 1", "s.a = 2", "s.b IS NULL", "s.b = 10", "s.c = 10", "s.c > 10", "s IS NULL")
    assert [counts(where) for where in conditions] == [(0, 0), (1, 1), (2, 1), (0, 0), (1, 1), (1, 1), (1, 1)]
    assert spark.sql("SELECT max(s.a), count(s.c) FROM lake.fields.changed").collect() == [(2, 2)]
    spark.sql("DROP TABLE lake.fields.changed")


KINDS = {
    "INT": "CAST(id % 50 + {n} * 20 AS INT)", "STRING": "concat('k', {n}, '-', id % 7)", "DOUBLE": "IF(id % 9 = 0, double('NaN'), -0.0 * id + {n})",
    "DATE": "DATE '2026-01-01' + CAST({n} * 3 + id % 4 AS INT)", "BOOLEAN": "id % 2 = 0 AND {n} > 2",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ '1800-01-01 00:00:00' + make_dt_interval({n} * 20000, CAST(id % 9 AS INT))",
}  # fmt: skip
TESTS = (
    "{f} = {v}",
    "{f} > {v}",
    "{f} <= {v}",
    "NOT {f} = {v}",
    "{f} <=> {v}",
    "{f} IS NULL",
    "{f} IN ({v}, NULL)",
    "coalesce({f}, {v}) = {v}",
)


@pytest.mark.parametrize("seed", range(examples(6, 2)))
def test_random_structs_have_the_rows_of_plain_evaluation(spark: SparkSession, seed: int) -> None:
    """Random conditions on random fields give the rows that evaluating them on each row gives."""
    choice = random.Random(seed)
    kinds = choice.sample(list(KINDS), 4)
    file_format = choice.choice(["parquet", "parquet", "orc"])
    name = f"lake.fields.random_{seed}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.fields")
    fields = f"a: {kinds[0]}, b: {kinds[1]}, t: STRUCT<c: {kinds[2]}, d: {kinds[3]}>"
    spark.sql(f"CREATE OR REPLACE TABLE {name} (id BIGINT, s STRUCT<{fields}>) USING {file_format}")

    def value(kind: str, number: int) -> str:
        return f"IF(rand({choice.randint(0, 99)}) < {choice.choice([0, 0.2])}, NULL, {KINDS[kind].format(n=number)})"

    def rows(n: int) -> str:
        inner = f"IF(id % {choice.choice([3, 99])} = 1, NULL, named_struct('c', {value(kinds[2], n)}, 'd', {value(kinds[3], n)}))"
        outer = f"named_struct('a', {value(kinds[0], n)}, 'b', {value(kinds[1], n)}, 't', {inner})"
        return f"SELECT id, IF(id % {choice.choice([2, 99])} = 1, NULL, {outer}) s FROM range(40)"

    parts = [spark.sql(rows(n)).repartition(1) for n in range(5)]
    union = parts[0]
    for part in parts[1:]:
        union = union.unionByName(part)
    union.writeTo(name).option("distribution", "none").append()
    tests = []
    for path, kind in zip(("s.a", "S.b", "s.t.c", "s.T.D"), kinds, strict=True):
        literal = spark.sql(
            f"SELECT {KINDS[kind].format(n=choice.randint(0, 5))} v FROM range(5, 6)"
        ).collect()[0][0]
        text = {"INT": f"{literal}", "DOUBLE": f"double('{literal}')", "BOOLEAN": f"{literal}"}.get(
            kind, f"{kind} '{literal}'"
        )
        text = text.removeprefix("STRING ")
        tests += [choice.choice(TESTS).format(f=path, v=text) for _ in range(2)]
    conditions = [*tests, f"{tests[0]} AND NOT ({tests[3]})", f"{tests[1]} OR {tests[5]}"]
    ours, theirs = found(spark, name, conditions), evaluated(spark, name, conditions)
    assert differences(conditions, ours, theirs) == []
    spark.sql(f"DROP TABLE {name}")
