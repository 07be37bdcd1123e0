"""The sides that are compared: their sessions, and each side's SQL for the same job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.files.iceberg import Environment
from benchmarks.requests.session import ANSWER
from tests.support.jars import fetched
from tests.support.s3.launcher import ACCESS_KEY, REGION, SECRET_KEY, s3a_jars

BUCKET = "bench"
FOREIGN = f"s3a://{BUCKET}/foreign"
"""Where Iceberg finds files of others: it takes files in from another table's folder."""
_HERE = Path(__file__).parent
_CLOUD = "org.apache.spark.internal.io.cloud"
_MAGIC = {
    "spark.hadoop.fs.s3a.committer.name": "magic",
    "spark.hadoop.mapreduce.outputcommitter.factory.scheme.s3a": "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory",
    "spark.sql.sources.commitProtocolClass": f"{_CLOUD}.PathOutputCommitProtocol",
    "spark.sql.parquet.output.committer.class": f"{_CLOUD}.BindingParquetOutputCommitter",
}
_ICEBERG = "org.apache.iceberg.spark"
_COMMON = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


class SideError(Exception):
    """A side could not run a statement."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of those compared.

    Attributes:
        name: for the table.
        schema: catalog and database of its tables.
        format: after USING.
        settings: of Spark, beside the store's settings.
        jars: beside PySpark's.
        python: the interpreter with its PySpark.
        folder: of the files that its MSCK finds for a table `{}`, relative to the bucket.
        adopt: SQL for a table `{}` that takes in the files of folder `{}`.
        clean: SQL that deletes what old versions need, of table `{}`; none if it keeps no old versions.
        drop: SQL that drops table `{}` with its files.
    """

    name: str
    schema: str
    format: str
    settings: dict[str, str]
    jars: Sequence[Path]
    python: Path
    folder: str
    adopt: str
    clean: Sequence[str] = ()
    drop: str = "DROP TABLE {}"
    with_parquetry: bool = field(default=False)

    def table(self, name: str) -> str:
        """Return the full name of a table."""
        return f"{self.schema}.{name}"


def parquetry(_: str) -> Side:
    """Return Parquetry."""
    later = "current_timestamp() + INTERVAL 1 DAY"
    clean = f"CALL lake.system.vacuum(table => '{{}}', older_than => {later})"
    return Side(
        "Parquetry", "lake.db", "parquet", {}, s3a_jars(), Path(sys.executable), "wh/db.db/{}",
        "MSCK REPAIR TABLE {}", [clean], with_parquetry=True,
    )  # fmt: skip


def spark(_: str) -> Side:
    """Return Spark with its default committer."""
    return _plain("Spark", "plain", {}, s3a_jars())


def spark_with_magic(_: str) -> Side:
    """Return Spark with the magic committer of s3a."""
    cloud = fetched(_HERE / "cloud.xml", "Spark-Cloud", "1 MB").glob("*.jar")
    return _plain("Spark, magic committer", "magic", _MAGIC, [*s3a_jars(), *cloud])


def _plain(name: str, folder: str, settings: dict[str, str], jars: Sequence[Path]) -> Side:
    where = {"spark.sql.warehouse.dir": f"s3a://{BUCKET}/{folder}"}
    return Side(
        name, "spark_catalog.db", "parquet", {**where, **settings}, jars, Path(sys.executable),
        f"{folder}/db.db/{{}}", "MSCK REPAIR TABLE {}",
    )  # fmt: skip


def iceberg(environment: Environment, endpoint: str) -> Side:
    """Return Apache Iceberg, with its own client of S3.

    Args:
        environment: to run in.
        endpoint: of the S3 server.
    """
    settings = {
        "spark.sql.extensions": f"{_ICEBERG}.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.ice": f"{_ICEBERG}.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"s3a://{BUCKET}/ice",
        # its own client of S3 deletes in bulk, which its client of Hadoop's file systems does not
        "spark.sql.catalog.ice.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "spark.sql.catalog.ice.s3.endpoint": endpoint,
        "spark.sql.catalog.ice.s3.path-style-access": "true",
        "spark.sql.catalog.ice.s3.access-key-id": ACCESS_KEY,
        "spark.sql.catalog.ice.s3.secret-access-key": SECRET_KEY,
        "spark.sql.catalog.ice.client.region": REGION,
    }
    jars = [environment.runtime]
    jars += fetched(_HERE / "s3a_iceberg.xml", "S3A", "16 MB").glob("*.jar")
    jars += fetched(_HERE / "iceberg_aws.xml", "Iceberg-AWS", "69 MB").glob("*.jar")
    clean = (
        "CALL ice.system.remove_orphan_files(table => '{}', prefix_listing => true)",
        "CALL ice.system.expire_snapshots(table => '{}', older_than => current_timestamp(), allow_recent => true, retain_last => 1)",
    )
    return Side(
        "Iceberg", "ice.db", "iceberg", settings, jars, environment.python, "foreign/{}",
        f"CALL ice.system.add_files(table => '{{}}', source_table => '`parquet`.`{FOREIGN}/{{}}`')",
        clean, "DROP TABLE {} PURGE",
    )  # fmt: skip


class SideSession:
    """A side's session of Spark, in a process of its own.

    Args:
        side: whose session it is.
        store_settings: Spark's settings to reach S3.
        folder: for the metastore and the log.
    """

    def __init__(self, side: Side, store_settings: dict[str, str], folder: Path) -> None:
        settings = {**_COMMON, **store_settings, **side.settings, "spark.jars": ",".join(map(str, side.jars))}
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        if side.with_parquetry:
            environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
        with open(folder / f"{side.name}.log", "w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [str(side.python), str(_HERE / "session.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, cwd=folder,
            )  # fmt: skip
        self._side = side
        warehouse = f"s3a://{BUCKET}/wh" if side.with_parquetry else None
        self._ask({"settings": settings, "warehouse": warehouse, "store": f"sqlite://{folder}/lake.sqlite"})

    def sql(self, statement: str) -> None:
        """Run a statement.

        Raises:
            SideError: it failed.
        """
        self._ask(statement)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def __enter__(self) -> SideSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, question: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                if error := json.loads(line.removeprefix(ANSWER)):
                    raise SideError(f"{self._side.name}: {question}\n{error}")
                return
        raise SideError(f"{self._side.name}: the session ended; its log is beside the metastore")
