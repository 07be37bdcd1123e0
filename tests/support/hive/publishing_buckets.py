"""Bucketed tables that are published to Hive, and tables with buckets of plain Spark that are adopted."""

from __future__ import annotations

from typing import Any

import parquetry
from tests.support.hive.session import HiveSession

_SOME = "SELECT CAST(id AS INT) AS Id, concat('s', id) AS s, CAST(id % 2 AS STRING) AS ds FROM range(40)"
_COLUMNS = "id INT, k BIGINT, s VARCHAR(9)"


def published(hive: HiveSession, call: str) -> list[list[Any]]:
    """Publish a table; return the answer without its last row, which warns of other writers."""
    *changes, last = hive.rows(call)
    assert last[:2] == ["writable", 1]
    return changes


def publish_buckets(hive: HiveSession) -> dict[str, Any]:
    """Publish tables with buckets of each version, and one of them after changes; return what Hive has."""
    run = hive.spark.sql
    out = {}
    run(
        "CREATE TABLE lake.db.v2 (Id INT, s STRING, ds STRING) PARTITIONED BY (ds) "
        "CLUSTERED BY (Id) SORTED BY (Id DESC) INTO 4 BUCKETS"
    )
    run(f"INSERT INTO lake.db.v2 {_SOME}")
    run("ALTER TABLE lake.db.v2 CLUSTERED BY (Id) SORTED BY (Id DESC) INTO 8 BUCKETS")
    run("INSERT INTO lake.db.v2 VALUES (1, 'x', 'eight')")
    run("ALTER TABLE lake.db.v2 SET TBLPROPERTIES ('bucketing-version' = '1')")
    run("INSERT INTO lake.db.v2 VALUES (1, 'x', 'one')")
    run("ALTER TABLE lake.db.v2 SET TBLPROPERTIES ('bucketing-version' = '2')")
    out["first"] = _published(hive, "v2")
    for name, text in {
        "v1": f"USING orc CLUSTERED BY (s, Id) INTO 3 BUCKETS TBLPROPERTIES ('bucketing-version' = '1') AS {_SOME}",
        "s": f"CLUSTERED BY (Id) INTO 4 BUCKETS TBLPROPERTIES ('bucketing-version' = 'spark') AS {_SOME}",
        "d": "CLUSTERED BY (d) INTO 4 BUCKETS AS SELECT CAST(id AS DOUBLE) AS d FROM range(9)",
    }.items():
        run(f"CREATE TABLE lake.db.{name} {text}")
        out[name] = _published(hive, name)
    run("ALTER TABLE lake.db.v2 NOT CLUSTERED")
    out["no longer"] = _published(hive, "v2")
    run("ALTER TABLE lake.db.v2 CLUSTERED BY (Id) INTO 4 BUCKETS")
    out["again"] = _published(hive, "v2")
    return out


def adopt_buckets(hive: HiveSession) -> dict[str, Any]:
    """Have Hive's tables of plain Spark be written, and adopt their files as buckets of each version."""
    found = {}
    for name, by in (("by_k", "k"), ("by_s", "s")):
        clause = (
            f"({_COLUMNS}) CLUSTERED BY ({by}) SORTED BY (id) INTO 4 BUCKETS STORED AS ORC "
            f"LOCATION '{hive.work}/{name}'"
        )
        hive.spark.sql(f"CREATE TABLE spark_catalog.default.{name} {clause}")
        hive.spark.sql(
            f"INSERT INTO spark_catalog.default.{name} "
            "SELECT /*+ REPARTITION(3) */ CAST(id AS INT), id * 7 - 50, concat('v', id) FROM range(60)"
        )
        for version in ("2", "1"):
            table = f"db.{name}_{version}"
            hive.spark.sql(
                f"CREATE TABLE lake.{table} {clause} TBLPROPERTIES ('bucketing_version' = '{version}')"
            )
            synced = hive.rows(f"CALL lake.system.sync('{table}')")
            with parquetry.open(hive.work / "lake") as catalog:
                files = [(file.path.rpartition("/")[2], file.bucket) for file in catalog.files(table)]
            known = [(file, bucket) for file, bucket in files if bucket is not None]
            found[f"{name}_{version}"] = {
                "told": synced,
                "files": len(files),
                "known": len(known),
                "named": all(file.startswith(f"{bucket:05d}_0_part-") for file, bucket in known),
                "rows": hive.rows(f"SELECT count(*), sum(k) FROM lake.{table}"),
                "verified": hive.rows(f"CALL lake.system.verify('{table}')"),
            }
    return found


def _published(hive: HiveSession, name: str) -> dict[str, Any]:
    """Publish a table; return the procedure's rows, the buckets in Hive, and whether all readers agree."""
    told = published(hive, f"CALL lake.system.publish('db.{name}')")
    readers = [f"lake.db.{name}", f"spark_catalog.db.{name}"]
    rows = [sorted(hive.rows(f"SELECT * FROM {reader}"), key=str) for reader in readers]
    hive.spark.sql("SET spark.sql.hive.convertMetastoreParquet=false")  # Hive's own readers
    rows.append(sorted(hive.rows(f"SELECT * FROM {readers[1]}"), key=str))
    hive.spark.sql("SET spark.sql.hive.convertMetastoreParquet=true")
    text = " ".join(str(hive.rows(f"SHOW CREATE TABLE spark_catalog.db.{name}")[0][0]).split())
    return {
        "told": told,
        "hive": _shown(hive, name),
        "same": rows[0] == rows[1] == rows[2],
        "rows": len(rows[0]),
        "clustered": text.partition(" CLUSTERED BY ")[2].partition(" BUCKETS")[0],
    }


def _shown(hive: HiveSession, name: str) -> dict[str, Any]:
    """Return the buckets that Hive's metastore has of a table and its partitions."""
    with hive.client() as client:
        table = client.getTable("db", name)
        return {
            "version": table.getParameters().get("bucketing_version"),
            "table": _storage(table.getSd()),
            "partitions": {
                "/".join(part.getValues()): _storage(part.getSd())
                for part in client.listPartitions("db", name, -1)
            },
        }


def _storage(descriptor: Any) -> list[Any]:
    orders = [[order.getCol(), order.getOrder()] for order in descriptor.getSortCols()]
    return [descriptor.getNumBuckets(), list(descriptor.getBucketCols()), orders]
