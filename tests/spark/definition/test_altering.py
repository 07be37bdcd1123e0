"""ALTER COLUMN … TYPE: each widening reads old files. Other changes are in `altering.test`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.tables import filtered

Rows = Callable[..., list[tuple[Any, ...]]]
FORMATS = pytest.mark.parametrize("file_format", ["parquet", "orc"])


def columns(rows: Rows, table: str) -> dict[str, str]:
    """Return the names and types of a table's columns, in order."""
    described = rows(f"DESCRIBE {table}")
    names = [row[0] for row in described]
    end = names.index("# Partition Information") if "# Partition Information" in names else len(names)
    return {row[0]: row[1] for row in described[:end]}


WIDER = {
    "both": [
        ("tinyint", "-3", "int", -3), ("smallint", "300", "bigint", 300), ("int", "-5", "bigint", -5),
        ("float", "CAST(1.5 AS float)", "double", 1.5), ("decimal(5,2)", "1.25", "decimal(10,2)", Decimal("1.25")),
        ("varchar(3)", "'ab'", "varchar(9)", "ab"), ("varchar(3)", "'ab'", "string", "ab"),
        ("char(3)", "'abc'", "varchar(3)", "abc"), ("char(3)", "'abc'", "string", "abc"),
    ],
    "parquet": [
        ("int", "7", "double", 7.0), ("decimal(5,2)", "1.25", "decimal(10,4)", Decimal("1.2500")),
        ("int", "7", "decimal(12,2)", Decimal("7.00")),
    ],
}  # fmt: skip


@FORMATS
def test_widened_columns(spark: SparkSession, rows: Rows, db: str, file_format: str) -> None:
    """Each widening on offer reads old files as the new type, and filters by it without losing a row."""
    cases = WIDER["both"] + (WIDER["parquet"] if file_format == "parquet" else [])
    names = [f"c{i}" for i in range(len(cases))]
    spark.sql(
        f"CREATE TABLE {db}.t (id int, st struct<x:int>, {', '.join(f'{n} {c[0]}' for n, c in zip(names, cases, strict=True))}) "
        f"USING {file_format}"
    )
    spark.sql(f"INSERT INTO {db}.t SELECT 1, named_struct('x', 1), {', '.join(c[1] for c in cases)}")
    spark.sql(f"INSERT INTO {db}.t SELECT 2, {', '.join(['NULL'] * (len(names) + 1))}")
    for name, (_, _, wider, _) in zip(names, cases, strict=True):
        spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN {name} TYPE {wider}")
    spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN st.x TYPE bigint")
    values = ["3000000000" if name == "c2" else "NULL" for name in names]
    spark.sql(f"INSERT INTO {db}.t SELECT 3, named_struct('x', 3000000000), {', '.join(values)}")
    assert columns(rows, f"{db}.t") == {
        "id": "int",
        "st": "struct<x:bigint>",
        **{n: c[2] for n, c in zip(names, cases, strict=True)},
    }
    assert rows(f"SELECT {', '.join(names)} FROM {db}.t WHERE id = 1") == [tuple(c[3] for c in cases)]
    conditions = [f"{n} = CAST({c[1]} AS {c[2]})" for n, c in zip(names, cases, strict=True)]
    conditions += [" AND ".join(conditions), "c2 < 3000000000", "st.x < 3000000000", "c2 >= 3000000000"]
    expected = [[1]] * (len(conditions) - 1) + [[3]]
    assert filtered.differences(conditions, filtered.found(spark, f"{db}.t", conditions), expected) == []
    assert rows(f"SELECT min(c2), max(c2) FROM {db}.t") == [(-5, 3000000000)]
