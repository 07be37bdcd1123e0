"""For any condition on a table, Parquetry returns the rows that Spark returns without pruning."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry.config import SPARK_SERIES, series_of
from tests.support.effort import examples
from tests.support.tables import filtered
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.core

_LONG = "a" * 70
_FAILS_ON_NULL = series_of(pyspark.__version__) != next(iter(SPARK_SERIES))
"""Spark 4.2 and earlier write what a source is asked into the log, and fail on `bin IN (X'00', NULL)`."""
_NULL_AMONG_BYTES = re.compile(r"bin (NOT )?IN \([^)]*NULL")
_TYPES: dict[str, tuple[str, list[Any], list[str]]] = {
    "b": ("boolean", [True, False], ["true", "false"]),
    "i1": ("tinyint", [-128, -1, 0, 5, 127], ["-128", "5", "127", "300", "2.5", "'5'"]),
    "i2": ("smallint", [-32768, 0, 300, 32767], ["300", "40000", "-1", "300.0"]),
    "i4": ("int", [-(2**31), -7, 0, 255, 256, 2**31 - 1], ["255", "3000000000", "-7", "255.5", "1e3"]),
    "i8": (
        "bigint",
        [-(2**63), 0, 2**53 + 1, 2**63 - 1],
        ["9007199254740993", "9007199254740992D", "-1", "0"],
    ),
    "f4": (
        "float",
        [-1.5, -0.0, 0.0, 0.1, 3.0e38, float("nan"), float("inf"), float("-inf")],
        [
            "0.0",
            "-0.0D",
            "CAST('NaN' AS FLOAT)",
            "0.1",
            "CAST(0.1 AS FLOAT)",
            "1e39",
            "CAST('Infinity' AS DOUBLE)",
        ],
    ),
    "f8": (
        "double",
        [-1.5, -0.0, 0.0, 0.1, 1e300, float("nan"), float("inf")],
        ["0.0", "-0.0D", "CAST('NaN' AS DOUBLE)", "0.1D", "-1.5", "CAST('-Infinity' AS DOUBLE)"],
    ),
    "d": (
        "decimal(10,2)",
        [Decimal("-99999999.99"), Decimal("0.00"), Decimal("1.50"), Decimal("99999999.99")],
        ["1.5", "1.505", "0", "100000000", "'1.50'", "1.5D"],
    ),
    "dd": (
        "decimal(30,4)",
        [Decimal("-1" + "0" * 20), Decimal("0.0001"), Decimal("9" * 20)],
        ["0.0001", "0", "1e10"],
    ),
    "s": (
        "string",
        ["", "a", "a%b", "é", "\U0001f600", "Z", _LONG, _LONG + "z"],
        ["''", "'a'", "'a%b'", "'é'", f"'{_LONG}'", f"'{_LONG}z'", "'zzz'", "'\U0001f600'"],
    ),
    "vc": ("varchar(8)", ["", "a", "a ", "héllo"], ["'a'", "'a '", "'héllo'", "''"]),
    "c": ("char(4)", ["", "a", "abcd", "b\t"], ["'a'", "'a  '", "'abcd'", "'abcde'", "'b'", "''"]),
    "bin": ("binary", [b"", b"\x00", b"a", b"\xff\xfe"], ["X''", "X'00'", "X'61'", "X'FFFE'", "X'FFFF'"]),
    "dt": (
        "date",
        [
            dt.date(1, 1, 1),
            dt.date(1582, 10, 4),
            dt.date(1970, 1, 1),
            dt.date(2024, 2, 29),
            dt.date(9999, 12, 31),
        ],
        ["DATE'1582-10-04'", "DATE'2024-02-29'", "TIMESTAMP'2024-02-29 12:00:00'", "'2024-02-29'"],
    ),
    "ts": (
        "timestamp",
        [dt.datetime(1900, 1, 1), dt.datetime(1970, 1, 1), dt.datetime(2024, 3, 10, 2, 30, 0, 123456)],
        ["TIMESTAMP'1970-01-01 00:00:00'", "TIMESTAMP'2024-03-10 02:30:00.123456'", "DATE'2024-03-10'"],
    ),
    "tn": (
        "timestamp_ntz",
        [dt.datetime(1900, 1, 1), dt.datetime(1970, 1, 1), dt.datetime(2024, 3, 10, 2, 30, 0, 123456)],
        [
            "TIMESTAMP_NTZ'1970-01-01 00:00:00'",
            "TIMESTAMP_NTZ'2024-03-10 02:30:00.123456'",
            "DATE'2024-03-10'",
        ],
    ),
}
_OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def _predicate(dice: random.Random, names: list[str], depth: int = 0) -> str:
    roll = dice.random()
    if depth < 2 and roll < 0.35:
        parts = [f"({_predicate(dice, names, depth + 1)})" for _ in range(dice.randint(2, 3))]
        return dice.choice((" AND ", " OR ")).join(parts)
    if depth < 2 and roll < 0.45:
        return f"NOT ({_predicate(dice, names, depth + 1)})"
    name = dice.choice(names)
    literals = _TYPES[name][2]
    one = dice.choice(literals)
    match dice.randrange(8):
        case 0:
            return f"{name} IS {dice.choice(('', 'NOT '))}NULL"
        case 1:
            listed = ", ".join(dice.sample(literals, k=min(len(literals), 2)) + dice.choice(([], ["NULL"])))
            return f"{name} {dice.choice(('', 'NOT '))}IN ({listed})"
        case 2 if name in ("s", "vc", "c"):
            pattern = dice.choice(("a%", "%b", "%l%", "a", "_", "", "%", "aaaa%", "a\\\\%%"))
            return f"{name} {dice.choice(('', 'NOT '))}LIKE '{pattern}'"
        case 3:
            return f"{name} BETWEEN {one} AND {dice.choice(literals)}"
        case 4:
            return f"{one} {dice.choice(_OPERATORS)} {name}"
        case 5 if name == "b":
            return dice.choice(("b", "NOT b"))
    return f"{name} {dice.choice(_OPERATORS)} {one}"


@pytest.fixture(scope="module")
def source(spark: SparkSession) -> Iterator[list[str]]:
    """The rows, as the view `source`, and as a plain Spark table, `default.oracle`, which is read without
    pruning.
    """
    dice = random.Random(20260)
    rows = [
        (
            i,
            i % 3,
            *(None if dice.random() < 0.2 else dice.choice(values) for _, values, _ in _TYPES.values()),
        )
        for i in range(120)
    ]
    declared = [f"{name} {kind}" for name, (kind, _, _) in _TYPES.items()]
    plain = ", ".join(
        [
            "id int",
            "part int",
            *(c.replace("char(4)", "string").replace("varchar(8)", "string") for c in declared),
        ]
    )
    spark.createDataFrame(rows, plain.replace("varstring", "string")).coalesce(1).createOrReplaceTempView(
        "source"
    )
    spark.sql("DROP TABLE IF EXISTS spark_catalog.default.oracle")
    spark.sql(
        f"CREATE TABLE spark_catalog.default.oracle (id int, part int, {', '.join(declared)}) USING parquet"
    )
    spark.sql("INSERT INTO spark_catalog.default.oracle SELECT * FROM source")
    yield declared
    spark.sql("DROP TABLE spark_catalog.default.oracle")


def _compare(spark: SparkSession, table: str, predicates: list[str], oracle: str) -> None:
    """Filter a table by each predicate; the oracle evaluates them all on every row, so that it
    cannot prune.
    """
    usable = []
    for predicate in predicates:
        try:
            spark.sql(f"SELECT {predicate} FROM {oracle}")
        except AnalysisException as error:  # an ill-typed comparison says nothing of pruning
            if "DATATYPE_MISMATCH" not in str(error):
                raise
        else:
            if not (_FAILS_ON_NULL and _NULL_AMONG_BYTES.search(predicate)):
                usable.append(predicate)
    assert len(usable) > 0.8 * len(predicates)
    for start in range(0, len(usable), 40):
        batch = usable[start : start + 40]
        found, expected = filtered.found(spark, table, batch), filtered.evaluated(spark, oracle, batch)
        assert filtered.differences(batch, found, expected) == []


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_predicates_on_data_columns_lose_and_invent_no_row(
    spark: SparkSession, db: str, source: list[str], file_format: str
) -> None:
    """Statistics, row groups and dictionaries prune as plain evaluation does, without generated code, too."""
    table = f"{db}.every_type"
    spark.sql(
        f"CREATE TABLE {table} (id int, {', '.join(source)}, part int) USING {file_format} PARTITIONED BY (part)"
    )
    columns = ", ".join(_TYPES)
    # one file for each few rows, so that files differ in their bounds, and have columns of NULL only
    for low, high in ((0, 30), (30, 34), (34, 36), (36, 120)):
        spark.sql(
            f"INSERT INTO {table} SELECT id, {columns}, part FROM source WHERE id >= {low} AND id < {high}"
        )
    dice = random.Random(7)
    predicates = [_predicate(dice, list(_TYPES)) for _ in range(examples(200))]
    _compare(spark, table, predicates, "spark_catalog.default.oracle")
    interpreted = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        f"spark.sql.{file_format}.enableVectorizedReader": "false",
    }
    with settings(spark, interpreted):
        _compare(spark, table, predicates[: examples(40, least=5)], "spark_catalog.default.oracle")


def test_predicates_on_partition_columns_of_every_type_decide_exactly(
    spark: SparkSession, db: str, source: list[str]
) -> None:
    """Partition columns of every primitive type, with NULL: generated predicates, which Spark does not
    evaluate again, leave the right rows."""
    table = f"{db}.every_key"
    spark.sql(
        f"CREATE TABLE {table} (id int, part int, {', '.join(source)}) USING parquet PARTITIONED BY ({', '.join(_TYPES)})"
    )
    # what a directory's name can say: no empty text, and binary that is text
    named = ", ".join(
        f"nullif({c}, '') AS {c}"
        if c in ("s", "vc")
        else f"nullif(nullif({c}, X'00'), X'FFFE') AS {c}"
        if c == "bin"
        else c
        for c in _TYPES
    ).replace("nullif(nullif(bin,", "nullif(nullif(nullif(bin, X''),")
    spark.sql(f"INSERT INTO {table} SELECT id, part, {named} FROM source WHERE id < 25")
    oracle = "every_key_oracle"
    spark.sql(
        f"SELECT id, part, {named} FROM spark_catalog.default.oracle WHERE id < 25"
    ).createOrReplaceTempView(oracle)
    dice = random.Random(8)
    _compare(spark, table, [_predicate(dice, list(_TYPES)) for _ in range(examples(200))], oracle)
