"""A program that publishes tables to Hive's own metastore, and prints what Hive then reports and reads.

All of it is one program, as it takes a session with Hive long to start.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from parquetry import metastore as ms
from parquetry.cli.main import main
from parquetry.metastore.commits.committer import commit
from tests.support.hive.publishing_buckets import adopt_buckets, publish_buckets, published
from tests.support.hive.session import HiveSession

RESULT = "RESULT"
"""The beginning of the line with the results."""
_CALL = "CALL lake.system.publish('db.t')"
_REST = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
_FILES = {
    "a": [("x=6", 0, [6, 6]), (_REST, -1, [7, 8])],
    "b": [("x=6", 0, [6]), ("elsewhere", -1, [9])],  # Hive would look in its default directory only
}
"""Files of partitions: the directory, the cell, and the values of `x`."""


def publish_tables(hive: HiveSession) -> dict[str, Any]:
    """Publish a table with directories of heavy values, again after changes, and others that are refused."""
    spark = hive.spark
    _make_table(hive)
    out: dict[str, Any] = {"first": published(hive, _CALL), "hive": _shown(hive, "t")}
    spark.sql(
        "SET spark.sql.hive.convertMetastoreParquet=false"
    )  # Hive's own readers, which look into directories
    spark.sparkContext._jsc.hadoopConfiguration().set(
        "mapreduce.input.fileinputformat.input.dir.recursive", "true"
    )
    out["rows"] = _both(hive)
    spark.sql("ALTER TABLE lake.db.t DROP PARTITION (ds = 'b')")
    spark.sql("INSERT INTO lake.db.t VALUES (1, 'new', 'c''d=/')")
    out["again"] = published(hive, _CALL)
    out["rows again"] = _both(hive)
    out["read only"] = _attack(hive)
    spark.sql("INSERT OVERWRITE lake.db.t PARTITION (ds = 'a') SELECT 6, 'over'")
    spark.sql("CREATE TABLE db.theirs (a int)")
    spark.sql("CREATE TABLE lake.db.plain USING orc AS SELECT 1 AS a, CAST('x' AS char(3)) AS c")
    spark.sql("CREATE TABLE lake.db.wrong (a timestamp_ntz)")
    out["refused"] = [
        hive.error(_CALL),
        hive.error("CALL lake.system.publish('db.t', 'default.other')"),
        hive.error("CALL lake.system.publish('db.t', 'a.b.c')"),
        hive.error("CALL lake.system.publish('db.plain', 'db.theirs')"),
        hive.error("CALL lake.system.publish('db.wrong')"),
    ]
    return out


def _attack(hive: HiveSession) -> list[Any]:
    """Publish links, overwrite a partition by Hive's client, and publish again; return the rows each time."""
    call = "CALL lake.system.publish('db.t', 'db.links', read_only => true)"
    query = "SELECT ds, x, name FROM {} ORDER BY ds, x, name"
    told, rows = [row[0] for row in hive.rows(call)], [hive.rows(query.format("spark_catalog.db.links"))]
    with contextlib.suppress(Exception):  # who is no administrator gets an error
        hive.spark.sql("INSERT OVERWRITE spark_catalog.db.links PARTITION (ds = 'a') SELECT 77, 'theirs'")
    rows.append(hive.rows(query.format("lake.db.t")))
    hive.rows(call)
    rows.append(hive.rows(query.format("spark_catalog.db.links")))
    return [told, rows]


def _make_table(hive: HiveSession) -> None:
    spark = hive.spark
    spark.sql(
        "CREATE TABLE lake.db.t (x int COMMENT 'heavy', Name string, ds string) PARTITIONED BY (ds) "
        "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"
    )
    described = spark.sql("DESCRIBE EXTENDED lake.db.t").where("col_name = 'Location'").first()
    root = Path(described[1].removeprefix("file:"))
    skew = ms.ArrangementSpec(ms.SkewMap(("x",), ((6,), (20,), (None,)), directories=True))
    with ms.open_metastore(str(hive.work / "lake")) as metastore:
        table = metastore.table("db", "t")
        transaction = ms.Transaction(table, "laid out")
        transaction.set_metadata(msgspec.structs.replace(table.metadata, arrangement=skew))
        for ds, files in _FILES.items():
            made = []
            for folder, cell, values in files:
                path = root / f"ds={ds}" / folder / "f.parquet"
                path.parent.mkdir(parents=True)
                rows = {"x": pa.array(values, pa.int32()), "Name": ["n"] * len(values)}
                pq.write_table(pa.table(rows), path)
                made.append(ms.FileRecord(f"{folder}/f.parquet", path.stat().st_size, len(values), cell=cell))
            transaction.add((ds,), None, made)
        commit(transaction)


def _both(hive: HiveSession) -> list[list[list[Any]]]:
    """Return the table's rows as we read them, and as Hive does."""
    query = "SELECT ds, x, name FROM {}.t WHERE x <> 9 OR x = 9 ORDER BY ds, x, name"
    return [hive.rows(query.format(database)) for database in ("lake.db", "spark_catalog.db")]


def _shown(hive: HiveSession, name: str) -> dict[str, Any]:
    """Return what Hive's metastore has of a table and its partitions."""
    with hive.client() as client:
        table = client.getTable("db", name)
        return {
            "type": table.getTableType(),
            "keys": [f"{column.getName()} {column.getType()}" for column in table.getPartitionKeys()],
            "table": _storage(table.getSd()),
            "partitions": {
                json.dumps(list(part.getValues())): {
                    **_storage(part.getSd()),
                    "rows": part.getParameters()["numRows"],
                }
                for part in client.listPartitions("db", name, -1)
            },
        }


def _storage(descriptor: Any) -> dict[str, Any]:
    skew = descriptor.getSkewedInfo()
    return {
        "location": descriptor.getLocation(),
        "input": descriptor.getInputFormat().rpartition(".")[2],
        "columns": [f"{column.getName()} {column.getType()}" for column in descriptor.getCols()],
        "skewed": list(skew.getSkewedColNames()),
        "values": sorted(list(values) for values in skew.getSkewedColValues()),
        "locations": sorted(
            [list(values), location] for values, location in skew.getSkewedColValueLocationMaps().items()
        ),
        "directories": descriptor.isStoredAsSubDirectories(),
    }


def publish_by_command(hive: HiveSession) -> object:
    """Publish by the command line, in a session of its own, and return the exit code."""
    hive.spark.stop()
    command = ["publish", "db.plain", "-w", str(hive.work / "lake"), "--as", "db.p", "--json"]
    try:
        main([*command, "--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL={hive.derby}"])
    except SystemExit as ended:
        return ended.code
    return None


if __name__ == "__main__":
    _hive = HiveSession(Path(sys.argv[1]))
    _results = {
        "buckets": publish_buckets(_hive),
        "adopted": adopt_buckets(_hive),
        "tables": publish_tables(_hive),
    }
    print(RESULT + json.dumps({**_results, "exit": publish_by_command(_hive)}))
