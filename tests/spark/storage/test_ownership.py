"""Owners of a warehouse, and of a place in its several spellings; locations with secrets in them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry.errors import ForeignWarehouseError
from parquetry.locations import create_small_file, read_small_file, replace_small_file, use_file_systems
from parquetry.metastore import open_metastore
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.spark.configuration import CATALOG_CLASS
from parquetry.spark.hadoop_files import HadoopFileSystems
from tests.support.spark.storages import NAMES, Storage, open_storage

pytestmark = pytest.mark.s3


@pytest.fixture(params=NAMES)
def anywhere(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Storage:
    """A warehouse on each storage: the file systems differ in what they promise."""
    return open_storage(request.param, spark, tmp_path)


def test_a_warehouse_has_one_metastore(anywhere: Storage, tmp_path: Path) -> None:
    """Another catalog with its own store can read the warehouse, but each statement that writes is refused.

    A claim reverses the roles.
    """
    spark, other = anywhere.spark, f"{anywhere.catalog}_other"
    spark.sql(f"CREATE TABLE {anywhere.database}.t (id BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {anywhere.database}.t SELECT id, 1 FROM range(10)")
    before = anywhere.files(anywhere.warehouse, hidden=True)
    assert "_parquetry_metastore.json" in before
    for key, value in {
        "": CATALOG_CLASS,
        ".warehouse": anywhere.warehouse,
        ".store": f"sqlite://{tmp_path}/other.sqlite",
    }.items():
        spark.conf.set(f"spark.sql.catalog.{other}{key}", value)
    assert anywhere.rows(f"SHOW TABLES IN {other}.default") == []
    refused = [
        f"CREATE NAMESPACE {other}.db",
        f"CREATE TABLE {other}.default.u (id BIGINT)",
        f"CREATE TABLE {other}.default.u AS SELECT 1 AS id",
        f"CREATE OR REPLACE VIEW {other}.default.v AS SELECT 1 AS id",
    ]
    for statement in refused:
        with pytest.raises(
            Exception,
            match=r"PARQUETRY_FOREIGN_WAREHOUSE.*belongs to the metastore in sqlite://.*may only be read",
        ):
            spark.sql(statement).collect()
    assert anywhere.files(anywhere.warehouse, hidden=True) == before
    (claimed,) = anywhere.rows(f"CALL {other}.system.claim()")
    assert claimed[1:4] == (f"sqlite://{tmp_path}/other.sqlite", anywhere.store, True)
    spark.sql(f"CREATE TABLE {other}.default.u AS SELECT 1 AS id")
    table = f"{anywhere.database}.t"
    refused = [
        f"INSERT INTO {table} VALUES (1, 1)",
        f"INSERT OVERWRITE {table} VALUES (1, 1)",
        f"DELETE FROM {table} WHERE p = 1",
        f"DELETE FROM {table} WHERE id = 1",
        f"UPDATE {table} SET id = 0 WHERE id = 1",
        f"MERGE INTO {table} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        f"TRUNCATE TABLE {table}",
        f"ALTER TABLE {table} ADD COLUMN c INT",
        f"ALTER TABLE {table} DROP PARTITION (p = 1)",
        f"MSCK REPAIR TABLE {table}",
        f"DROP TABLE {table}",
        f"DROP NAMESPACE {anywhere.database} CASCADE",
        f"CALL {anywhere.catalog}.system.vacuum(table => 'db.t')",
        f"CALL {anywhere.catalog}.system.compact(table => 'db.t')",
        f"CALL {anywhere.catalog}.system.rollback(table => 'db.t', version => 0)",
    ]
    before = anywhere.files(anywhere.warehouse, hidden=True)
    for statement in refused:
        with pytest.raises(Exception, match="PARQUETRY_FOREIGN_WAREHOUSE"):
            spark.sql(statement).collect()
    assert anywhere.files(anywhere.warehouse, hidden=True) == before
    assert anywhere.rows(f"SELECT count(*), sum(id) FROM {table} WHERE id >= 0") == [(10, 45)]


def test_a_mark_alone_keeps_files(anywhere: Storage) -> None:
    """If a session's metastore was not retired, it reads the mark again before it deletes."""
    table = f"{anywhere.database}.t"
    anywhere.spark.sql(f"CREATE TABLE {table} (id BIGINT)")
    anywhere.spark.sql(f"INSERT INTO {table} SELECT id FROM range(10)")
    anywhere.spark.sql(f"INSERT OVERWRITE {table} SELECT id FROM range(5)")
    mark, before = f"{anywhere.warehouse}/_parquetry_metastore.json", anywhere.files(anywhere.warehouse)
    with use_file_systems(HadoopFileSystems(anywhere.spark)):
        text = read_small_file(mark)
        assert text is not None
        replace_small_file(mark, text.replace(b'"metastore": "', b'"metastore": "0'))
        with (
            open_metastore(anywhere.warehouse, anywhere.store) as metastore,
            pytest.raises(ForeignWarehouseError),
        ):
            vacuum(metastore.table("db", "t"), older_than=1 << 50)
    for statement in (
        f"CALL {anywhere.catalog}.system.vacuum(table => 'db.t', older_than => current_timestamp(), allow_recent => true)",
        f"DROP TABLE {table}",
        f"DROP TABLE {table} PURGE",
    ):
        with pytest.raises(Exception, match="PARQUETRY_FOREIGN_WAREHOUSE"):
            anywhere.spark.sql(statement).collect()
    assert anywhere.files(anywhere.warehouse) == before


def test_one_of_many_creates_a_file(anywhere: Storage) -> None:
    """If several threads create a file at the same moment, one succeeds, and all see its text."""
    for attempt in range(5):
        location = f"{anywhere.base}/file{attempt}"
        texts = [f"text {number}".encode() for number in range(6)]
        start, seen = threading.Barrier(len(texts)), list[bytes]()

        def create(
            text: bytes, location: str = location, start: threading.Barrier = start, seen: list[bytes] = seen
        ) -> None:
            with use_file_systems(HadoopFileSystems(anywhere.spark)):
                start.wait()
                seen.append(create_small_file(location, text))

        threads = [threading.Thread(target=create, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == len(texts)
        assert len(set(seen)) == 1
        assert seen[0] in texts


def test_another_spelling_is_the_same_place(s3: Storage) -> None:
    """The folder of a managed table below `s3a:` is not given away as one below `s3:`."""
    s3.spark.sql(f"CREATE TABLE {s3.database}.t (id BIGINT)")
    for scheme in ("s3", "s3n"):
        location = f"{s3.warehouse}/db.db/t/below".replace("s3a:", f"{scheme}:")
        with pytest.raises(AnalysisException, match="LOCATION_TAKEN"):
            s3.spark.sql(f"CREATE TABLE {s3.database}.o (id BIGINT) USING parquet LOCATION '{location}'")


def test_secrets_in_locations(s3: Storage) -> None:
    """A location with a password or a signature is refused with a reason, and the secret is not shown."""
    for location in ("s3a://key:topsecret@lake/t", "s3a://lake/t?X-Amz-Signature=topsecret"):
        with pytest.raises(AnalysisException, match=r"password|signed URL") as caught:
            s3.spark.sql(f"CREATE TABLE {s3.database}.o (id BIGINT) USING parquet LOCATION '{location}'")
        assert "topsecret" not in str(caught.value)


def test_an_unknown_scheme(s3: Storage) -> None:
    """A scheme that Hadoop does not know is named, with where its settings belong."""
    table = f"{s3.database}.o"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT) USING parquet LOCATION 'nowhere://a/t'")
    with pytest.raises(AnalysisException, match=r"No FileSystem for scheme .nowhere.*spark\.hadoop\.fs"):
        s3.spark.sql(f"MSCK REPAIR TABLE {table}")
