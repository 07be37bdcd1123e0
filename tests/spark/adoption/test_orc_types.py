"""For ORC files of other types than the table's columns, these tests check what Spark's readers return, and
what the metastore believes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from parquetry.data_files.stored_types import Conversion, orc_conversion
from parquetry.types import parse_type

Rows = Callable[[str], list[tuple[Any, ...]]]

_MOMENT = dt.datetime(2020, 1, 1, 12, 34, 56, 123456)
_FILES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "tinyint": (pa.int8(), [-128, 0, 127]),
    "smallint": (pa.int16(), [-(2**15), 1, 2**15 - 1]),
    "int": (pa.int32(), [-(2**31), 7, 2**31 - 1]),
    "bigint": (pa.int64(), [-(2**63), 7, 2**63 - 1]),
    "float": (pa.float32(), [-3.0e38, 1.5, 16777216.0]),
    "double": (pa.float64(), [-1.0e300, 0.1, 1.5]),
    "decimal(4,1)": (pa.decimal128(4, 1), [Decimal("-999.9"), Decimal("1.5")]),
    "decimal(9,2)": (pa.decimal128(9, 2), [Decimal("-1234567.89"), Decimal("1.25")]),
    "decimal(20,2)": (pa.decimal128(20, 2), [Decimal("123456789012345678.99"), Decimal("-1.25")]),
    "string": (pa.string(), ["abc", "12", "longer text", " b "]),
    "binary": (pa.binary(), [b"\x00\xff", b"abc"]),
    "date": (pa.date32(), [dt.date(2020, 1, 1), dt.date(1970, 1, 2)]),
    "timestamp": (pa.timestamp("us"), [_MOMENT, dt.datetime(1970, 1, 1, 0, 0, 1)]),
    "timestamp with local time zone": (pa.timestamp("us", "UTC"), [_MOMENT]),
    "timestamp_ntz": (pa.timestamp("us"), [_MOMENT, dt.datetime(1970, 1, 1, 0, 0, 1)]),
}
"""For each type in a file, how PyArrow writes it, and values at its ends."""
_TYPES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(3,0)", "decimal(4,1)", "decimal(9,2)",
    "decimal(10,2)", "decimal(10,3)", "decimal(12,2)", "decimal(20,0)", "decimal(20,2)", "decimal(38,10)", "string",
    "binary", "date", "timestamp", "timestamp_ntz",
)  # fmt: skip


def _write(spark: SparkSession, folder: Path, stored: str) -> None:
    """Write a file with a column for each type of a table, all with the same values and a NULL."""
    kind, values = _FILES[stored]
    table = pa.table({f"c{n}": pa.array([*values, None], kind) for n in range(len(_TYPES))})
    if stored != "timestamp_ntz":
        folder.mkdir()
        po.write_table(table, str(folder / "a.orc"))
        return
    frame = spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], ", ".join(
        f"c{n} timestamp_ntz" for n in range(len(_TYPES))
    ))  # fmt: skip
    frame.coalesce(1).write.orc(str(folder))


@pytest.mark.parametrize("stored", _FILES)
def test_each_pair_of_types_is_read_as_the_conversion_says(
    spark: SparkSession, tmp_path: Path, stored: str
) -> None:
    """With both of Spark's readers, SAME keeps each value and each NULL, REFUSED fails, and CHANGED returns
    some value.
    """
    files = tmp_path / "files"
    _write(spark, files, stored)
    own = "timestamp" if stored.startswith("timestamp with") else stored
    conversions = {f"c{n} {kind}": orc_conversion(stored, parse_type(kind)) for n, kind in enumerate(_TYPES)}
    read = [column for column, conversion in conversions.items() if conversion != Conversion.REFUSED]
    same = [column for column in read if conversions[column] == Conversion.SAME]
    at = next(place for place, column in enumerate(same) if column.endswith(f" {own}"))
    for vectorized in ("true", "false"):
        spark.conf.set("spark.sql.orc.enableVectorizedReader", vectorized)
        try:
            frame = spark.read.schema(", ".join(read)).orc(str(files))
            texts = (f"CAST({column.split()[0]} AS STRING)" for column in read)
            kept = [column.split()[0] for column in same]
            rows = frame.select(*kept, *map(expr, texts)).collect()
            assert len(rows) == len(_FILES[stored][1]) + 1
            for row in rows:
                assert [_plain(value) for value in row[: len(kept)]] == [_plain(row[at])] * len(kept)
            for column in conversions.keys() - read if vectorized == "true" else ():
                with pytest.raises(Exception, match=r"(?i)orc|convert|type|class|cast"):
                    spark.read.schema(column).orc(str(files)).collect()
        finally:
            spark.conf.unset("spark.sql.orc.enableVectorizedReader")


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray) else value


def test_queries_and_deletes_are_those_of_the_converted_values(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """A text that is not a number is read as NULL, and neither a count nor a DELETE uses the file's own
    statistics.
    """
    folder = tmp_path / "p=1"
    folder.mkdir()
    po.write_table(
        pa.table({
            "s": ["12", "abc"], "n": [1, 70000], "d": [1.5, 1e30], "x": pa.array([dt.date(2020, 1, 1)] * 2),
            "m": pa.array([Decimal("1.27"), Decimal("12345.67")], pa.decimal128(9, 2)), "ok": pa.array([1, 2], pa.int32()),
        }),
        str(folder / "a.orc"),
    )  # fmt: skip
    columns = "s INT, n SMALLINT, d BIGINT, x TIMESTAMP, m DECIMAL(5,1), ok BIGINT, p INT"
    spark.sql(f"CREATE TABLE {db}.t ({columns}) USING orc PARTITIONED BY (p) LOCATION '{tmp_path}'")
    assert [row[0] for row in rows(f"MSCK REPAIR TABLE {db}.t")] == ["added"]
    truth = f"(SELECT * FROM {db}.t WHERE rand() < 2)"
    for column in ("s", "n", "d", "x", "m", "ok"):
        answers = f"SELECT count({column}), min({column}), max({column}) FROM "
        assert rows(answers + f"{db}.t") == rows(answers + truth), column
        counted = "SELECT count(*) FROM {} WHERE " + column
        for condition in (" IS NULL", " IS NOT NULL"):
            assert rows(counted.format(f"{db}.t") + condition) == rows(counted.format(truth) + condition), (
                column
            )
    assert rows(f"SELECT count(*) FROM {db}.t WHERE s IS NULL") == [(1,)]
    spark.sql(f"DELETE FROM {db}.t WHERE s IS NOT NULL")
    assert rows(f"SELECT n FROM {db}.t") == [(None,)]


def test_columns_that_spark_refuses_are_unfit(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """Sync and fsck report each column that Spark fails to read, and no statistics answer queries on it."""
    po.write_table(
        pa.table({"a": [1], "b": ["x"], "c": pa.array([[1]]), "d": pa.array([dt.date(2020, 1, 1)])}),
        str(tmp_path / "a.orc"),
    )
    spark.sql(f"CREATE TABLE {db}.t (a DATE, b INT, c INT, d BIGINT) USING orc LOCATION '{tmp_path}'")
    told = [row[5] for row in rows(f"MSCK REPAIR TABLE {db}.t") if row[0] == "unfit"]
    assert [text.split(" in the file")[0] for text in told] == [
        "a.orc: column a is date in the table, and bigint",
        "a.orc: column c is int in the table, and array",
        "a.orc: column d is bigint in the table, and date",
    ]
    assert {row[3].split(" in the file")[0] for row in rows(f"CALL lake.system.fsck(table => '{db}.t')")} == {
        text.split(" in the file")[0].removeprefix("a.orc: ") for text in told
    }
    for column in ("a", "c", "d"):
        with pytest.raises(Exception, match=r"(?i)orc|convert|type|class|cast"):
            rows(f"SELECT min({column}) FROM {db}.t")
