"""Trees are adopted although some files are broken, have other types than the table's columns, or use rare
codecs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


def _write(path: Path, file_format: str = "parquet", **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if file_format == "parquet":
        pq.write_table(table, path)
    else:
        po.write_table(table, str(path))


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_all_broken_files_are_told_and_the_rest_is_taken_in(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, file_format: str
) -> None:
    """Each broken file has a row, the other files are adopted, and a second sync reports the same broken
    files only.
    """
    for p in range(4):
        _write(tmp_path / f"p={p}" / f"good.{file_format}", file_format, id=pa.array([p, p + 10], pa.int32()))
    for folder, name in (("p=1", "notes.csv"), ("p=1", f"cut.{file_format}"), ("p=5", f"only.{file_format}")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_bytes(b"no such file")
    spark.sql(
        f"CREATE TABLE {db}.t (id INT, p INT) USING {file_format} PARTITIONED BY (p) LOCATION '{tmp_path}'"
    )
    told = rows(f"MSCK REPAIR TABLE {db}.t")
    assert [row[1] for row in told if row[0] == "added"] == ["p=0", "p=1", "p=2", "p=3", "p=5"]
    broken = [row[5] for row in told if row[0] == "broken"]
    assert sorted(name for text in broken for name in ("notes.csv", "cut.", "only.") if name in text) == [
        "cut.",
        "notes.csv",
        "only.",
    ]
    assert rows(f"SELECT count(*), sum(id) FROM {db}.t") == [(8, 52)]
    assert rows(f"SELECT sum(p) FROM {db}.t WHERE id >= 0") == [(12,)]
    assert {row[0] for row in rows(f"CALL lake.system.sync(table => '{db}.t')")} == {"broken"}
    _write(tmp_path / "p=5" / f"only.{file_format}", file_format, id=pa.array([50], pa.int32()))
    assert ("changed", "p=5", 1, 1) in [row[:4] for row in rows(f"CALL lake.system.sync(table => '{db}.t')")]


def test_a_listed_file_that_is_broken_now_is_not_forgotten(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """A sync reports a listed file that is broken, and keeps it listed, so that reading fails and loses no
    rows silently.
    """
    for name in ("a", "b"):
        _write(tmp_path / f"{name}.parquet", id=pa.array([1, 2]))
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT) USING parquet LOCATION '{tmp_path}'")
    spark.sql(f"MSCK REPAIR TABLE {db}.t")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and no more")
    told = rows(f"CALL lake.system.sync(table => '{db}.t')")
    assert [row[0] for row in told] == ["broken"]
    with pytest.raises(Exception, match=r"PARQUETRY_FILE_C.*b\.parquet"):
        rows(f"SELECT id + 1 FROM {db}.t")
    (tmp_path / "b.parquet").unlink()
    assert [row[0] for row in rows(f"CALL lake.system.sync(table => '{db}.t')")] == ["changed"]
    assert rows(f"SELECT id FROM {db}.t ORDER BY id") == [(1,), (2,)]


def test_types_that_do_not_fit_are_told_from_the_footers(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """Each column that Spark fails to read is reported with its file, and no other column is reported."""
    _write(tmp_path / "text.parquet", id=pa.array(["a"]), d=pa.array([1.5]), s=pa.array(["x"]))
    _write(tmp_path / "long.parquet", id=pa.array([1]), d=pa.array([1]), s=pa.array(["x"]))
    _write(tmp_path / "null.parquet", id=pa.array([2]), d=pa.array([2.5]), s=pa.array([None], pa.null()))
    _write(
        tmp_path / "fits.parquet",
        id=pa.array([3], pa.int32()),
        d=pa.array([3.5], pa.float32()),
        s=pa.array(["y"]),
    )
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, d DOUBLE, s STRING) USING parquet LOCATION '{tmp_path}'")
    told = [row[5] for row in rows(f"MSCK REPAIR TABLE {db}.t") if row[0] == "unfit"]
    assert [text.split(" in the file")[0] for text in told] == [
        "long.parquet: column d is double in the table, and INT64",
        "null.parquet: column s is string in the table, and INT32 UNKNOWN",
        "text.parquet: column id is bigint in the table, and BYTE_ARRAY STRING",
    ]
    findings = rows(f"CALL lake.system.fsck(table => '{db}.t')")
    assert sorted((Path(row[2]).name, row[3].split(" in the file")[0]) for row in findings) == [
        ("long.parquet", "column d is double in the table, and INT64"),
        ("null.parquet", "column s is string in the table, and INT32 UNKNOWN"),
        ("text.parquet", "column id is bigint in the table, and BYTE_ARRAY STRING"),
    ]
    assert {(row[0], row[4]) for row in findings} == {("unfit column", False)}
    assert rows(f"CALL lake.system.fsck(table => '{db}.t', footers => false)") == []
    for column in ("id", "d", "s"):
        with pytest.raises(Exception, match=r"(?i)column|convert|mismatch"):
            rows(f"SELECT {column} FROM {db}.t WHERE {column} IS NOT NULL AND _file NOT LIKE '%nobody%'")


def test_nanoseconds_and_rare_codecs(spark: SparkSession, db: str, rows: Rows, tmp_path: Path) -> None:
    """Errors name a column in nanoseconds and the setting that reads it. A missing codec is not reported as a
    broken file.
    """
    _write(
        tmp_path / "n" / "x.parquet",
        id=pa.array([1]),
        at=pa.array([datetime(2026, 1, 1)], pa.timestamp("ns")),
    )
    with pytest.raises(
        Exception,
        match=r"x\.parquet, column at is a timestamp in nanoseconds.*spark\.sql\.legacy\.parquet\.nanosAsLong=true",
    ):
        spark.sql(f"CREATE TABLE {db}.n USING parquet LOCATION '{tmp_path}/n'")
    assert rows(f"SHOW TABLES IN {db}") == []
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    try:
        spark.sql(f"CREATE TABLE {db}.n USING parquet LOCATION '{tmp_path}/n'")
        spark.sql(f"MSCK REPAIR TABLE {db}.n")
        assert rows(f"SELECT id, at FROM {db}.n") == [(1, 1767225600 * 10**9)]
    finally:
        spark.conf.unset("spark.sql.legacy.parquet.nanosAsLong")
    (tmp_path / "b").mkdir()
    pq.write_table(pa.table({"id": [1, 2, 3] * 1000}), tmp_path / "b" / "x.parquet", compression="brotli")
    spark.sql(f"CREATE TABLE {db}.b (id BIGINT) USING parquet LOCATION '{tmp_path}/b'")
    assert {row[0] for row in rows(f"MSCK REPAIR TABLE {db}.b")} <= {"added", "changed"}
    with pytest.raises(Exception, match=r"PARQUETRY_CODEC_MISSING.*Brotli.*spark\.jars"):
        rows(f"SELECT sum(id) FROM {db}.b")


def test_a_table_made_over_files_says_how_many_it_has_not_taken_in(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The message counts the files that are not hidden, and names the statement that adopts them. For an
    empty folder no message appears.
    """
    (tmp_path / "none").mkdir()
    spark.sql(f"CREATE TABLE {db}.none (id INT) USING parquet LOCATION '{tmp_path}/none'")
    spark.sql(f"CREATE TABLE {db}.later (id INT) USING parquet LOCATION '{tmp_path}/later'")
    assert caplog.messages == []
    for name in ("p=1/a.parquet", "p=1/_b.parquet", "p=2/c.parquet", ".d/e.parquet"):
        _write(tmp_path / "t" / name, id=pa.array([1], pa.int32()))
    spark.sql(f"CREATE TABLE {db}.t (id INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}/t'")
    (told,) = caplog.messages
    assert "holds 2 files" in told
    spark.sql(told.split("which ")[1].removesuffix(" takes in."))
    assert rows(f"SELECT count(*) FROM {db}.t") == [(2,)]


def test_columns_read_from_mixed_files_are_said(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The message names a file and a column for each column that another file lacks or cannot be read as.
    Files with equal columns cause no message.
    """
    _write(tmp_path / "t" / "p=1" / "a.parquet", id=pa.array([1], pa.int32()), p=pa.array([1]))
    _write(tmp_path / "t" / "p=1" / "b.parquet", ID=pa.array([1], pa.int32()))
    spark.sql(f"CREATE TABLE {db}.alike USING parquet LOCATION '{tmp_path}/t'")
    assert not any("others differ" in message for message in caplog.messages)
    _write(tmp_path / "t" / "p=2" / "c.parquet", id=pa.array(["x"]), name=pa.array(["x"]))
    os.utime(tmp_path / "t" / "p=2" / "c.parquet", (1_900_000_000, 1_900_000_000))
    spark.sql(f"CREATE TABLE {db}.t USING parquet LOCATION '{tmp_path}/t'")
    assert [row[:2] for row in rows(f"DESCRIBE {db}.t")][:2] == [("id", "int"), ("p", "int")]
    (told,) = [message for message in caplog.messages if "others differ" in message]
    assert "p=2/c.parquet: column name is not in the table" in told
    assert "p=2/c.parquet: column id is int in the table, and BYTE_ARRAY STRING in the file" in told


def test_types_of_duckdb_that_spark_has_not(spark: SparkSession, db: str, rows: Rows, tmp_path: Path) -> None:
    """The message names columns of UUIDs and INTERVALs, also within structs, and the types to
    write instead.
    """
    for name, column, says in (
        ("u", "uuid() AS key", "column key is a UUID, .*key::VARCHAR"),
        ("i", "INTERVAL 3 DAYS AS span", "column span is an INTERVAL of months, days and milliseconds"),
        ("s", "{'x': uuid()} AS s", r"column s\.x is a UUID"),
    ):
        (tmp_path / name).mkdir()
        duckdb.sql(f"COPY (SELECT 1 AS id, {column}) TO '{tmp_path}/{name}/x.parquet'")
        with pytest.raises(AnalysisException, match=rf"in x\.parquet, {says}"):
            spark.sql(f"CREATE TABLE {db}.{name} USING parquet LOCATION '{tmp_path}/{name}'")
    assert rows(f"SHOW TABLES IN {db}") == []
