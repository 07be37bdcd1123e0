"""`publish` to Hive's own metastore (embedded in Derby): what Hive then reports of a table, and which rows it
reads.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from tests.support.processes import run, run_python

_SCRIPT = """
    import json, sys
    from pathlib import Path
    import pyarrow as pa, pyarrow.parquet as pq
    import msgspec
    from pyspark.sql import SparkSession
    import parquetry
    from parquetry import metastore as ms
    from parquetry.cli.main import main
    from parquetry.metastore.commits.committer import commit

    def shown(spark, name):
        jvm = spark._jvm
        client = jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(
            jvm.org.apache.spark.sql.hive.client.HiveClientImpl.newHiveConf(
                spark.sparkContext._jsc.sc().conf(), spark._jsparkSession.sessionState().newHadoopConf(),
                jvm.scala.collection.immutable.HashMap(), jvm.scala.Option.empty()))
        table = client.getTable("db", name)
        def storage(sd):
            skew = sd.getSkewedInfo()
            return {
                "location": sd.getLocation(), "input": sd.getInputFormat().rpartition(".")[2],
                "columns": [f"{c.getName()} {c.getType()}" for c in sd.getCols()],
                "skewed": list(skew.getSkewedColNames()),
                "values": sorted(list(v) for v in skew.getSkewedColValues()),
                "locations": sorted([list(k), v] for k, v in skew.getSkewedColValueLocationMaps().items()),
                "directories": sd.isStoredAsSubDirectories(),
            }
        parts = client.listPartitions("db", name, -1)
        found = {
            "type": table.getTableType(), "keys": [f"{c.getName()} {c.getType()}" for c in table.getPartitionKeys()],
            "table": storage(table.getSd()),
            "partitions": {json.dumps(list(p.getValues())): {**storage(p.getSd()), "rows": p.getParameters()["numRows"]}
                           for p in parts},
        }
        client.close()
        return found

    work = Path(sys.argv[1])
    builder = (SparkSession.builder.master("local[1]").enableHiveSupport()
        .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(work / "hive"))
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={work}/derby;create=true"))
    spark = parquetry.configure(builder, "lake", work / "lake").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql("CREATE TABLE lake.db.t (x int COMMENT 'heavy', Name string, ds string) PARTITIONED BY (ds) TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')")
    root = Path(spark.sql("DESCRIBE EXTENDED lake.db.t").where("col_name = 'Location'").first()[1].removeprefix("file:"))
    skew = ms.ArrangementSpec(ms.SkewMap(("x",), ((6,), (20,), (None,)), directories=True))
    with ms.open_metastore(str(work / "lake")) as metastore:
        table = metastore.table("db", "t")
        transaction = ms.Transaction(table, "laid out")
        transaction.set_metadata(msgspec.structs.replace(table.metadata, arrangement=skew))
        rest = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
        for ds, files in {
            "a": [("x=6", 0, [6, 6]), (rest, -1, [7, 8])],
            "b": [("x=6", 0, [6]), ("elsewhere", -1, [9])],  # Hive would look in its default directory only
        }.items():
            made = []
            for folder, cell, values in files:
                path = root / f"ds={ds}" / folder / "f.parquet"
                path.parent.mkdir(parents=True)
                pq.write_table(pa.table({"x": pa.array(values, pa.int32()), "Name": ["n"] * len(values)}), path)
                made.append(ms.FileRecord(f"{folder}/f.parquet", path.stat().st_size, len(values), cell=cell))
            transaction.add((ds,), None, made)
        commit(transaction)
    told = lambda sql: [list(row) for row in spark.sql(sql).collect()]
    call = "CALL lake.system.publish('db.t')"
    out = {"first": told(call), "hive": shown(spark, "t")}
    count = "SELECT ds, x, name FROM {}.t WHERE x <> 9 OR x = 9 ORDER BY ds, x, name"
    spark.sql("SET spark.sql.hive.convertMetastoreParquet=false")  # Hive's own readers, which look into directories
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("mapreduce.input.fileinputformat.input.dir.recursive", "true")
    out["rows"] = told(count.format("lake.db")), told(count.format("spark_catalog.db"))
    spark.sql("ALTER TABLE lake.db.t DROP PARTITION (ds = 'b')")
    spark.sql("INSERT INTO lake.db.t VALUES (1, 'new', 'c''d=/')")
    out["again"] = told(call)
    out["rows again"] = told(count.format("lake.db")), told(count.format("spark_catalog.db"))
    spark.sql("INSERT OVERWRITE lake.db.t PARTITION (ds = 'a') SELECT 6, 'over'")
    for refused in (call, "CALL lake.system.publish('db.t', 'default.other')", "CALL lake.system.publish('db.t', 'a.b.c')"):
        try:
            spark.sql(refused)
        except Exception as error:
            out.setdefault("refused", []).append(str(error))
    spark.sql("CREATE TABLE db.theirs (a int)")
    spark.sql("CREATE TABLE lake.db.plain USING orc AS SELECT 1 AS a, CAST('x' AS char(3)) AS c")
    try:
        spark.sql("CALL lake.system.publish('db.plain', 'db.theirs')")
    except Exception as error:
        out["refused"].append(str(error))
    spark.sql("CREATE TABLE lake.db.wrong (a timestamp_ntz)")
    try:
        spark.sql("CALL lake.system.publish('db.wrong')")
    except Exception as error:
        out["refused"].append(str(error))
    spark.stop()
    try:
        main(["publish", "db.plain", "-w", str(work / "lake"), "--as", "db.p", "--json",
              "--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:;databaseName={work}/derby"])
    except SystemExit as ended:
        out["exit"] = ended.code
    print("RESULT" + json.dumps(out))
"""


def test_publish(tmp_path: Path) -> None:
    """Hive's metastore gets columns, partitions and heavy values, and directories only if Hive finds all rows
    by them.
    """
    printed = run_python(textwrap.dedent(_SCRIPT), tmp_path, str(tmp_path))
    lines = [line for line in printed.splitlines() if "RESULT" in line]
    assert lines, printed
    out = json.loads(lines[0].partition("RESULT")[2])
    root = out["hive"]["table"]["location"]
    base = {"input": "MapredParquetInputFormat", "columns": ["x int", "Name string"], "skewed": ["x"]}
    base["columns"] = ["x int", "name string"]  # Hive keeps names in small letters
    values = [["20"], ["6"], ["__HIVE_DEFAULT_PARTITION__"]]
    assert out["first"] == [
        ["table created", 1, "db.t"],
        ["partitions added", 2, ""],
        ["plain", 1, "ds=b"],
    ]
    hive = out["hive"]
    assert (hive["type"], hive["keys"]) == ("EXTERNAL_TABLE", ["ds string"])
    assert hive["table"] == {**base, "location": root, "values": values, "locations": [], "directories": True}
    assert hive["partitions"] == {
        '["a"]': {
            **base,
            "location": f"{root}/ds=a",
            "values": values,
            "locations": [[["6"], f"{root}/ds=a/x=6"]],
            "directories": True,
            "rows": "4",
        },
        '["b"]': {
            **base, "location": f"{root}/ds=b", "values": values, "locations": [], "directories": False, "rows": "2"
        },
    }  # fmt: skip
    assert out["rows"][0] == out["rows"][1]
    assert len(out["rows"][0]) == 6
    assert out["again"] == [
        ["table updated", 1, "db.t"],
        ["partitions added", 1, ""],
        ["partitions updated", 1, ""],
        ["partitions dropped", 1, ""],
    ]
    assert out["rows again"][0] == out["rows again"][1]
    assert len(out["rows again"][0]) == 5
    for error, says in zip(
        out["refused"],
        (
            "2 files not of this version",
            "not of this version",
            "cannot be read",
            "not published from",
            "no type",
        ),
        strict=True,
    ):
        assert says in error
    assert out["exit"] == 0
    assert '{"action": "table created", "count": 1, "detail": "db.p"}' in printed


def test_publish_where_no_metastore_is_named(tmp_path: Path) -> None:
    """The command line says what to give, and makes no metastore in the working directory."""
    with ms.open_metastore(str(tmp_path / "lake"), create=True) as metastore:
        metadata = ms.TableMetadata((ms.TableColumn("a", "integer"),), (), "parquet", f"{tmp_path}/lake/t")
        metastore.create_table("default", "t", metadata)
    here = tmp_path / "here"
    here.mkdir()
    command = [sys.executable, "-m", "parquetry.cli.main", "publish", "t", "-w", f"{tmp_path}/lake"]
    assert "parquetry: No Hive metastore is named" in run(command, here)
    assert list(here.iterdir()) == []


def test_a_session_without_hive(spark: SparkSession, db: str) -> None:
    """The error says how to have one."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    with pytest.raises(AnalysisException, match="enableHiveSupport"):
        spark.sql(f"CALL lake.system.publish('{db.removeprefix('lake.')}.t')")
