"""Writers send the footers of their files with their tasks' commits, and no written file is opened again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry.data_files import FileRecord
from parquetry.data_files.stored_types import without_table_types
from parquetry.metastore import open_metastore
from parquetry.spark.engine import SparkEngine

pytestmark = pytest.mark.core

Rows = Callable[[str], list[tuple[Any, ...]]]
FORMATS = ["parquet", "orc"]
COLUMNS = (
    "CAST(id % 100 AS TINYINT) AS a", "CAST(id AS SMALLINT) AS b", "CAST(id AS INT) AS c", "id AS d",
    "CAST(id AS FLOAT) AS e", "IF(id = 7, DOUBLE('NaN'), CAST(id AS DOUBLE)) AS f", "id % 2 = 0 AS g",
    "IF(id % 3 = 0, NULL, CONCAT('text ', id)) AS h", "CAST(CONCAT('bytes ', id) AS BINARY) AS i",
    "DATE_ADD(DATE'1500-01-01', CAST(id AS INT)) AS j", "TIMESTAMP'2026-11-26 01:02:03.456789' AS k",
    "CAST(id AS DECIMAL(9, 2)) AS l", "CAST(id AS DECIMAL(30, 5)) AS m", "NAMED_STRUCT('x', id, 'y', ARRAY(id)) AS n",
    "MAP('k', id) AS o", "CAST(NULL AS STRING) AS p", "TIMESTAMP_NTZ'2026-11-26 01:02:03' AS q",
    "REPEAT('long ', 30) AS r",
)  # fmt: skip
"""Columns of most types, with NULLs, a NaN, a date of the old calendar and a long text."""


@contextmanager
def unread() -> Iterator[list[str]]:
    """Collect the paths of files whose footers are read."""
    read: list[str] = []
    ours = SparkEngine.data_files

    def data_files(
        self: SparkEngine, file_format: str, location: str, paths: Sequence[str], *more: Any
    ) -> Any:
        read.extend(paths)
        return ours(self, file_format, location, paths, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkEngine, "data_files", data_files)
        yield read


def recorded(spark: SparkSession, name: str) -> list[tuple[str, FileRecord]]:
    """Return the records of a table's files, each with its partition's location."""
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    assert warehouse is not None
    with open_metastore(warehouse) as metastore:
        table = metastore.table(*name.split(".")[-2:])
        return [(part.location, file) for part in table.partitions() for file in part.files]


def as_read(
    spark: SparkSession, name: str, fmt: str, files: list[tuple[str, FileRecord]]
) -> list[tuple[str, FileRecord]]:
    """Return the same records with what the footers of the files say, and the table's types left out.

    Only the writer knows of a Parquet file that texts are whole.
    """
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    assert warehouse is not None
    with open_metastore(warehouse) as metastore:
        columns = metastore.table(*name.split(".")[-2:]).metadata.data_columns
    return [
        (
            location,
            _as_read(
                without_table_types(SparkEngine().data_files(fmt, location, [file.path])[0], columns), file
            ),
        )
        for location, file in files
    ]


def _as_read(read: FileRecord, written: FileRecord) -> FileRecord:
    whole = {
        name: found.__replace__(
            min_exact=(written.columns or {})[name].min_exact,
            max_exact=(written.columns or {})[name].max_exact,
        )
        if isinstance(found.min, str | bytes)
        else found
        for name, found in (read.columns or {}).items()
    }
    own = {name: getattr(written, name) for name in ("cell", "bucket", "sorted", "field_ids")}
    return read.__replace__(columns=whole, **own)


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_writer_knows_what_a_reader_would(spark: SparkSession, db: str, fmt: str) -> None:
    """The records of new files equal what their footers say: all types, partitions, several files of each."""
    with unread() as read:
        spark.sql(
            f"CREATE TABLE {db}.t USING {fmt} PARTITIONED BY (part) TBLPROPERTIES ('target-file-size' = '20kB') "
            f"AS SELECT {', '.join(COLUMNS)}, id % 2 AS part FROM range(3000)"
        )
    assert read == []
    files = recorded(spark, f"{db}.t")
    assert len(files) > 4
    assert files == as_read(spark, f"{db}.t", fmt, files)


@pytest.mark.parametrize("fmt", FORMATS)
def test_statements_that_write_open_no_new_file(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """Inserts, overwrites, changes of rows, empty buckets and compaction get all footers from the writers."""
    with unread() as read:
        spark.sql(
            f"CREATE TABLE {db}.t (id BIGINT, v STRING) USING {fmt} CLUSTERED BY (id) SORTED BY (id) INTO 8 BUCKETS"
        )
        spark.sql(f"INSERT INTO {db}.t VALUES (1, 'a'), (2, 'b')")
        spark.sql(f"INSERT INTO {db}.t SELECT id, 'c' FROM range(100, 200)")
        spark.sql(f"UPDATE {db}.t SET v = 'd' WHERE id = 2")
        spark.sql(f"MERGE INTO {db}.t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
        spark.sql(f"CALL lake.system.compact(table => '{db.removeprefix('lake.')}.t')")
    assert read == []
    files = recorded(spark, f"{db}.t")
    assert any(not file.rows for _, file in files) or len(files) == 8
    assert files == as_read(spark, f"{db}.t", fmt, files)
    assert rows(f"SELECT count(*), count_if(v = 'd') FROM {db}.t") == [(101, 1)]


def test_a_footer_that_is_too_long_is_read(spark: SparkSession, db: str, rows: Rows) -> None:
    """The writer keeps the last one or two megabytes of a file. A longer footer is read after the file is
    complete.
    """
    with unread() as read:
        spark.range(0, 200_000, 1, 1).selectExpr(*(f"id + {i} AS c{i}" for i in range(20))).write.option(
            "parquet.block.size", "1000"
        ).saveAsTable(f"{db}.t", format="parquet")
    ((location, file),) = recorded(spark, f"{db}.t")
    path = Path(location.removeprefix("file:")) / file.path
    with path.open("rb") as opened:
        opened.seek(-8, 2)
        assert int.from_bytes(opened.read(4), "little") > 2 << 20
    assert len(read) == 1
    assert [(location, file)] == as_read(spark, f"{db}.t", "parquet", [(location, file)])
    assert rows(f"SELECT count(*) FROM {db}.t WHERE c3 >= 3") == [(200_000,)]
