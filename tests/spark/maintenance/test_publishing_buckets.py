"""`publish` of bucketed tables to Hive's own metastore (embedded in Derby): what Hive then reports, and what
plain Spark reads.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from tests.support.processes import run_python

_SCRIPT = """
    import json, sys
    from pathlib import Path
    from pyspark.sql import SparkSession
    import parquetry

    def shown(name):
        jvm = spark._jvm
        client = jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(
            jvm.org.apache.spark.sql.hive.client.HiveClientImpl.newHiveConf(
                spark.sparkContext._jsc.sc().conf(), spark._jsparkSession.sessionState().newHadoopConf(),
                jvm.scala.collection.immutable.HashMap(), jvm.scala.Option.empty()))
        table = client.getTable("db", name)
        def storage(sd):
            return [sd.getNumBuckets(), list(sd.getBucketCols()),
                    [[order.getCol(), order.getOrder()] for order in sd.getSortCols()]]
        found = {
            "version": table.getParameters().get("bucketing_version"), "table": storage(table.getSd()),
            "partitions": {"/".join(p.getValues()): storage(p.getSd()) for p in client.listPartitions("db", name, -1)},
        }
        client.close()
        return found

    work = Path(sys.argv[1])
    builder = (SparkSession.builder.master("local[1]").enableHiveSupport()
        .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(work / "hive"))
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={work}/derby;create=true"))
    spark = parquetry.configure(builder, "lake", work / "lake").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("CREATE NAMESPACE lake.db")
    told = lambda sql: [list(row) for row in spark.sql(sql).collect()]
    out = {}

    def publish(name, as_=None):
        found = told(f"CALL lake.system.publish('db.{name}')")
        readers = [f"lake.db.{name}", f"spark_catalog.db.{name}"]
        rows = [sorted(told(f"SELECT * FROM {reader}"), key=str) for reader in readers]
        spark.sql("SET spark.sql.hive.convertMetastoreParquet=false")  # Hive's own readers
        rows.append(sorted(told(f"SELECT * FROM {readers[1]}"), key=str))
        spark.sql("SET spark.sql.hive.convertMetastoreParquet=true")
        text = told(f"SHOW CREATE TABLE spark_catalog.db.{name}")[0][0]
        out[as_ or name] = {
            "told": found, "hive": shown(name), "same": rows[0] == rows[1] == rows[2], "rows": len(rows[0]),
            "clustered": " ".join(text.split()).partition(" CLUSTERED BY ")[2].partition(" BUCKETS")[0]}

    some = "SELECT CAST(id AS INT) AS Id, concat('s', id) AS s, CAST(id % 2 AS STRING) AS ds FROM range(40)"
    spark.sql("CREATE TABLE lake.db.v2 (Id INT, s STRING, ds STRING) PARTITIONED BY (ds) CLUSTERED BY (Id) SORTED BY (Id DESC) INTO 4 BUCKETS")
    spark.sql(f"INSERT INTO lake.db.v2 {some}")
    spark.sql("ALTER TABLE lake.db.v2 CLUSTERED BY (Id) SORTED BY (Id DESC) INTO 8 BUCKETS")
    spark.sql("INSERT INTO lake.db.v2 VALUES (1, 'x', 'eight')")
    spark.sql("ALTER TABLE lake.db.v2 SET TBLPROPERTIES ('bucketing-version' = '1')")
    spark.sql("INSERT INTO lake.db.v2 VALUES (1, 'x', 'one')")
    spark.sql("ALTER TABLE lake.db.v2 SET TBLPROPERTIES ('bucketing-version' = '2')")
    publish("v2", "first")
    spark.sql("CREATE TABLE lake.db.v1 USING orc CLUSTERED BY (s, Id) INTO 3 BUCKETS TBLPROPERTIES ('bucketing-version' = '1') AS " + some)
    publish("v1")
    spark.sql("CREATE TABLE lake.db.s CLUSTERED BY (Id) INTO 4 BUCKETS TBLPROPERTIES ('bucketing-version' = 'spark') AS " + some)
    publish("s")
    spark.sql("CREATE TABLE lake.db.d CLUSTERED BY (d) INTO 4 BUCKETS AS SELECT CAST(id AS DOUBLE) AS d FROM range(9)")
    publish("d")
    spark.sql("ALTER TABLE lake.db.v2 NOT CLUSTERED")
    publish("v2", "no longer")
    spark.sql("ALTER TABLE lake.db.v2 CLUSTERED BY (Id) INTO 4 BUCKETS")
    publish("v2", "again")
    adopted = {}
    columns = "id INT, k BIGINT, s VARCHAR(9)"
    for name, by in (("by_k", "k"), ("by_s", "s")):
        clause = f"({columns}) CLUSTERED BY ({by}) SORTED BY (id) INTO 4 BUCKETS STORED AS ORC LOCATION '{work}/{name}'"
        spark.sql(f"CREATE TABLE spark_catalog.default.{name} {clause}")
        spark.sql(f"INSERT INTO spark_catalog.default.{name} SELECT /*+ REPARTITION(3) */ CAST(id AS INT), id * 7 - 50, concat('v', id) FROM range(60)")
        for version in ("2", "1"):
            spark.sql(f"CREATE TABLE lake.db.{name}_{version} {clause} TBLPROPERTIES ('bucketing_version' = '{version}')")
            synced = told(f"CALL lake.system.sync('db.{name}_{version}')")
            with parquetry.open(work / "lake") as catalog:
                files = [(file.path.rpartition("/")[2], file.bucket) for file in catalog.files(f"db.{name}_{version}")]
            adopted[f"{name}_{version}"] = {
                "told": synced, "files": len(files), "known": sum(bucket is not None for _, bucket in files),
                "named": all(name.startswith(f"{bucket:05d}_0_part-") for name, bucket in files if bucket is not None),
                "rows": told(f"SELECT count(*), sum(k) FROM lake.db.{name}_{version}"),
                "verified": told(f"CALL lake.system.verify('db.{name}_{version}')")}
    print("RESULT" + json.dumps({"published": out, "adopted": adopted}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of a session with Hive support."""
    place = tmp_path_factory.mktemp("hive")
    printed = run_python(textwrap.dedent(_SCRIPT), place, str(place))
    lines = [line for line in printed.splitlines() if "RESULT" in line]
    assert lines, printed
    result: dict[str, Any] = json.loads(lines[0].partition("RESULT")[2])
    return result


def test_publish_of_buckets(found: dict[str, Any]) -> None:
    """Hive gets columns, counts, orders and the version of the table's buckets. It gets none for partitions
    with others, or if Hive would miss rows.
    """
    out = found["published"]
    assert {name: (each["same"], each["rows"]) for name, each in out.items()} == {
        "first": (True, 42),
        "v1": (True, 40),
        "s": (True, 40),
        "d": (True, 9),
        "no longer": (True, 42),
        "again": (True, 42),
    }
    plain = [-1, [], []]
    down = [["id", 0]]  # Hive's number for it
    four, eight = [4, ["id"], down], [8, ["id"], down]
    assert out["first"]["hive"] == {
        "version": "2", "table": eight, "partitions": {"0": four, "1": four, "eight": eight, "one": plain}
    }  # fmt: skip
    assert out["first"]["told"] == [
        ["table created", 1, "db.v2"],
        ["partitions added", 4, ""],
        ["not bucketed", 1, "ds=one"],
    ]
    assert out["first"]["clustered"] == "(id) INTO 8"  # of Hive's orders, Spark knows those going up
    assert out["v1"]["hive"] == {"version": "1", "table": [3, ["s", "id"], []], "partitions": {}}
    assert out["v1"]["clustered"] == "(s, id) INTO 3"
    assert out["v1"]["told"] == [["table created", 1, "db.v1"]]
    for name in ("s", "d"):
        assert out[name]["hive"] == {"version": None, "table": plain, "partitions": {}}
        assert out[name]["told"][1:] == [["not bucketed", 1, f"db.{name}"]]
    assert out["no longer"]["hive"] == {
        "version": None, "table": plain, "partitions": dict.fromkeys(("0", "1", "eight", "one"), plain)
    }  # fmt: skip
    assert out["again"]["hive"] == {
        "version": "2",
        "table": [4, ["id"], []],
        "partitions": {"0": four, "1": four, "eight": eight, "one": plain},
    }


def test_buckets_that_spark_wrote_for_hive(found: dict[str, Any]) -> None:
    """Spark places rows by Hive's first hash, for any version that Hive reports.

    It places a varchar by its own hash, so such files claim no bucket.
    """
    out = found["adopted"]
    assert {tuple(each["rows"][0]) for each in out.values()} == {(60, sum(n * 7 - 50 for n in range(60)))}
    assert all(each["named"] for each in out.values())
    right, wrong = out["by_k_1"], out["by_k_2"]
    assert (len(right["told"]), right["files"], right["known"], right["verified"]) == (1, 12, 12, [])
    assert [row[0] for row in wrong["told"]] == ["added", "ignored"]
    assert "By version 1 of the hash all are in the right one" in wrong["told"][1][5]
    assert (wrong["files"], wrong["known"]) == (12, 0)
    assert [row[0] for row in wrong["verified"]] == ["no bucket"]
    varchars = out["by_s_1"]
    assert (varchars["files"], varchars["known"]) == (12, 12)
    assert [(row[0], "Spark" in row[5]) for row in varchars["verified"]] == [("not judged", True)]
