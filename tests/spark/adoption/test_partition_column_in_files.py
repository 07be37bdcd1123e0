"""If files also store the partition column, as polars, DuckDB and Hudi write them, the values of the path
win.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import sampled
from tests.support.tables.bucketed_tables import PLAINLY, settings

Rows = Callable[[str], list[tuple[Any, ...]]]

_DAYS = (dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 1, 3), None)
_BY_DAY = 10

_CONDITIONS = """
    day = DATE'2026-01-02'
    DATE'2026-01-02' = day
    DAY <=> DATE'2026-01-02'
    day <=> NULL
    day != DATE'2026-01-02'
    day < DATE'2026-01-02'
    day <= DATE'2026-01-02'
    day > DATE'2026-01-02'
    day >= DATE'2026-01-02'
    day BETWEEN DATE'2026-01-02' AND DATE'2026-02-01'
    day IN (DATE'2026-01-01', DATE'2026-01-03')
    day NOT IN (DATE'2026-01-01', DATE'2026-01-03')
    NOT day = DATE'2026-01-02'
    day IS NULL
    day IS NOT NULL
    year(day) = 2026
    CAST(day AS STRING) LIKE '2026-01-0%'
    coalesce(day, DATE'2026-01-01') = DATE'2026-01-01'
    day = DATE'2026-01-02' OR id = 35
    day = DATE'2026-01-02' AND id > 15
    (day = DATE'2026-01-01' AND id > 5) OR (day = DATE'2026-01-02' AND v > 13)
    (day IS NULL AND id > 35) OR (id < 3 AND day < DATE'2026-01-02')
    NOT (day = DATE'2026-01-02' AND id > 15)
    NOT (day > DATE'2026-01-01' OR id > 5)
    day > other
    other = day
    s.day = 'x12' OR day = DATE'2026-01-01'
    s.day = 'x12' AND day = DATE'2026-01-02'
    day = (SELECT max(d) FROM VALUES (DATE'2026-01-02') AS b(d))
    day IN (SELECT d FROM VALUES (DATE'2026-01-02'), (DATE'2026-01-03') AS b(d) WHERE d > DATE'2026-01-02')
""".strip().splitlines()


def _rows_of(number: int) -> list[dict[str, Any]]:
    """Return the rows of the partition of this number, without its column."""
    return [
        {"id": i, "v": float(i), "other": dt.date(2026, 1, 1 + i % 5), "s": {"day": f"x{i}"}}
        for i in range(number * _BY_DAY, (number + 1) * _BY_DAY)
    ]


_COLUMNS = "id int, v double, other date, s struct<day: string>"
_DATA = pa.schema(
    [
        ("id", pa.int32()),
        ("v", pa.float64()),
        ("other", pa.date32()),
        ("s", pa.struct([("day", pa.string())])),
    ]
)

_IN_FILE: dict[str, Callable[[dt.date | None], pa.Array | None]] = {
    "other values": lambda day: pa.array([dt.date(1999, 1, 1 + i) for i in range(_BY_DAY)], pa.date32()),
    "same": lambda day: pa.array([day] * _BY_DAY, pa.date32()),
    "as text": lambda day: pa.array([day and day.isoformat()] * _BY_DAY, pa.string()),
    "as number": lambda day: pa.array([day and day.toordinal()] * _BY_DAY, pa.int64()),
    "NULLs": lambda day: pa.array([None] * _BY_DAY, pa.date32()),
    "absent": lambda day: None,
}
_KINDS = sampled([*_IN_FILE])
"""The kinds of files in one table: in a sample, files with other values, and files without the column."""


def _contents(number: int, in_file: str) -> pa.Table:
    """Return what the file of a partition holds; the partition's column stands between the others."""
    table = pa.Table.from_pylist(_rows_of(number), _DATA)
    day = _IN_FILE[in_file](_DAYS[number])
    return table if day is None else table.add_column(1, "day", day)


def _by_spark(spark: SparkSession, file_format: str) -> Callable[[pa.Table, Path], None]:
    def write(table: pa.Table, path: Path) -> None:
        spark.createDataFrame(table).coalesce(1).write.format(file_format).mode("append").save(
            str(path.parent)
        )

    return write


def _by_duckdb(table: pa.Table, path: Path) -> None:
    with duckdb.connect() as connection:
        connection.register("contents", table)
        connection.execute(f"COPY (SELECT * FROM contents) TO '{path}' (FORMAT parquet)")


_WRITERS: dict[str, Callable[[SparkSession], Callable[[pa.Table, Path], None]]] = {
    "polars": lambda _: lambda table, path: pl.from_arrow(table).write_parquet(path),  # type: ignore[union-attr]
    "duckdb": lambda _: _by_duckdb,
    "pandas": lambda _: (
        lambda table, path: table.to_pandas(date_as_object=True).to_parquet(path, index=False)
    ),
    "pyarrow": lambda _: pa.parquet.write_table,
    "spark": lambda spark: _by_spark(spark, "parquet"),
    "pyarrow-orc": lambda _: pa.orc.write_table,
    "spark-orc": lambda spark: _by_spark(spark, "orc"),
}


def _write_tree(
    spark: SparkSession, writer: str, place: Path, kinds: Iterable[str] = _KINDS, *, below: bool = True
) -> str:
    """Write a file for each day and each kind of contents, below a folder of the kind; return the format."""
    file_format = "orc" if writer.endswith("orc") else "parquet"
    write = _WRITERS[writer](spark)
    for kind in kinds:
        for number, day in enumerate(_DAYS):
            folder = place / f"day={'__HIVE_DEFAULT_PARTITION__' if day is None else day.isoformat()}"
            folder = folder / f"kind={kind}" if below else folder
            folder.mkdir(parents=True)
            write(_contents(number, kind), folder / f"data.{file_format}")
    return file_format


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> Iterator[list[str]]:
    """The rows that each condition selects, computed without a file."""
    rows = [
        {**row, "day": day, "kind": kind}
        for kind in _KINDS
        for number, day in enumerate(_DAYS)
        for row in _rows_of(number)
    ]
    schema = _DATA.append(pa.field("day", pa.date32())).append(pa.field("kind", pa.string()))
    spark.createDataFrame(pa.Table.from_pylist(rows, schema)).createOrReplaceTempView("all_rows")
    with settings(spark, PLAINLY):
        yield _selected(spark, "all_rows")
    spark.catalog.dropTempView("all_rows")


def _selected(spark: SparkSession, table: str) -> list[str]:
    """Return the rows that each condition selects, with the condition: in one job, with one scan for each
    condition.
    """
    queries = [
        f'SELECT "{condition.strip()}" AS condition, kind, id, v, day FROM {table} WHERE {condition}'
        for condition in _CONDITIONS
    ]
    return sorted(str(tuple(row)) for row in spark.sql(" UNION ALL ".join(queries)).collect())


@pytest.mark.parametrize("writer", _WRITERS)
def test_every_condition_on_the_partition_column_selects_by_the_path(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, expected: list[str], writer: str
) -> None:
    """Each condition selects rows by the path's value of the partition column, not by the values in the
    files.
    """
    file_format = _write_tree(spark, writer, tmp_path / "t")
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} ({_COLUMNS}, day date, kind string) USING {file_format}"
        f" PARTITIONED BY (day, kind) LOCATION '{tmp_path}/t'"
    )
    assert {row[0] for row in rows(f"MSCK REPAIR TABLE {table}")} == {"added"}
    for by_column in ("true", "false"):
        spark.conf.set(f"spark.sql.{file_format}.enableVectorizedReader", by_column)
        try:
            assert _selected(spark, table) == expected
        finally:
            spark.conf.unset(f"spark.sql.{file_format}.enableVectorizedReader")
    # the metastore's own answers
    kinds = len(_KINDS)
    assert rows(f"SELECT min(day), max(day), count(day), count(*) FROM {table}") == [
        (_DAYS[0], _DAYS[2], 30 * kinds, 40 * kinds)
    ]
    assert rows(f"SELECT count(*), min(id) FROM {table} WHERE day = DATE'2026-01-02'") == [(10 * kinds, 10)]
    assert sorted(rows(f"SELECT day, count(*) FROM {table} GROUP BY day"), key=str) == sorted(
        [(day, 10 * kinds) for day in _DAYS], key=str
    )


@pytest.mark.parametrize("kind", _IN_FILE)
@pytest.mark.parametrize("writer", ["polars", "pyarrow-orc"])
def test_a_table_is_the_same_whether_files_hold_the_partition_column_or_not(
    spark: SparkSession, db: str, tmp_path: Path, writer: str, kind: str
) -> None:
    """If columns are read from a LOCATION, the file's copy of a partition column adds no data column, moves
    none, and gives no type.
    """
    file_format = _write_tree(spark, writer, tmp_path / "t", [kind], below=False)
    spark.sql(f"CREATE TABLE {db}.t USING {file_format} LOCATION '{tmp_path}/t'")
    assert spark.table(f"{db}.t").dtypes == [
        ("id", "int"),
        ("v", "double"),
        ("other", "date"),
        ("s", "struct<day:string>"),
        ("day", "date"),
    ]


@pytest.mark.parametrize("writer", ["polars", "spark-orc"])
def test_old_and_new_files_are_read_together(
    spark: SparkSession,
    db: str,
    rows: Rows,
    tmp_path: Path,
    writer: str,
) -> None:
    """INSERT, overwrite and DELETE by the partition column work if old files store it and new ones do not."""
    table = f"{db}.t"
    file_format = _write_tree(spark, writer, tmp_path / "t", ["other values"], below=False)
    spark.sql(f"CREATE TABLE {table} USING {file_format} LOCATION '{tmp_path}/t'")
    spark.sql(f"MSCK REPAIR TABLE {table}")
    spark.sql(f"INSERT INTO {table} SELECT 100, 100D, DATE'2026-01-02', NULL, DATE'2026-01-02'")
    assert rows(f"SELECT count(id), max(id) FROM {table} WHERE day = DATE'2026-01-02' AND id > 15") == [
        (5, 100)
    ]
    assert sorted(rows(f"SELECT id, day FROM {table} WHERE day = other AND id > 9 AND day IS NOT NULL")) == [
        (11, _DAYS[1]),
        (16, _DAYS[1]),
        (22, _DAYS[2]),
        (27, _DAYS[2]),
        (100, _DAYS[1]),
    ]
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (day = DATE'2026-01-03') SELECT 200, 200D, NULL, NULL")
    spark.sql(f"DELETE FROM {table} WHERE day = DATE'2026-01-01'")
    assert rows(
        f"SELECT day, count(id) FROM {table} WHERE day > DATE'1990-01-01' GROUP BY day ORDER BY day"
    ) == [
        (_DAYS[1], 11),
        (_DAYS[2], 1),
    ]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize("reader", ["true", "false"])
def test_renamed_columns_keep_apart_from_what_files_hold(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, file_format: str, reader: str
) -> None:
    """After RENAME COLUMN, a data column's name in the files may be a partition column's, and the reverse."""
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (id int, a int, p int) USING {file_format} PARTITIONED BY (p) LOCATION '{tmp_path}/t'"
    )
    folder = tmp_path / "t" / "p=1"
    folder.mkdir(parents=True)
    contents = pa.table({"id": pa.array([1, 2], pa.int32()), "p": pa.array([8, 9], pa.int32()), "a": pa.array([5, 6], pa.int32())})  # fmt: skip
    {"parquet": pa.parquet, "orc": pa.orc}[file_format].write_table(contents, folder / f"x.{file_format}")
    spark.sql(f"MSCK REPAIR TABLE {table}")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO b")  # in files: a
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN p TO a")  # in paths: p, and in the old file
    spark.sql(f"ALTER TABLE {table} ADD COLUMN p int")  # not the old file's
    spark.sql(f"INSERT INTO {table} (id, b, a, p) VALUES (3, 7, 2, 70)")
    spark.conf.set(f"spark.sql.{file_format}.enableVectorizedReader", reader)
    try:
        assert sorted(rows(f"SELECT id, b, a, p FROM {table}")) == [
            (1, 5, 1, None),
            (2, 6, 1, None),
            (3, 7, 2, 70),
        ]
        for condition, found in (
            ("a = 1", [1, 2]), ("a = 2", [3]), ("b = 6", [2]), ("a = 6", []), ("p IS NULL", [1, 2]), ("p = 8", []),
            ("p = 70", [3]), ("a = 1 AND b = 5", [1]), ("a < b", [1, 2, 3]), ("a = 2 OR b = 5", [1, 3]),
        ):  # fmt: skip
            assert sorted(rows(f"SELECT id FROM {table} WHERE {condition}")) == [(i,) for i in found], (
                condition
            )
        assert rows(f"SELECT min(a), max(a), min(b), max(b), count(p) FROM {table}") == [(1, 2, 5, 7, 1)]
    finally:
        spark.conf.unset(f"spark.sql.{file_format}.enableVectorizedReader")


def test_a_tree_of_polars_or_duckdbs_partitioned_write_is_adopted(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """Partitioned trees of polars and DuckDB are adopted: the partition columns stay last and in order."""
    frame = pl.DataFrame(
        {"k": ["a", "b", None] * 4, "id": list(range(12)), "n": [1, 1, 1, 2, 2, 2] * 2, "v": [1.0] * 12}
    )
    frame.write_parquet(tmp_path / "polars", partition_by=["n", "k"])
    with duckdb.connect() as connection:
        connection.register("frame", frame.to_arrow())
        for name, kept in (("duckdb", "true"), ("without", "false")):
            connection.execute(
                f"COPY frame TO '{tmp_path}/{name}' "
                f"(FORMAT parquet, PARTITION_BY (n, k), WRITE_PARTITION_COLUMNS {kept})"
            )
    for name in ("polars", "duckdb", "without"):
        table = f"{db}.{name}"
        spark.sql(f"CREATE TABLE {table} USING parquet LOCATION '{tmp_path}/{name}'")
        spark.sql(f"MSCK REPAIR TABLE {table}")
        assert spark.table(table).columns == ["id", "v", "n", "k"]
        stock = spark.read.parquet(str(tmp_path / name))
        for condition in (
            "k = 'a'",
            "n = 2 AND k != 'b'",
            "k IS NULL",
            "k IS NULL OR id = 4",
            "k > 'a' AND n > 1",
        ):
            found = spark.table(table).where(condition).select("id", "v", "n", "k").collect()
            wanted = stock.where(condition).select("id", "v", "n", "k").collect()
            assert sorted(map(str, found)) == sorted(map(str, wanted)), condition
            assert found, condition


def test_a_partition_column_spelled_otherwise_in_files_is_the_paths(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """`Day` in files is the `day` of the path, when the columns are inferred and when they are named."""
    for number in range(3):
        folder = tmp_path / "t" / f"day={_DAYS[number]}"
        folder.mkdir(parents=True)
        contents = _contents(number, "other values").rename_columns(["id", "Day", "v", "other", "s"])
        pa.parquet.write_table(contents, folder / "x.parquet")
    spark.sql(f"CREATE TABLE {db}.inferred USING parquet LOCATION '{tmp_path}/t'")
    named = "(id int, v double, day date) USING parquet PARTITIONED BY (day)"
    spark.sql(f"CREATE TABLE {db}.named {named} LOCATION '{tmp_path}/t'")
    assert spark.table(f"{db}.inferred").columns == ["id", "v", "other", "s", "day"]
    for table in (f"{db}.inferred", f"{db}.named"):
        spark.sql(f"MSCK REPAIR TABLE {table}")
        assert rows(f"SELECT sum(v), max(day) FROM {table} WHERE day = DATE'2026-01-02'") == [
            (145.0, _DAYS[1])
        ]
        assert rows(f"SELECT count(id) FROM {table} WHERE DAY < DATE'2026-01-02' OR id = 25") == [(11,)]


def test_readers_are_given_what_conditions_say_of_data_columns(
    spark: SparkSession, db: str, tmp_path: Path
) -> None:
    """No condition on a partition column reaches the readers; what must be true without it does."""
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (id int, v double, s struct<day: string>, day date) PARTITIONED BY (day)"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, 1D, NULL, DATE'2026-01-01')")
    day = "day = DATE'2026-01-01'"

    def given(condition: str) -> set[str]:
        frame = spark.table(table).where(condition)
        node = frame._jdf.queryExecution().sparkPlan()
        while node.children().size():
            node = node.children().head()
        return {str(each) for each in node.scan().rowGroupFilters()}

    assert given("id > 5") == {"GreaterThan(id,5)"}
    # for small files, readers get IS NOT NULL only if the table declares the order of its rows
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('sort-by' = 'id')")
    present = "IsNotNull(id)"
    assert given(f"{day} AND id > 5") == {present, "GreaterThan(id,5)"}
    assert given(f"{day} OR id > 5") == set()
    assert given(f"({day} AND id > 5) OR (day IS NULL AND id = 3)") == {"Or(GreaterThan(id,5),EqualTo(id,3))"}
    assert given(f"({day} AND id > 5) OR day IS NULL") == set()
    assert given(f"NOT ({day} AND id > 5)") == set()
    assert given("NOT (DAY > DATE'2026-01-01' OR id > 5)") == {present, "LessThanOrEqual(id,5)"}
    assert given("day IN (DATE'2026-01-01', DATE'2026-01-02') AND s.day = 'x'") == {
        "IsNotNull(s.day)",
        "EqualTo(s.day,x)",
    }


def test_the_bytes_of_a_report_are_those_of_the_columns_read(
    spark: SparkSession, db: str, tmp_path: Path
) -> None:
    """Reading the partition's column reads nothing of a file, though the file holds one of that name."""
    _write_tree(spark, "pyarrow", tmp_path / "t", ["same"], below=False)
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} USING parquet LOCATION '{tmp_path}/t'")
    spark.sql(f"MSCK REPAIR TABLE {table}")

    def read(columns: str) -> int:
        (scan,) = parquetry.explain(f"SELECT {columns} FROM {table} WHERE id >= 0").to_dict()["scans"]
        return int(next(step["kept"] for step in scan["steps"] if step["name"] == "bytes"))

    assert 0 < read("id, day") == read("id")
