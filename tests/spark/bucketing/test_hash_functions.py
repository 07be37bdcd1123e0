"""For generated values of every type, four bucket hashes agree: Hive's own classes, Spark's, and ours in
Python and SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import compute, parquet
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf

from parquetry.hashing.bucket_hash import bucket_ids, hive_hash
from parquetry.hashing.hash_types import unsettled_reason
from parquetry.layout.bucket_spec import Version
from parquetry.types import type_from_json, type_text
from tests.support.hive.oracle import hive_hashes
from tests.support.hive.values import TYPES, columns, for_arrow, for_hive, hive_type

Rows = Callable[[str], list[tuple[Any, ...]]]
ROWS = 1000
NAMES = list(TYPES)
COLUMN_TYPES = [type_from_json(type) for type in TYPES.values()]
WITHOUT_MAPS = [name for name, type in TYPES.items() if "'map'" not in str(type)]
HASH, BUCKET = "lake.system.hive_hash", "lake.system.hive_bucket"


@pytest.fixture(scope="module")
def values() -> dict[str, list[Any]]:
    """The values of each column."""
    return {name: found for name, _, found in columns(ROWS, seed=11)}


@pytest.fixture(scope="module")
def arrays(values: dict[str, list[Any]]) -> list[pa.Array]:
    """The same as Arrow has them."""
    return [for_arrow(TYPES[name], found) for name, found in values.items()]


def test_python_hashes_as_hives_own_classes_do(values: dict[str, list[Any]], arrays: list[pa.Array]) -> None:
    """25,000 rows: each type by itself, and all of them together, in both versions."""
    written = {name: [for_hive(TYPES[name], each) for each in found] for name, found in values.items()}
    groups: list[Any] = [([hive_type(TYPES[name])], [[v] for v in found]) for name, found in written.items()]
    groups.append(([hive_type(type) for type in TYPES.values()], list(zip(*written.values(), strict=True))))
    *singly, together = hive_hashes(groups)
    for version in (1, 2):
        for at, (name, answer) in enumerate(zip(NAMES, singly, strict=True)):
            found = hive_hash(version, [arrays[at]], [COLUMN_TYPES[at]]).tolist()
            assert differing(values[name], found, answer[version - 1]) == [], (version, name)
        assert hive_hash(version, arrays, COLUMN_TYPES).tolist() == together[version - 1]
    assert all(
        len(set(answer[1])) > ROWS / 4 for name, answer in zip(NAMES, singly, strict=True) if varied(name)
    )


def varied(name: str) -> bool:
    return name not in ("c_boolean", "c_tinyint")


def differing(found: list[Any], ours: list[int], theirs: list[int]) -> list[Any]:
    return [each for each in zip(found, ours, theirs, strict=True) if each[1] != each[2]]


@pytest.fixture(scope="module")
def table(
    spark: SparkSession, arrays: list[pa.Array], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A table with the values."""
    path = tmp_path_factory.mktemp("values") / "values.parquet"
    parquet.write_table(pa.table([pa.array(range(ROWS)), *arrays], ["id", *NAMES]), path)
    ddl = ", ".join(f"{name} {type_text(type)}" for name, type in TYPES.items())
    spark.sql("CREATE NAMESPACE lake.hashes")
    spark.sql(f"CREATE TABLE lake.hashes.t (id BIGINT, {ddl})")
    spark.sql(f"INSERT INTO lake.hashes.t SELECT id, {', '.join(NAMES)} FROM parquet.`{path}`")
    yield "lake.hashes.t"
    spark.sql("DROP NAMESPACE lake.hashes CASCADE")


@pytest.fixture(scope="module")
def padded(arrays: list[pa.Array]) -> dict[str, pa.Array]:
    """The values as Spark has them: it pads a char."""
    held = dict(zip(NAMES, arrays, strict=True))
    pad = compute.utf8_rpad
    held["c_char"] = pad(held["c_char"], 7, " ")
    parts = [held["c_struct"].field(i) for i in range(4)]
    parts[1] = pad(parts[1], 7, " ")
    held["c_struct"] = pa.StructArray.from_arrays(
        parts, fields=list(held["c_struct"].type), mask=held["c_struct"].is_null()
    )
    return held


def expected(version: Version, held: dict[str, pa.Array], names: list[str]) -> list[int]:
    found: list[int] = hive_hash(
        version, [held[name] for name in names], [type_from_json(TYPES[name]) for name in names]
    ).tolist()
    return found


def hashes(frame: DataFrame) -> DataFrame:
    """Hash each column of the table, and all together, by the functions' names."""
    found = [
        sf.call_function(HASH, sf.lit(version), sf.col(name)).alias(f"{name} {version}")
        for version in (1, 2)
        for name in NAMES
    ]
    found += [
        sf.call_function(HASH, sf.lit(version), *map(sf.col, NAMES)).alias(f"all {version}")
        for version in (1, 2)
    ]
    found += [
        sf.call_function(HASH, sf.lit("spark"), *map(sf.col, WITHOUT_MAPS)).alias("all spark"),
        *(
            sf.call_function(HASH, sf.lit("spark"), sf.col(name)).alias(f"{name} spark")
            for name in WITHOUT_MAPS
        ),
        *(sf.hash(sf.col(name)).alias(f"{name} own") for name in WITHOUT_MAPS),
    ]
    return frame.orderBy("id").select(found)


@pytest.mark.parametrize("mode", ["CODEGEN_ONLY", "NO_CODEGEN"])
def test_sql_hashes_as_python_does(
    spark: SparkSession, table: str, padded: dict[str, pa.Array], values: dict[str, list[Any]], mode: str
) -> None:
    """Every type by itself, and all together, by generated code and without; also by Spark's hash."""
    spark.conf.set("spark.sql.codegen.factoryMode", mode)
    spark.conf.set("spark.sql.codegen.wholeStage", mode == "CODEGEN_ONLY")
    try:
        found = hashes(spark.table(table)).toArrow().to_pydict()
    finally:
        spark.conf.unset("spark.sql.codegen.factoryMode")
        spark.conf.unset("spark.sql.codegen.wholeStage")
    versions: tuple[Version, ...] = (1, 2, "spark")
    for version in versions:
        names = WITHOUT_MAPS if version == "spark" else NAMES
        for name in names:
            wanted = expected(version, padded, [name])
            assert differing(values[name], found[f"{name} {version}"], wanted) == [], (version, name)
            if version == "spark":
                assert found[f"{name} own"] == wanted, name
        assert found[f"all {version}"] == expected(version, padded, names)


def test_sql_knows_a_char_and_a_varchar_wherever_they_come_from(
    spark: SparkSession, table: str, padded: dict[str, pa.Array]
) -> None:
    """The functions work through views, DataFrames, joins, aliases and fields; times after the year 9999 hash
    as in Python, too.
    """
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT id, c_char k, c_varchar vc, c_struct.f1 f FROM {table}"
    )
    spark.table(table).select("id", sf.col("c_char").alias("k2")).createOrReplaceTempView("w")
    found = (
        spark.sql(f"""
            SELECT {HASH}(1, k) AS k, {HASH}(1, vc) AS vc, {HASH}(1, f) AS f, {HASH}(1, k2) AS k2,
              {BUCKET}(1, 7, k2, vc) AS one, {BUCKET}(2, 7, k2, vc) AS two, {BUCKET}('SPARK', 7, k2, vc) AS spark,
              {HASH}(1, timestamp_micros(c_bigint)) AS far1, {HASH}(2, timestamp_micros(c_bigint)) AS far2,
              {HASH}(2, CAST(c_timestamp AS TIMESTAMP_NTZ)) AS ntz, {HASH}(2, NULL, CAST(NULL AS INT)) AS nothing
            FROM (SELECT * FROM v WHERE id >= 0) JOIN w USING (id) JOIN {table} USING (id) ORDER BY id""")
        .toArrow()
        .to_pydict()
    )
    assert found["k"] == found["k2"] == expected(1, padded, ["c_char"])
    assert found["vc"] == expected(1, padded, ["c_varchar"])
    field = compute.struct_field(padded["c_struct"], [1])
    assert found["f"] == hive_hash(1, [field], [type_from_json("char(7)")]).tolist()
    keys = [padded["c_char"], padded["c_varchar"]]
    types = [type_from_json("char(7)"), type_from_json("varchar(12)")]
    for name, version in (("one", 1), ("two", 2), ("spark", "spark")):
        assert found[name] == bucket_ids(version, 7, keys, types).tolist()
    far = [padded["c_bigint"].view(pa.timestamp("us"))]
    assert (found["far1"], found["far2"]) == (hive_hash(1, far).tolist(), hive_hash(2, far).tolist())
    assert found["ntz"] == expected(2, padded, ["c_timestamp"])
    assert set(found["nothing"]) == {0}


def test_the_functions_stand_wherever_an_expression_may(spark: SparkSession, table: str, rows: Rows) -> None:
    """In WHERE, GROUP BY with ORDER BY, a subquery; as generated code, not as a call of a function."""
    bucket = f"{BUCKET}(2, 8, id)"
    counts = rows(f"SELECT {bucket} AS b, count(*) FROM {table} GROUP BY {bucket} ORDER BY {bucket}")
    ids = bucket_ids(2, 8, [pa.array(range(ROWS))]).tolist()
    assert counts == [(b, ids.count(b)) for b in range(8)]
    assert rows(f"SELECT count(*) FROM {table} WHERE {bucket} IN (SELECT {BUCKET}(2, 8, 3L))") == [
        (counts[ids[3]][1],)
    ]
    plan = spark.sql(f"SELECT {bucket} AS b FROM {table}")._jdf.queryExecution().executedPlan()
    text = spark._jvm.org.apache.spark.sql.execution.debug.package.codegenString(plan)
    assert "HiveHashCode2.hashLong(" in text
    assert "produceResult" not in text


def test_the_functions_are_right_where_our_rules_are_not(spark: SparkSession) -> None:
    """Spark calls them row by row in a session that has the catalog, but not our extensions."""
    jvm: Any = spark._jvm
    types = jvm.org.apache.spark.sql.types.StructType.fromDDL("v STRING, n INT, a BIGINT, b STRING")
    bound = jvm.org.apache.spark.sql.parquetry.hash.HashFunction.all().apply("hive_bucket").bind(types)
    keys = [pa.array([5, None, -(1 << 40)], pa.int64()), pa.array(["é", "abc", None])]
    given = spark.createDataFrame(
        [(v, n, a, b) for v in ("1", "2", "spark") for n in (3, 8) for a, b in zip(*(k.to_pylist() for k in keys), strict=True)],
        "v STRING, n INT, a BIGINT, b STRING",
    )  # fmt: skip
    internal = given._jdf.queryExecution().executedPlan().executeCollect()
    found = [bound.produceResult(row) for row in internal]
    assert found == [
        bucket for v in (1, 2, "spark") for n in (3, 8) for bucket in bucket_ids(v, n, keys).tolist()
    ]


BUCKETED_BY = [
    "c_bigint",
    "c_string",
    "c_double",
    "c_date",
    "c_timestamp",
    "c_decimal9",
    "c_decimal38",
    "c_boolean",
]


def test_files_of_sparks_own_bucketed_tables_hold_what_the_hash_says(
    spark: SparkSession, table: str, tmp_path: Path
) -> None:
    """By several columns, and by a char, which Spark hashes with its blanks."""
    for name, keys in (("many", BUCKETED_BY), ("chars", ["c_char"])):
        listed = ", ".join(f"{key} {type_text(TYPES[key])}" for key in keys)
        spark.sql(
            f"CREATE TABLE spark_catalog.default.{name} ({listed}) USING parquet "
            f"CLUSTERED BY ({', '.join(keys)}) INTO 6 BUCKETS LOCATION '{tmp_path / name}'"
        )
        try:
            spark.sql(f"INSERT INTO spark_catalog.default.{name} SELECT {', '.join(keys)} FROM {table}")
        finally:
            spark.sql(f"DROP TABLE spark_catalog.default.{name}")
        seen = 0
        for file in (tmp_path / name).glob("part-*.parquet"):
            read = parquet.ParquetFile(file, coerce_int96_timestamp_unit="us").read()
            bucket = re.search(r"_(\d+)(?:\.|$)", file.name)
            assert bucket is not None
            ids = bucket_ids(
                "spark", 6, [read[key] for key in keys], [type_from_json(TYPES[key]) for key in keys]
            )
            assert set(ids.tolist()) == {int(bucket[1])}
            seen += len(read)
        assert seen == ROWS


def test_what_is_claimed_of_version_1_holds_of_what_spark_writes_for_hive(
    spark: SparkSession, table: str, padded: dict[str, pa.Array]
) -> None:
    """Spark fills buckets of Hive's tables by its own hash; a type claims no buckets if this hash differs
    from Hive's.
    """
    jvm: Any = spark._jvm
    expressions, utils = (
        jvm.org.apache.spark.sql.catalyst.expressions,
        jvm.org.apache.spark.sql.classic.ExpressionUtils,
    )

    def theirs(name: str) -> Column:
        child = jvm.PythonUtils.toSeq([utils.expression(sf.col(name)._jc)])
        return Column(utils.column(expressions.HiveHash(child))).bitwiseAND(0x7FFFFFFF).alias(name)

    found = spark.table(table).orderBy("id").select(*map(theirs, WITHOUT_MAPS)).toArrow().to_pydict()
    agreeing = {
        name
        for name in WITHOUT_MAPS
        if found[name] == [each & 0x7FFFFFFF for each in expected(1, padded, [name])]
    }
    claimed = {name for name in WITHOUT_MAPS if unsettled_reason(1, [type_from_json(TYPES[name])]) is None}
    assert claimed == agreeing
