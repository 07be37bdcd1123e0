"""Programs of the JVM: `spark-shell`, and an application in Scala on a cluster of two workers."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.support.clusters.standalone import cluster
from tests.support.jars import java
from tests.support.jvm import quick_start
from tests.support.spark import doors

TYPED = """
spark.sql("CREATE TABLE lake.default.t (x INT, d INT) PARTITIONED BY (d)")
spark.range(12).selectExpr("CAST(id AS INT) AS x", "CAST(id % 3 AS INT) AS d").writeTo("lake.default.t").append()
println("SUM " + spark.table("lake.default.t").where("d = 1").selectExpr("sum(x)").head.getLong(0))
println("READ " + spark.sql("CALL lake.system.last_reports()").where("step = 'partitions'").selectExpr("kept || ' of ' || total").head.getString(0))
"""


def test_spark_shell(tmp_path: Path) -> None:
    """A Spark shell writes and reads a frame, and prints its report."""
    done = doors.run("spark-shell", [*doors.flags(tmp_path), "--master", "local[1]"], tmp_path, TYPED)
    assert "SUM 22" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert "READ 1 of 3" in done.stdout


APPLICATION = """
import org.apache.spark.sql.SparkSession

object Application {
  def main(arguments: Array[String]): Unit = {
    val spark = SparkSession.builder().getOrCreate()
    spark.sql("CREATE TABLE lake.default.t (x INT, d INT) PARTITIONED BY (d) CLUSTERED BY (x) INTO 2 BUCKETS")
    spark.range(0, 100, 1, 4).selectExpr("CAST(id AS INT) AS x", "CAST(id % 4 AS INT) AS d").writeTo("lake.default.t").append()
    spark.sql("UPDATE lake.default.t SET d = 9 WHERE x = 5")
    val sum = spark.sql("SELECT sum(x) FROM lake.default.t WHERE d IN (1, 9)").head.getLong(0)
    val executors = spark.sparkContext.statusTracker.getExecutorInfos.length - 1
    java.nio.file.Files.writeString(java.nio.file.Path.of(arguments(0)), s"$sum $executors")
    spark.stop()
  }
}
"""


def compiled(folder: Path) -> Path:
    """Compile the application with the compiler in PySpark's jars; return its jar."""
    source, classes, packed = folder / "Application.scala", folder / "classes", folder / "application.jar"
    source.write_text(APPLICATION)
    classes.mkdir()
    jars = str(doors.SPARK / "jars" / "*")
    command = [
        java(),
        *quick_start.FLAGS.split(),
        "-cp",
        jars,
        "scala.tools.nsc.Main",
        "-nowarn",
        "-usejavacp",
        "-d",
        str(classes),
        str(source),
    ]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(packed, "w") as archive:
        for path in classes.rglob("*.class"):
            archive.write(path, path.relative_to(classes))
    return packed


@pytest.mark.exhaustive(
    "test_spark_shell runs Scala without Python; tests/spark/session/test_cluster.py has executors in JVMs of their own"
)
@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_an_application_on_a_cluster(mode: str, tmp_path: Path) -> None:
    """A Scala application runs in both modes on two workers whose executors have neither Python nor a file of
    the driver's.
    """
    answer = tmp_path / "answer"
    with cluster(tmp_path / "cluster") as master:
        arguments = [
            *doors.flags(tmp_path, spark__executor__memory="512m", spark__driver__memory="512m"),
            *(
                "--conf",
                "spark.executorEnv.PYTHONPATH=/nowhere",
                "--conf",
                "spark.standalone.submit.waitAppCompletion=true",
            ),
            *(
                "--master",
                master,
                "--deploy-mode",
                mode,
                "--class",
                "Application",
                str(compiled(tmp_path)),
                str(answer),
            ),
        ]
        done = doors.run("spark-submit", arguments, tmp_path)
    assert answer.exists(), done.stderr[-3000:]
    assert answer.read_text().split()[0] == str(sum(x for x in range(100) if x % 4 == 1))
