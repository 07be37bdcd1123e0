"""A served Hive metastore of a warehouse on HDFS or S3, where no hard links can be made."""

from __future__ import annotations

import pytest
from hive_metastore import ttypes

from parquetry.errors import ConfigurationError
from parquetry.hive import Choices, ServedMetastore
from tests.support.clients.hive import client, serving
from tests.support.spark.storages import Storage


def test_folders_in_place(storage: Storage) -> None:
    """A partition is read in its own folder while that has its files alone; the error names the remedy."""
    table = f"{storage.database}.t"
    spark = storage.spark
    spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT id, id % 2 FROM range(10)")
    described = {"store": storage.store, "storage_options": storage.options()}
    if storage.base.startswith(("s3a:", "hdfs:")):
        with pytest.raises(ConfigurationError, match=r"has no hard links.*say --in-place"):
            ServedMetastore(storage.warehouse, **described).location()
    metastore = ServedMetastore(storage.warehouse, **described, choices=Choices(in_place=True))
    with serving(metastore) as port, client(port) as hms:
        places = {each.values[0]: each.sd.location for each in hms.get_partitions("db", "t", -1)}
        rows = [row.id for row in spark.read.parquet(places["1"]).orderBy("id").collect()]
        assert rows == [1, 3, 5, 7, 9]
        spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 1) VALUES (11)")
        assert [each.values for each in hms.get_partitions_by_filter("db", "t", "p = 0", -1)] == [["0"]]
        with pytest.raises(ttypes.MetaException, match=r"holds 1 file not of this version.*with vacuum"):
            hms.get_partitions("db", "t", -1)
        spark.sql(
            f"CALL {storage.catalog}.system.vacuum(table => 'db.t', older_than => current_timestamp(), allow_recent => true)"
        )
        places = {each.values[0]: each.sd.location for each in hms.get_partitions("db", "t", -1)}
        assert [row.id for row in spark.read.parquet(places["1"]).collect()] == [11]
