"""Tables on each storage are made, filled, overwritten, changed row by row, read in older versions, and
dropped with their files.
"""

from __future__ import annotations

from tests.support.spark.storages import Storage


def _made(storage: Storage, file_format: str = "parquet") -> str:
    """Make a table with a hundred rows in each of four partitions, and return its name."""
    table = f"{storage.database}.t"
    storage.spark.sql(
        f"CREATE TABLE {table} (id BIGINT, v BIGINT, p STRING) USING {file_format} PARTITIONED BY (p)"
    )
    storage.spark.sql(f"INSERT INTO {table} SELECT id, id * 2, concat('p', id % 4) FROM range(400)")
    return table


def _counts(storage: Storage, table: str, version: str = "") -> list[tuple[object, ...]]:
    return storage.rows(f"SELECT p, count(*), sum(v) FROM {table} {version} GROUP BY p ORDER BY p")


FIRST = [(f"p{p}", 100, sum(2 * id for id in range(400) if id % 4 == p)) for p in range(4)]


def test_insert_and_overwrite(storage: Storage) -> None:
    """Written rows are read, also after a partition was overwritten; older versions stay, and DROP leaves no
    file.
    """
    table = _made(storage)
    assert _counts(storage, table) == FIRST
    storage.spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 'p1') SELECT id, 1 FROM range(10)")
    storage.spark.sql(f"INSERT INTO {table} VALUES (1000, 5, 'new/ %=é'), (1001, 6, NULL)")
    expected = [(None, 1, 6), ("new/ %=é", 1, 5), FIRST[0], ("p1", 10, 10), *FIRST[2:]]
    assert _counts(storage, table) == expected
    assert storage.rows(f"SELECT id FROM {table} WHERE p = 'new/ %=é'") == [(1000,)]
    assert _counts(storage, table, "VERSION AS OF 1") == FIRST
    location = f"{storage.warehouse}/db.db/t"
    assert len(storage.files(location)) == 7
    storage.spark.sql(f"DROP TABLE {table}")
    assert not storage.exists(location)


def test_rows_are_changed(storage: Storage) -> None:
    """DELETE, UPDATE and MERGE change the rows that they name, and no others."""
    table = _made(storage)
    storage.spark.sql(f"DELETE FROM {table} WHERE p = 'p3'")
    storage.spark.sql(f"DELETE FROM {table} WHERE id = 8")
    storage.spark.sql(f"UPDATE {table} SET v = 0 WHERE id = 4")
    storage.spark.sql(
        f"MERGE INTO {table} t USING (SELECT 1L id, -1L v, 'p1' p UNION ALL SELECT 5000L, 7L, 'p9') s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    first = {p: total for p, _, total in FIRST}
    expected = [("p0", 99, first["p0"] - 16 - 8), ("p1", 100, first["p1"] - 3), FIRST[2], ("p9", 1, 7)]
    assert _counts(storage, table) == expected


def test_orc(storage: Storage) -> None:
    """Tables of ORC files work alike; their footers are read where the files are."""
    table = _made(storage, "orc")
    assert _counts(storage, table) == FIRST
    assert storage.rows(f"SELECT min(id), max(id), count(*) FROM {table} WHERE p = 'p2'") == [(2, 398, 100)]


def test_create_as_select_and_replace(storage: Storage) -> None:
    """A table that a query makes or replaces has its rows; a new table of the same name can use a dropped
    table's folder.
    """
    table = f"{storage.database}.c"
    storage.spark.sql(f"CREATE TABLE {table} AS SELECT id FROM range(10)")
    assert storage.rows(f"SELECT count(*) FROM {table}") == [(10,)]
    storage.spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT id FROM range(3)")
    assert storage.rows(f"SELECT count(*) FROM {table}") == [(3,)]
    storage.spark.sql(f"DROP TABLE {table}")
    storage.spark.sql(f"CREATE TABLE {table} AS SELECT id FROM range(4)")
    assert storage.rows(f"SELECT count(*) FROM {table}") == [(4,)]
    described = dict(row[:2] for row in storage.rows(f"DESCRIBE EXTENDED {table}"))
    assert described["Location"].rstrip("/") == f"{storage.warehouse}/db.db/c"


def test_purge_of_a_partition(storage: Storage) -> None:
    """DROP PARTITION … PURGE deletes the partition's files, and no others."""
    table = _made(storage)
    location = f"{storage.warehouse}/db.db/t"
    storage.spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = 'p2') PURGE")
    assert [path.partition("/")[0] for path in storage.files(location)] == ["p=p0", "p=p1", "p=p3"]
    assert not storage.exists(f"{location}/p=p2")
    assert _counts(storage, table) == [FIRST[0], FIRST[1], FIRST[3]]
