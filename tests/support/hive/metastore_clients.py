"""A program that reads a warehouse by Spark's own Hive client and by our catalog, in one session, and writes.

It serves the warehouse by itself, and prints what both read as JSON. All of it is one program, as it takes a
session with Hive long to start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import parquetry
from parquetry.metastore import open_metastore
from tests.support.clients.hive import served
from tests.support.hive import plain_client
from tests.support.spark.series import has

RESULT = "RESULT"
"""The beginning of the line with the results."""
TABLES = """
CREATE TABLE lake.h.plain (id BIGINT, name STRING);
INSERT INTO lake.h.plain SELECT id, concat('n', id) FROM range(20);
CREATE TABLE lake.h.days (id BIGINT, day DATE, hour INT) PARTITIONED BY (day, hour);
INSERT INTO lake.h.days SELECT id, date_add(DATE '2026-02-26', CAST(id % 6 AS INT)), CAST(id % 3 AS INT) FROM range(36) UNION ALL VALUES (101L, NULL, 1), (102L, DATE '2026-03-01', NULL);
CREATE TABLE lake.h.odd (id INT, s STRING) PARTITIONED BY (s);
INSERT INTO lake.h.odd VALUES (1, 'a b'), (2, 'x/y'), (3, "q'uote"), (4, '50%'), (5, 'ü'), (6, NULL), (7, 'a=b'), (8, 'a.b'), (9, 'a_b'), (10, 'say "x"'), (11, 'axb'), (12, 'c\\\\d');
CREATE TABLE lake.h.overwritten (id INT, p INT) PARTITIONED BY (p);
INSERT INTO lake.h.overwritten VALUES (1, 1), (2, 2), (3, 3);
INSERT OVERWRITE lake.h.overwritten PARTITION (p = 2) VALUES (22);
DELETE FROM lake.h.overwritten WHERE id = 3;
INSERT INTO lake.h.overwritten VALUES (4, 3);
CREATE TABLE lake.h.whole (id INT);
INSERT INTO lake.h.whole VALUES (1), (2);
INSERT OVERWRITE lake.h.whole VALUES (3);
CREATE TABLE lake.h.renamed (id INT, price INT, p INT) PARTITIONED BY (p);
INSERT INTO lake.h.renamed VALUES (1, 10, 1);
ALTER TABLE lake.h.renamed RENAME COLUMN price TO amount;
CREATE TABLE lake.h.swapped (a INT, b INT);
INSERT INTO lake.h.swapped VALUES (10, 100);
ALTER TABLE lake.h.swapped RENAME COLUMN a TO x;
ALTER TABLE lake.h.swapped RENAME COLUMN b TO a;
CREATE TABLE lake.h.changed (id INT, v INT, p INT) PARTITIONED BY (p);
INSERT INTO lake.h.changed VALUES (1, 5, 1);
ALTER TABLE lake.h.changed ADD COLUMN d INT DEFAULT 42;
ALTER TABLE lake.h.changed ALTER COLUMN v TYPE BIGINT;
INSERT INTO lake.h.changed (id, v, d, p) VALUES (2, 50000000000, 7, 1);
ALTER TABLE lake.h.changed DROP COLUMN id;
CREATE TABLE lake.h.skewed (id INT, x INT, day STRING) PARTITIONED BY (day) SKEWED BY (x) ON (6, 20) STORED AS DIRECTORIES;
INSERT OVERWRITE lake.h.skewed SELECT id, CASE WHEN id % 2 = 0 THEN 6 WHEN id % 3 = 0 THEN 20 ELSE id END, 'd1' FROM range(30);
CREATE TABLE lake.h.orcs (id INT, ts TIMESTAMP, p INT) USING orc PARTITIONED BY (p);
INSERT INTO lake.h.orcs VALUES (1, TIMESTAMP '2026-01-01 10:00:00', 1), (2, NULL, 2);
CREATE TABLE lake.h.MixedCase (Id INT, Part INT) PARTITIONED BY (Part);
INSERT INTO lake.h.MixedCase VALUES (1, 1), (2, 2);
CREATE TABLE lake.h.types (f FLOAT, dec DECIMAL(9,2), ts TIMESTAMP, n TIMESTAMP_NTZ, bin BINARY, c CHAR(3), vc VARCHAR(5), a ARRAY<INT>, m MAP<STRING,INT>, st STRUCT<x:INT,Y:STRING>, p DECIMAL(5,1)) PARTITIONED BY (p);
INSERT INTO lake.h.types VALUES (1.5, 3.25, TIMESTAMP '2026-01-02 03:04:05.678901', TIMESTAMP_NTZ '2026-01-02 03:04:05', X'01', 'ab', 'xyz', array(1,2), map('k',1), named_struct('x',1,'Y','z'), 1.5);
CREATE TABLE lake.h.times (id INT, t TIMESTAMP) PARTITIONED BY (t);
INSERT INTO lake.h.times VALUES (1, TIMESTAMP '2026-01-02 03:04:05.5'), (2, NULL);
CREATE TABLE lake.h.empty (id INT, p INT) PARTITIONED BY (p);
CREATE TABLE lake.h.b1 (id BIGINT, v INT) CLUSTERED BY (id) SORTED BY (id) INTO 4 BUCKETS TBLPROPERTIES ('bucketing-version' = 'spark');
INSERT INTO lake.h.b1 SELECT id, id % 10 FROM range(100);
CREATE TABLE lake.h.b2 (id BIGINT, w INT) CLUSTERED BY (id) INTO 4 BUCKETS TBLPROPERTIES ('bucketing-version' = 'spark');
INSERT INTO lake.h.b2 SELECT id, id % 7 FROM range(50);
CREATE VIEW lake.h.v AS SELECT id + 1 AS n FROM lake.h.plain
"""
"""The tables of the tests. The view is the last statement: Spark before 4.2 has no views in our catalogs."""
_DAYS = """
day = '2026-02-28' AND hour = 1|day = DATE '2026-02-28'|day >= DATE '2026-03-01'|day > '2026-03-01'|day < DATE '2026-02-28'|
day <= DATE '2026-02-27'|day IN (DATE '2026-02-26', DATE '2026-03-03') AND hour < 2|day NOT IN (DATE '2026-02-26')|
day IS NULL|day IS NOT NULL|hour IS NULL|hour IS NOT NULL|year(day) = 2026 AND hour = 0|month(day) = 3|day(day) = 1|
NOT (day = DATE '2026-02-28')|day = '2026-02-28' OR hour = 2|hour = 1|hour = 1L|hour = '1'|1 = hour|hour != 1|hour <> 1 AND hour > 0|
hour >= 1 AND hour <= 2|hour BETWEEN 1 AND 2|hour NOT BETWEEN 1 AND 2|hour IN (0, 2)|hour NOT IN (0, 2)|hour IN (0, NULL)|
hour <=> NULL|hour <=> 1|day <=> NULL|day BETWEEN DATE '2026-02-27' AND DATE '2026-02-28'|hour + 1 = 2|abs(hour) = 1|
CAST(hour AS STRING) = '1'|CAST(day AS STRING) LIKE '2026-03%'|(day = '2026-02-28' AND hour = 1) OR (day = '2026-03-01' AND hour = 0)|
hour > 0 AND id > 10|hour = -1|day = DATE '2030-01-01'|date_add(day, 1) = DATE '2026-03-01'|hour = 1.0|hour IN (1) AND day IS NOT NULL
"""
_ODD = """
s = 'a b'|s = 'x/y'|s = "q'uote"|s = '50%'|s = 'ü'|s IS NULL|s IS NOT NULL|s <> 'ü'|s > 'b'|s <= 'a b'|s = 'say "x"'|s LIKE 'a%'|
s LIKE '%b'|s LIKE '%0%'|s LIKE "q'%"|s LIKE 'a.b%'|s LIKE 'a\\\\_b'|s LIKE 'a_b'|s LIKE '50\\\\%%'|s NOT LIKE 'a%'|startswith(s, 'a')|
endswith(s, 'b')|contains(s, '.')|s IN ('a b', 'ü', '50%')|s NOT IN ('a b', 'ü')|upper(s) = 'A B'|length(s) = 3|s <=> NULL|s = 'none'|
s LIKE 'a%' AND s LIKE '%b'|s LIKE 'a%' OR s = 'ü'|s BETWEEN 'a' AND 'b'|s = ''|s = 'c\\\\\\\\d'|s LIKE 'c%'
"""
ATTACKS = (
    "INSERT OVERWRITE TABLE {c}.overwritten PARTITION (p = 2) SELECT 999",
    "INSERT INTO {c}.overwritten PARTITION (p = 1) SELECT 998",
    "INSERT INTO {c}.overwritten PARTITION (p = 9) SELECT 997",
    "INSERT OVERWRITE TABLE {c}.whole SELECT 996",
    "INSERT INTO {c}.whole SELECT 995",
    "TRUNCATE TABLE {c}.whole",
    "TRUNCATE TABLE {c}.overwritten PARTITION (p = 1)",
    "ALTER TABLE {c}.overwritten DROP PARTITION (p = 1)",
    "ALTER TABLE {c}.overwritten RENAME TO h.other",
    "ALTER TABLE {c}.whole ADD COLUMNS (more INT)",
    "ANALYZE TABLE {c}.whole COMPUTE STATISTICS",
    "MSCK REPAIR TABLE {c}.overwritten",
    "LOAD DATA LOCAL INPATH '{folder}' OVERWRITE INTO TABLE {c}.whole",
    "CREATE TABLE {c}.made (a INT)",
    "CREATE TABLE {c}.made USING parquet AS SELECT 1 AS a",
    "DROP TABLE {c}.whole",
    "DROP DATABASE {c} CASCADE",
)
_THEIRS = "spark_catalog.h"


class Clients:
    """A session with both catalogs.

    Args:
        work: the folder of all that is written.
        port: of the served metastore.
    """

    def __init__(self, work: Path, port: int) -> None:
        self._work = work
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        settings = {
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.hive.metastore.uris": f"thrift://127.0.0.1:{port}",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.warehouse.dir": str(work / "plain"),
        }
        for name, value in settings.items():
            builder.config(name, value)
        self.spark = parquetry.configure(builder, "lake", work / "lake").getOrCreate()
        self.spark.sparkContext.setLogLevel("OFF")

    def rows(self, sql: str) -> list[str]:
        """Run SQL and return its rows as texts, sorted."""
        return sorted(str(tuple(row)) for row in self.spark.sql(sql).collect())

    def error(self, act: Callable[[], Any]) -> str:
        """Return the first line of the error of an action, or an empty text."""
        try:
            act()
        except Exception as error:  # noqa: BLE001 - any error is an answer
            return str(error).splitlines()[0]
        return ""

    def tables(self) -> dict[str, Any]:
        """Return what both catalogs read of each table."""
        found = {}
        for row in self.spark.sql("SHOW TABLES IN lake.h").collect():
            name, read = row.tableName, []
            theirs = self.error(lambda: read.append(self.rows(f"SELECT * FROM {_THEIRS}.{name}")))  # noqa: B023 - at once
            found[name] = [self.rows(f"SELECT * FROM lake.h.{name}"), read[0] if read else theirs]
        return found

    def filters(self) -> dict[str, Any]:
        """Return how many rows, and which, both catalogs read by each filter."""
        filters = [("days", each) for each in _filters(_DAYS)] + [("odd", each) for each in _filters(_ODD)]

        def read(catalog: str) -> dict[str, Any]:
            parts = [
                f"SELECT {number} AS f, count(*) AS n, sum(id) AS s FROM {catalog}.{table} WHERE {where}"
                for number, (table, where) in enumerate(filters)
            ]
            return {
                filters[row.f][1]: [row.n, row.s]
                for row in self.spark.sql(" UNION ALL ".join(parts)).collect()
            }

        return {"ours": read("lake.h"), "theirs": read(_THEIRS)}

    def ask_another(self, pyspark: str, port: int) -> dict[str, Any]:
        """Return what the Hive client of another PySpark reads, and what it gets when it writes."""
        load = self._work / f"load-{Path(pyspark).name}"
        self.spark.range(3).toDF("id").write.parquet(str(load))
        asked = {
            "port": port,
            "work": str(self._work),
            "tables": [row.tableName for row in self.spark.sql("SHOW TABLES IN lake.h").collect()],
            "filters": [("days", each) for each in _filters(_DAYS)]
            + [("odd", each) for each in _filters(_ODD)],
            "join": "SELECT count(*) FROM h.b1 x JOIN h.b2 y ON x.id = y.id",
            "attacks": [attack.format(c="h", folder=load) for attack in ATTACKS],
        }
        done = subprocess.run(
            [sys.executable, plain_client.__file__],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=False,
            cwd=self._work,
            env={**os.environ, "PYTHONPATH": pyspark},
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith(plain_client.RESULT)]
        assert lines, done.stderr[-3000:]
        found: dict[str, Any] = json.loads(lines[0].removeprefix(plain_client.RESULT))
        return found

    def attack(self) -> dict[str, Any]:
        """Write by Spark's Hive client, and return what became of each statement and of the rows."""
        names = ("overwritten", "whole")
        before = {name: self.rows(f"SELECT * FROM lake.h.{name}") for name in names}
        load = self._work / "load"
        self.spark.range(3).toDF("id").write.parquet(str(load))
        said, ours, theirs = {}, {}, {}
        for attack in ATTACKS:
            said[attack] = self.error(lambda: self.spark.sql(attack.format(c=_THEIRS, folder=load)))  # noqa: B023 - at once
            if not said[attack] or attack == ATTACKS[-1]:  # the last one shows what the refused ones left
                ours[attack] = {name: self.rows(f"SELECT * FROM lake.h.{name}") for name in names} == before
                for name in names:
                    self.spark.catalog.refreshTable(f"{_THEIRS}.{name}")
                theirs[attack] = {
                    name: self.rows(f"SELECT * FROM {_THEIRS}.{name}") for name in names
                } == before
        return {"said": said, "ours": ours, "theirs": theirs}

    def exchanges(self) -> int:
        """Return the number of exchanges in a join of two tables in Spark's buckets."""
        joined = self.spark.sql(f"SELECT count(*) FROM {_THEIRS}.b1 x JOIN {_THEIRS}.b2 y ON x.id = y.id")
        plan: Any = joined._jdf.queryExecution().executedPlan()
        joined.collect()
        return str(plan.toString()).split("== Initial Plan ==")[0].count("Exchange hashpartitioning")


def _filters(text: str) -> list[str]:
    return [each.strip() for each in text.split("|")]


def main(work: Path, pysparks: Sequence[str] = ()) -> dict[str, Any]:
    """Make tables, read them by both catalogs, write by Spark's Hive client, and return what happened.

    With folders of other PySparks, these read and write instead.
    """
    open_metastore(str(work / "lake"), create=True).close()
    with served(work / "lake", spark_alone=True, utc=True, catalog="lake") as port:
        clients = Clients(work, port)
        sql = clients.spark.sql
        sql("CREATE NAMESPACE lake.h")
        *tables, view = TABLES.split(";\n")
        for statement in tables:
            sql(statement)
        if has("views"):
            sql(view)
        out: dict[str, Any] = {"tables": clients.tables(), "filters": clients.filters()}
        if pysparks:
            out["others"] = {each: clients.ask_another(each, port) for each in pysparks}
            out["untouched"] = clients.tables() == out["tables"]
            return out
        out["names"] = [row.tableName for row in sql(f"SHOW TABLES IN {_THEIRS}").collect()]
        out["partitions"] = clients.rows(f"SHOW PARTITIONS {_THEIRS}.days PARTITION (day = '2026-03-01')")
        out["odd names"] = clients.rows(f"SHOW PARTITIONS {_THEIRS}.odd")
        out["exchanges"] = clients.exchanges()
        out["earlier"] = clients.rows(f"SELECT * FROM {_THEIRS}.`whole@v1`")
        sql("INSERT INTO lake.h.days VALUES (777, DATE '2027-01-01', 5)")
        out["live"] = clients.rows(f"SELECT id FROM {_THEIRS}.days WHERE day = DATE '2027-01-01'")
        sql("INSERT INTO lake.h.plain VALUES (888, 'new')")
        clients.spark.catalog.refreshTable(f"{_THEIRS}.plain")
        out["refreshed"] = clients.rows(f"SELECT id FROM {_THEIRS}.plain WHERE id = 888")
        out["attacks"] = clients.attack()
    return out


if __name__ == "__main__":
    print(RESULT, json.dumps(main(Path(sys.argv[1]), sys.argv[2:])))
