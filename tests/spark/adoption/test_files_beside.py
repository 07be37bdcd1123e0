"""Tables over files of many writers answer as stock Spark does, and the recorded statistics agree with the
values.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from parquetry.data_files import FileRecord
from parquetry.spark.engine import SparkEngine
from tests.support.effort import sampled
from tests.support.files_beside import ArrowReads, BesideSpark, files_in, recorded
from tests.support.written_files import orc_files, parquet_files

Rows = Callable[[str], list[tuple[Any, ...]]]
ODD_FILES = Path(__file__).parents[2] / "fixtures" / "odd-files"
SHIPPED = Path(pyarrow.__file__).parent / "tests" / "data" / "orc"
OPTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "spark": ("parquet", {}),
    "spark-cut": ("parquet", {"parquet.statistics.truncate.length": "3"}),
    "spark-legacy": ("parquet", {"parquet.writer.version": "v2"}),
    "spark-orc": ("orc", {}),
    "spark-orc-no-index": ("orc", {"orc.create.index": "false"}),
    "spark-orc-no-stride": ("orc", {"orc.row.index.stride": "0"}),
}


def _write_with_spark(spark: SparkSession, source: Path, folder: Path) -> Iterator[Path]:
    """Write the rows of a file with stock Spark's writers, under each of some options."""
    rows = spark.read.parquet(source.as_uri()).coalesce(1)
    for name, (file_format, options) in OPTIONS.items():
        rows.write.options(**options).format(file_format).save(str(folder / "work" / name))
        (written,) = (folder / "work" / name).glob(f"*.{file_format}")
        yield Path(shutil.copy(written, folder / f"{name}.{file_format}"))


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, str]]:
    """Files of all writers, and files of other projects."""
    folder = tmp_path_factory.mktemp("beside")
    files = [*parquet_files(folder / "parquet"), *orc_files(folder / "orc")]
    (folder / "spark").mkdir()
    files += _write_with_spark(spark, files[0], folder / "spark")
    return [(path, path.suffix[1:]) for path in files] + files_in(ODD_FILES) + files_in(SHIPPED)


def test_records_agree_with_the_values(written: list[tuple[Path, str]]) -> None:
    """Rows, NULLs and bounds, for all columns of each file that PyArrow can read."""
    with ArrowReads() as arrow:
        for path, file_format in written:
            record = recorded(SparkEngine(), path, file_format)
            assert isinstance(record, FileRecord) or "fuzzed" in path.name
            if isinstance(record, FileRecord):
                assert arrow.differences(path, file_format, record) == [], path.name


def test_tables_answer_as_stock_does(
    spark: SparkSession, db: str, tmp_path: Path, written: list[tuple[Path, str]]
) -> None:
    """`IS NULL`, `=`, ranges, `min`, `max`, `count`, and DELETE, with the ends of each column."""
    beside = BesideSpark(spark, db, tmp_path, columns=5, deletes=1)
    always = ("fixed_length", "Memory", "decimal64", "spark-cut", "no-index")
    chosen = sampled([each for each in written if not any(name in each[0].name for name in always)])
    for path, file_format in [
        *chosen,
        *(each for each in written if any(name in each[0].name for name in always)),
    ]:
        assert beside.differences(path, file_format) == [], path.name


def _adopted(spark: SparkSession, db: str, folder: Path, columns: str, file_format: str = "parquet") -> str:
    """Return a table that has adopted the partition `p=1` of a folder."""
    name = f"{db}.{folder.name}"
    spark.sql(
        f"CREATE TABLE {name} ({columns}, p INT) USING {file_format} PARTITIONED BY (p) LOCATION '{folder}'"
    )
    spark.sql(f"MSCK REPAIR TABLE {name}")
    return name


def _put(folder: Path, file_format: str = "parquet", **columns: Any) -> Path:
    path = folder / "p=1" / f"a.{file_format}"
    path.parent.mkdir(parents=True)
    table = pa.table(columns)
    pq.write_table(table, path) if file_format == "parquet" else po.write_table(table, str(path))
    return folder


def test_milliseconds_that_the_table_calls_numbers(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """Spark reads the stored number, so bounds of instants are not used: no query misses a row, and no DELETE
    removes one.
    """
    times = pa.array([1577836800000, 1609459200000], pa.timestamp("ms", "UTC"))
    name = _adopted(spark, db, _put(tmp_path / "millis", c=times), "c BIGINT")
    assert rows(f"SELECT c FROM {name} WHERE c = 1577836800000") == [(1577836800000,)]
    assert rows(f"SELECT min(c), max(c) FROM {name}") == [(1577836800000, 1609459200000)]
    spark.sql(f"DELETE FROM {name} WHERE c > 1600000000000")
    assert rows(f"SELECT c FROM {name}") == [(1577836800000,)]


def test_orc_texts_that_the_table_calls_numbers(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """A text that is not a number is read as NULL, though the file has no NULL. `IS NULL` selects it, and
    DELETE keeps it.
    """
    name = _adopted(spark, db, _put(tmp_path / "texts", "orc", c=pa.array(["12", "abc"])), "c INT", "orc")
    assert rows(f"SELECT count(c), count(*) FROM {name}") == [(1, 2)]
    assert rows(f"SELECT count(*) FROM {name} WHERE c IS NULL") == [(1,)]
    spark.sql(f"DELETE FROM {name} WHERE c IS NOT NULL")
    assert rows(f"SELECT c FROM {name}") == [(None,)]


@pytest.mark.parametrize(
    ("file_format", "stored", "declared"),
    [
        ("parquet", pa.array([18262], pa.int32()).cast(pa.date32()), "TIMESTAMP"),
        ("parquet", pa.array([70000], pa.int32()), "DECIMAL(3,0)"),
        ("parquet", pa.array(["a"]), "INT"),
        ("orc", pa.array([18262], pa.int64()), "DATE"),
    ],
)
def test_types_that_spark_refuses_are_told(
    spark: SparkSession,
    db: str,
    rows: Rows,
    tmp_path: Path,
    file_format: str,
    stored: pa.Array,
    declared: str,
) -> None:
    """`sync` reports the file as unfit, and each query reads it: it fails as in stock Spark."""
    folder = _put(tmp_path / "refused", file_format, c=stored)
    name = f"{db}.refused"
    spark.sql(
        f"CREATE TABLE {name} (c {declared}, p INT) USING {file_format} PARTITIONED BY (p) LOCATION '{folder}'"
    )
    assert [row[0] for row in rows(f"MSCK REPAIR TABLE {name}")] == ["added", "unfit"]
    for query in ("SELECT min(c) FROM {}", "SELECT count(c) FROM {}", "SELECT c FROM {} WHERE c IS NOT NULL"):
        with pytest.raises(Exception, match=r"(?i)conver|mismatch|decimal"):
            rows(query.format(name))


def test_orc_files_that_are_read_by_position(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """In such a session the file's column `x` is the table's column `a`; in others `a` is NULL."""
    name = _adopted(spark, db, _put(tmp_path / "placed", "orc", x=[1, 2, 3]), "a BIGINT", "orc")
    assert rows(f"SELECT count(a) FROM {name}") == [(0,)]
    spark.conf.set("orc.force.positional.evolution", "true")
    try:
        assert rows(f"SELECT a FROM {name} WHERE a = 2") == [(2,)]
        assert rows(f"SELECT count(a), max(a) FROM {name}") == [(3, 3)]
    finally:
        spark.conf.unset("orc.force.positional.evolution")


def test_orc_texts_beyond_the_first_plane(spark: SparkSession, db: str, rows: Rows) -> None:
    """ORC orders texts as UTF-16, Spark as UTF-8: a filter that would lose such rows does not reach ORC's
    reader.
    """
    spark.sql(f"CREATE TABLE {db}.t (s STRING, n INT) USING orc")
    spark.sql(f"INSERT INTO {db}.t VALUES ('\\uff5e', 1), ('😀', 2), ('z', 3)")
    assert rows(f"SELECT n FROM {db}.t WHERE s > '\\uff5e'") == [(2,)]
    assert rows(f"SELECT n FROM {db}.t WHERE s < '😀' ORDER BY n") == [(1,), (3,)]
    assert rows(f"SELECT n FROM {db}.t WHERE s IN ('😀', '\\uff5e') ORDER BY n") == [(1,), (2,)]
    joined = f"SELECT t.n FROM {db}.t JOIN (VALUES ('😀'), ('z')) v(s) ON t.s = v.s ORDER BY 1"
    assert rows(joined) == [(2,), (3,)]


def test_own_texts_are_exact_unless_the_writer_shortens_them(
    spark: SparkSession, db: str, rows: Rows
) -> None:
    """Parquet's own setting cuts them without a word in the file; the writer's session knows it."""
    spark.sql(f"CREATE TABLE {db}.whole (s STRING) USING parquet")
    spark.sql(
        f"CREATE TABLE {db}.cut (s STRING) USING parquet TBLPROPERTIES ('parquet.statistics.truncate.length' = '4')"
    )
    for name in ("whole", "cut"):
        spark.sql(f"INSERT INTO {db}.{name} VALUES ('aaaaaaaa0'), ('zzzzzzzz1')")
        assert rows(f"SELECT min(s), max(s) FROM {db}.{name}") == [("aaaaaaaa0", "zzzzzzzz1")]
    read = [
        spark.sql(f"SELECT min(s) FROM {db}.{name}")._jdf.queryExecution().executedPlan().toString()
        for name in ("whole", "cut")
    ]
    assert ["LocalTableScan" in plan for plan in read] == [True, False]
