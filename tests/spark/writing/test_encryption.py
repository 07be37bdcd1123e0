"""The files of our tables are encrypted: they can be written and read, and no statistics of secret columns
are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.encryption import SETTINGS

Rows = Callable[[str], list[tuple[Any, ...]]]
KEYS = {"parquet.encryption.column.keys": "columnKey:secret", "parquet.encryption.footer.key": "footerKey"}


@pytest.fixture
def keys(spark: SparkSession) -> Iterator[None]:
    """A session that has the keys."""
    hadoop = spark._jsc.hadoopConfiguration()
    for name, value in SETTINGS.items():
        hadoop.set(name, value)
    yield
    for name in SETTINGS:
        hadoop.unset(name)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("plain", ["true", "false"])
def test_encrypted_tables(spark: SparkSession, rows: Rows, db: str, plain: str) -> None:
    """INSERT, UPDATE, DELETE and compaction of a table with encrypted columns give the rows of a table
    without.
    """
    properties = {**KEYS, "parquet.encryption.plaintext.footer": plain}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    spark.sql(
        f"CREATE TABLE {db}.e (id INT, secret STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ({listed})"
    )
    spark.sql(f"INSERT INTO {db}.e VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)")
    spark.sql(f"INSERT INTO {db}.e VALUES (4, 'd', 1)")
    assert rows(f"SELECT count(*), min(secret), max(secret), max(id) FROM {db}.e") == [(4, "a", "d", 4)]
    assert rows(f"SELECT id FROM {db}.e WHERE secret = 'b'") == [(2,)]
    spark.sql(f"UPDATE {db}.e SET secret = 'x' WHERE id = 1")
    spark.sql(f"DELETE FROM {db}.e WHERE secret = 'd'")
    rows(f"CALL lake.system.compact('{db.removeprefix('lake.')}.e')")
    assert sorted(rows(f"SELECT * FROM {db}.e")) == [(1, "x", 1), (2, "b", 1), (3, "c", 2)]
    files = [row[0] for row in rows(f"SELECT DISTINCT input_file_name() FROM {db}.e")]
    for file in files:
        content = Path(file.removeprefix("file:")).read_bytes()
        assert content[-4:] == (b"PAR1" if plain == "true" else b"PARE")
