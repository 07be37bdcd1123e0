"""Letter case does not distinguish columns: readers, statistics and conditions have one rule, for any setting
of the session.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.support.tables import filtered

Rows = Callable[[str], list[tuple[Any, ...]]]
SETTING = "spark.sql.caseSensitive"
FORMATS = pytest.mark.parametrize("file_format", ["parquet", "orc"])


def _write(path: Path, file_format: str, table: pa.Table, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if file_format == "parquet":
        pq.write_table(table, path, **options)
    else:
        po.write_table(table, str(path))


@pytest.fixture(params=["false", "true"])
def sensitive(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Both values of the session's setting."""
    spark.conf.set(SETTING, request.param)
    yield request.param
    spark.conf.unset(SETTING)


@FORMATS
def test_files_that_spell_columns_otherwise_are_read_by_the_rule_of_their_statistics(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, file_format: str, sensitive: str
) -> None:
    """Rows, conditions, counts and bounds agree on adopted files with `ID` and `id`, also within structs and
    row groups.
    """
    for p, (name, field) in enumerate(itertools.product(("ID", "id", "Id"), ("F", "f"))):
        values = [100 * p + row for row in range(50)]
        table = pa.table(
            {
                name: pa.array([None, *values[1:]], pa.int64()),
                "S": pa.array([None if v % 7 == 0 else {field: v, "g": "x"} for v in values]),
            }
        )
        options = {"row_group_size": 10, "bloom_filter_options": {name: {"ndv": 50}}}
        _write(tmp_path / f"P={p}" / f"x.{file_format}", file_format, table, **_known(options))
    spark.sql(
        f"CREATE TABLE {db}.t (id BIGINT, s STRUCT<f: BIGINT, g: STRING>, p INT) USING {file_format} "
        f"PARTITIONED BY (p) LOCATION '{tmp_path}'"
    )
    assert {row[0] for row in rows(f"MSCK REPAIR TABLE {db}.t")} == {"added"}
    everything = rows(f"SELECT id, s.f, p FROM {db}.t")
    ids = sorted((p, i) for i, _, p in everything if i is not None)
    assert len(everything) == 300
    assert ids == [(p, 100 * p + row) for p in range(6) for row in range(1, 50)]
    fields = [f for _, f, _ in everything if f is not None]
    assert len(fields) == sum(v % 7 != 0 for p in range(6) for v in range(100 * p, 100 * p + 50))
    assert rows(f"SELECT count(id), min(id), max(id), count(s) FROM {db}.t") == [(294, 1, 549, len(fields))]
    assert rows(f"SELECT p FROM {db}.t WHERE id IS NULL ORDER BY p") == [(p,) for p in range(6)]
    assert rows(f"SELECT p FROM {db}.t WHERE id <=> NULL ORDER BY p") == [(p,) for p in range(6)]
    assert rows(f"SELECT count(*) FROM {db}.t WHERE s.f IS NULL") == [(300 - len(fields),)]
    values = (16, 116, 216, 316, 416, 516)
    expected = [[value] for value in values]
    assert filtered.found(spark, f"{db}.t", [f"id = {value}" for value in values]) == expected
    assert filtered.found(spark, f"{db}.t", [f"s.f = {value}" for value in values], "s.f") == expected
    both = filtered.found(spark, f"{db}.t", [f"id >= {value} AND s.f < {value + 5}" for value in values], "1")
    assert {len(each) for each in both} <= {4, 5}


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that this PyArrow's writer has."""
    names = pq.write_table.__doc__ or ""
    return {name: value for name, value in options.items() if name in names}


@FORMATS
def test_a_name_that_a_file_has_twice_is_unfit(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, file_format: str, sensitive: str
) -> None:
    """Adoption and fsck report such a column.

    No statistic answers a query on it, as its meaning is ambiguous.
    """
    _write(
        tmp_path / f"two.{file_format}", file_format, pa.table({"id": [1, 2], "ID": [None, 4], "a": [5, 6]})
    )
    _write(tmp_path / f"one.{file_format}", file_format, pa.table({"ID": [3], "a": [7]}))
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, a BIGINT) USING {file_format} LOCATION '{tmp_path}'")
    told = [row[5] for row in rows(f"MSCK REPAIR TABLE {db}.t") if row[0] == "unfit"]
    expected = (
        "column id is in the file 2 times, as id, ID, and names do not count in letter case: queries of the column fail. "
        "Have the file written with other names, or take it out."
    )
    assert told == [f"two.{file_format}: {expected}"]
    found = rows(f"CALL lake.system.fsck(table => '{db}.t')")
    assert [(row[0], Path(row[2]).name, row[3]) for row in found] == [
        ("unfit column", f"two.{file_format}", expected)
    ]
    assert rows(f"SELECT sum(a), count(*) FROM {db}.t WHERE a > 5") == [(13, 2)]
    for query in ("count(id)", "min(id)", "id"):
        with pytest.raises(Exception, match=r"(?i)duplicate field"):
            rows(f"SELECT {query} FROM {db}.t")
    with pytest.raises(Exception, match=r"(?i)duplicate field"):
        rows(f"SELECT a FROM {db}.t WHERE id > 2 AND id IS NOT NULL")


def test_a_field_that_a_file_has_twice_is_unfit(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """The error names the field within structs, arrays and maps; fields that the table does not have are not
    reported.
    """
    twice = pa.struct([("f", pa.int64()), ("F", pa.int64())])
    row = {"f": 1, "F": 2}
    table = pa.table(
        {
            "s": pa.array([{"in": row}], pa.struct([("in", twice)])),
            "l": pa.array([[row]], pa.list_(twice)),
            "m": pa.array([[("k", row)]], pa.map_(pa.string(), twice)),
            "other": pa.array([row], twice),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    kind = "STRUCT<f: BIGINT>"
    spark.sql(
        f"CREATE TABLE {db}.t (s STRUCT<in: {kind}>, l ARRAY<{kind}>, m MAP<STRING, {kind}>, other STRUCT<g: INT>) "
        f"USING parquet LOCATION '{tmp_path}'"
    )
    told = [row[5].split(" is in")[0] for row in rows(f"MSCK REPAIR TABLE {db}.t") if row[0] == "unfit"]
    assert told == [f"x.parquet: column {name}" for name in ("s.in.f", "l.element.f", "m.value.f")]
    for name in ("s", "l", "m"):
        with pytest.raises(Exception, match=r"(?i)duplicate field"):
            rows(f"SELECT {name} FROM {db}.t")
    assert rows(f"SELECT other.g FROM {db}.t") == [(None,)]
