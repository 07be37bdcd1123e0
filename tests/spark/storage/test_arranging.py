"""Layouts on each storage: directories of heavy values, and buckets."""

from __future__ import annotations

from tests.support.spark.storages import Storage


def test_list_bucketing(storage: Storage) -> None:
    """Rows of a heavy value get a directory of their own, and a query for it reads no other."""
    table = f"{storage.database}.s"
    storage.spark.sql(
        f"CREATE TABLE {table} (id BIGINT, c STRING, p INT) PARTITIONED BY (p) SKEWED BY (c) ON ('big') STORED AS DIRECTORIES"
    )
    storage.spark.sql(
        f"INSERT OVERWRITE {table} PARTITION (p = 1) SELECT id, if(id % 10 = 0, concat('c', id), 'big') FROM range(200)"
    )
    directories = {path.rpartition("/")[0] for path in storage.files(f"{storage.warehouse}/db.db/s")}
    assert "p=1/c=big" in directories
    assert storage.rows(f"SELECT count(*) FROM {table} WHERE c = 'big' AND id >= 0") == [(180,)]
    assert storage.rows(f"SELECT count(*) FROM {table} WHERE c = 'c10' AND id >= 0") == [(1,)]


def test_buckets(storage: Storage) -> None:
    """Rows are in the buckets of their hashes, as verify reads them, and a lookup finds its row."""
    table = f"{storage.database}.b"
    storage.spark.sql(
        f"CREATE TABLE {table} USING parquet CLUSTERED BY (id) SORTED BY (id) INTO 4 BUCKETS AS SELECT id, id * 2 v FROM range(100)"
    )
    assert len(storage.files(f"{storage.warehouse}/db.db/b")) == 4
    assert storage.rows(f"SELECT v FROM {table} WHERE id = 17") == [(34,)]
    assert storage.rows(f"CALL {storage.catalog}.system.verify(table => 'db.b')") == []
