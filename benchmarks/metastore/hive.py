"""Hive's metastore for comparison: the one in PySpark's jars, on Derby or PostgreSQL, in a JVM of its own.

Client and metastore are in one JVM, so no network is between them. Hive queries its database by SQL that it
writes itself ("direct SQL"), which is the faster of its two ways.
"""

from __future__ import annotations

import contextlib
import csv
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from benchmarks.metastore.table import DATABASE, KEYS, TABLE, Grid, Values
from tests.support.hive.metastore_server import OPENED
from tests.support.jars import java, pyspark_jars

_FIRST_ID = 1_000_000
"""The first id of the rows that are filled in; the metastore's own ids begin at 1."""
_ALL = -1


@dataclass(frozen=True, slots=True)
class Backend:
    """The database below the metastore.

    Attributes:
        name: for the report.
        url: for JDBC.
        driver: class of the JDBC driver.
        user: of the database.
        jar: of the driver, or None if it is among PySpark's.
        load: statement that loads a CSV file into a table; takes both as `{file}` and `{table}`.
        statistics: statement that counts a table anew for the planner; takes it as `{table}`.
        readable: folder of files that the database can load.
    """

    name: str
    url: str
    driver: str
    user: str
    jar: Path | None
    load: str
    statistics: str
    readable: Path


def derby(folder: Path) -> Backend:
    """Return Derby, in the JVM of the metastore, with its files in a folder."""
    return Backend(
        "Derby",
        f"jdbc:derby:;databaseName={folder};create=true",
        "org.apache.derby.jdbc.EmbeddedDriver",
        "APP",
        None,
        "CALL SYSCS_UTIL.SYSCS_IMPORT_TABLE(NULL, '{table}', '{file}', NULL, NULL, 'UTF-8', 0)",
        "CALL SYSCS_UTIL.SYSCS_UPDATE_STATISTICS('APP', '{table}', NULL)",
        folder.parent,
    )


class EmbeddedMetastore:
    """An embedded metastore with its client.

    Args:
        backend: its database, which is made if need be.
        folder: for warehouse and log.
    """

    def __init__(self, backend: Backend, folder: Path) -> None:
        self.backend = backend
        folder.mkdir(parents=True, exist_ok=True)
        self._warehouse = folder / "warehouse"
        self._log = folder / "hive.log"
        self._gateway = self._launch(folder)
        jvm: Any = self._gateway.jvm
        self._jvm = jvm
        conf = jvm.org.apache.hadoop.hive.conf.HiveConf()
        settings = {
            "javax.jdo.option.ConnectionURL": backend.url,
            "javax.jdo.option.ConnectionDriverName": backend.driver,
            "javax.jdo.option.ConnectionUserName": backend.user,
            "javax.jdo.option.ConnectionPassword": "none",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.try.direct.sql": "true",
            "hive.metastore.uris": "",
            "hive.metastore.warehouse.dir": self._warehouse.as_uri(),
            "fs.defaultFS": "file:///",
        }
        for name, value in settings.items():
            conf.set(name, value)
        try:
            self._client: Any = jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(conf)
        except BaseException:
            self._gateway.shutdown()
            raise

    def _launch(self, folder: Path) -> JavaGateway:
        jars = pyspark_jars()
        path = [str(jars / "*")] + ([] if self.backend.jar is None else [str(self.backend.jar)])
        with open(self._log, "w", encoding="utf-8") as log:
            port = launch_gateway(
                jarpath=str(next(jars.glob("py4j-*.jar"))),
                classpath=os.pathsep.join(path),
                javaopts=[
                    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
                    "-Xmx1g",
                    f"-Dderby.stream.error.file={folder / 'derby.log'}",
                ],
                die_on_exit=True,
                redirect_stderr=log,
                java_path=java(),
                cwd=str(folder),
            )
        return JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))

    def close(self) -> None:
        """Close the client and its database, and end the JVM."""
        self._client.close()
        if self.backend.jar is None:
            with contextlib.suppress(Exception):  # Derby reports by an exception that it has stopped
                self._jvm.java.sql.DriverManager.getConnection("jdbc:derby:;shutdown=true")
        self._gateway.shutdown()

    # -- what is measured

    def find(self, filter: str) -> int:
        """Return how many partitions a filter finds; all of them are fetched."""
        return len(self._client.listPartitionsByFilter(DATABASE, TABLE, filter, _ALL))

    def add(self, table: str, values: Sequence[Values]) -> float:
        """Add partitions to a table, and return the seconds it took."""
        partitions = self._jvm.java.util.ArrayList()
        for each in values:
            partitions.add(self._partition(table, each))
        started = time.perf_counter()
        self._client.add_partitions(partitions)
        return time.perf_counter() - started

    # -- tables

    def new_table(self, table: str) -> None:
        """Make a table without partitions, in place of one of the same name."""
        api = self._jvm.org.apache.hadoop.hive.metastore.api
        if DATABASE not in list(self._client.getAllDatabases()):
            self._client.createDatabase(api.Database(DATABASE, "", self._location(), {}))
        self.drop_table(table)
        made = api.Table()
        made.setDbName(DATABASE)
        made.setTableName(table)
        made.setTableType("EXTERNAL_TABLE")
        made.setParameters({"EXTERNAL": "TRUE"})
        made.setSd(self._descriptor(self._location(table)))
        made.setPartitionKeys([api.FieldSchema(key, "string", "") for key in KEYS])
        self._client.createTable(made)

    def drop_table(self, table: str) -> None:
        """Drop a table, if it exists."""
        self._client.dropTable(DATABASE, table, False, True)

    def fill(self, grid: Grid) -> None:
        """Make the table with all partitions of a grid.

        The first is added by the metastore; the others are copied from it within the database, which is a
        matter of seconds instead of many minutes, and leaves the same rows.
        """
        self.new_table(TABLE)
        first, *others = grid.values
        self.add(TABLE, [first])
        listed = write_list(self.backend.readable, others)
        connection = self._jvm.java.sql.DriverManager.getConnection(
            self.backend.url, self.backend.user, "none"
        )
        try:
            statement = connection.createStatement()
            for sql in copying_statements(self.backend, listed, self._location(TABLE)):
                statement.execute(sql)
        finally:
            connection.close()
            listed.unlink()

    def _location(self, *below: str) -> str:
        return self._warehouse.joinpath(f"{DATABASE}.db", *below).as_uri()

    def _partition(self, table: str, values: Values) -> Any:
        made = self._jvm.org.apache.hadoop.hive.metastore.api.Partition()
        made.setDbName(DATABASE)
        made.setTableName(table)
        made.setValues(list(values))
        # The location of the table, which exists: no folder has to be made for it.
        made.setSd(self._descriptor(self._location(table)))
        made.setParameters({"numFiles": "1", "numRows": "120000", "totalSize": "41943040"})
        return made

    def _descriptor(self, location: str) -> Any:
        api = self._jvm.org.apache.hadoop.hive.metastore.api
        serde = api.SerDeInfo()
        serde.setSerializationLib("org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe")
        serde.setParameters({"serialization.format": "1"})
        made = api.StorageDescriptor()
        made.setCols(
            [
                api.FieldSchema(name, type, "")
                for name, type in (("id", "bigint"), ("customer", "string"), ("amount", "double"))
            ]
        )
        made.setLocation(location)
        made.setInputFormat("org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat")
        made.setOutputFormat("org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat")
        made.setNumBuckets(-1)
        made.setSerdeInfo(serde)
        made.setBucketCols([])
        made.setSortCols([])
        made.setParameters({})
        return made


def _name(values: Values) -> str:
    return "/".join(f"{key}={value}" for key, value in zip(KEYS, values, strict=True))


def write_list(folder: Path, partitions: Sequence[Values]) -> Path:
    """Write the partitions that `copying_statements` copies to a file that the database can load."""
    listed = folder / "partitions.csv"
    with open(listed, "w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerows((number, *values, _name(values)) for number, values in enumerate(partitions, 1))
    listed.chmod(0o644)
    return listed


def copying_statements(
    backend: Backend, listed: Path, place: str, *, write_ids: bool = False
) -> Iterator[str]:
    """Yield the statements that copy the table's only partition, once for each line of a list.

    Args:
        backend: Hive's database.
        listed: the list.
        place: the table's location.
        write_ids: whether partitions have the numbers of writes that Hive 4 has.
    """
    listed_table = "LISTED" if backend.jar is None else "listed"  # as the database keeps it without quotes
    yield (
        'CREATE TABLE LISTED (N INTEGER NOT NULL, "V0" VARCHAR(40), "V1" VARCHAR(40), "V2" VARCHAR(40), '
        "NAME VARCHAR(200))"
    )
    yield backend.load.format(table=listed_table, file=listed)
    extra = ("WRITE_ID",) if write_ids else ()
    copies = {
        "SERDES": ("SERDE_ID", "NAME", "SLIB"),
        "SERDE_PARAMS": ("SERDE_ID", "PARAM_KEY", "PARAM_VALUE"),
        "SDS": (
            "SD_ID",
            "SERDE_ID",
            "LOCATION",
            "CD_ID",
            "INPUT_FORMAT",
            "IS_COMPRESSED",
            "IS_STOREDASSUBDIRECTORIES",
            "NUM_BUCKETS",
            "OUTPUT_FORMAT",
        ),
        "PARTITIONS": ("PART_ID", "SD_ID", "PART_NAME", "CREATE_TIME", "LAST_ACCESS_TIME", "TBL_ID", *extra),
        "PARTITION_PARAMS": ("PART_ID", "PARAM_KEY", "PARAM_VALUE"),
    }
    changed = {
        **{name: f't."{name}" + {_FIRST_ID} + l.N' for name in ("SERDE_ID", "SD_ID", "PART_ID")},
        "LOCATION": f"'{place}/' || l.NAME",
        "PART_NAME": "l.NAME",
    }
    one = (
        '(SELECT p."PART_ID", p."SD_ID", s."SERDE_ID" FROM "PARTITIONS" p '
        'JOIN "SDS" s ON s."SD_ID" = p."SD_ID" JOIN "TBLS" b ON b."TBL_ID" = p."TBL_ID" '
        f'WHERE b."TBL_NAME" = \'{TABLE}\' AND p."PART_ID" < {_FIRST_ID}) o'
    )
    for table, columns in copies.items():
        key = columns[0]
        names = ", ".join(f'"{name}"' for name in columns)
        values = ", ".join(changed.get(name, f't."{name}"') for name in columns)
        yield (
            f'INSERT INTO "{table}" ({names}) SELECT {values} FROM {one} '
            f'JOIN "{table}" t ON t."{key}" = o."{key}" CROSS JOIN LISTED l'
        )
    for index in range(len(KEYS)):
        yield (
            'INSERT INTO "PARTITION_KEY_VALS" ("PART_ID", "PART_KEY_VAL", "INTEGER_IDX") '
            f'SELECT o."PART_ID" + {_FIRST_ID} + l.N, l."V{index}", {index} FROM {one} CROSS JOIN LISTED l'
        )
    yield f'UPDATE "SEQUENCE_TABLE" SET "NEXT_VAL" = {10 * _FIRST_ID}'
    yield "DROP TABLE LISTED"
    for table in (*copies, "PARTITION_KEY_VALS"):
        yield backend.statistics.format(table=table)
