"""The questions of Spark over a sequence of statements, recorded: `tests/golden/protocol.jsonl`, which is
replayed without a JVM.

`make golden` records it again.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry.joins.plan.shuffle_reasons import SETTINGS
from parquetry.planner import statements
from parquetry.planner.protocol import codec, questions
from parquetry.spark.configuration import BRIDGE_PACKAGE, settings
from parquetry.spark.serving.callbacks import PlannerGateway
from tests.support.spark.recording import GOLDEN, Exchange, StandInNames, lay_out, lines

WORD = "RECORDED WORD"
EU = "PARTITION (region = 'eu', day = DATE'2026-03-01')"
US, UK = (f"PARTITION (region = '{region}', day = DATE'2026-03-05')" for region in ("us", "uk"))
STATEMENTS = f"""
    SELECT 1 AS n -- {WORD}
    CREATE NAMESPACE recorded.db COMMENT 'for the record'
    SHOW NAMESPACES IN recorded
    DESCRIBE NAMESPACE recorded.db
    ALTER NAMESPACE recorded.db SET PROPERTIES ('a' = 'b')
    CREATE TABLE recorded.db.t (id bigint, v double, region string, day date) USING parquet PARTITIONED BY (region, day) LOCATION '<folder>/tree'
    MSCK REPAIR TABLE recorded.db.t
    SHOW TABLES IN recorded.db
    SHOW PARTITIONS recorded.db.t
    SET parquetry.compression = zstd
    SELECT * FROM recorded.db.t WITH (`an-option` = 'x') WHERE region = 'eu' AND id > 2 AND v <= 4.5
    RESET parquetry.compression
    SELECT id FROM recorded.db.t WHERE id IN (1, 2, 5) OR region IS NULL
    SELECT id FROM recorded.db.t WHERE upper(region) = 'EU'
    SELECT region, count(*), max(id) FROM recorded.db.t GROUP BY region
    SELECT id FROM recorded.db.t WHERE id > 2 ORDER BY id DESC LIMIT 2
    SET spark.sql.cbo.enabled = true
    SELECT a.v FROM recorded.db.t a JOIN recorded.db.t b ON a.id = b.id WHERE a.region = 'eu' AND b.id > 1
    RESET spark.sql.cbo.enabled
    SELECT count(*), max(id) FROM recorded.db.t WHERE id > 2
    SELECT big.id FROM recorded.db.t AS big JOIN recorded.db.t AS small ON big.region = small.region WHERE small.id = 3
    SELECT /*+ MERGE(big) */ small.v FROM recorded.db.t AS small JOIN recorded.db.t WITH (`runtime-pruning-max-build-size` = '1b') AS big ON small.id = big.id WHERE small.region = 'eu'
    Report: SELECT v FROM recorded.db.t WHERE region = 'eu' AND day > DATE'2026-01-01'
    SELECT * FROM recorded.db.t.files
    SELECT path FROM recorded.db.t.files WHERE region = 'eu' AND rows > 0
    SELECT count(*) FROM recorded.db.t VERSION AS OF 0
    ALTER TABLE recorded.db.t ADD {US} LOCATION '<folder>/more'
    SHOW TABLE EXTENDED IN recorded.db LIKE 't' {US}
    ALTER TABLE recorded.db.t {US} RENAME TO {UK}
    Table: listPartitionIdentifiers, loadPartitionMetadata, replacePartitionMetadata of {UK}
    TRUNCATE TABLE recorded.db.t {UK}
    ALTER TABLE recorded.db.t DROP {UK}
    DELETE FROM recorded.db.t WHERE region = 'asia'
    DELETE FROM recorded.db.t WHERE upper(region) = 'EU' AND day = DATE'2026-03-02'
    TRUNCATE TABLE recorded.db.t
    ANALYZE TABLE recorded.db.t COMPUTE STATISTICS FOR COLUMNS day
    ALTER TABLE recorded.db.t DROP PARTITION (region = 'eu')
    ALTER TABLE recorded.db.t ADD COLUMN note string
    EXPLAIN INSERT WITH SCHEMA EVOLUTION INTO recorded.db.t BY NAME SELECT 9 AS id, 'eu' AS region, DATE'2026-03-09' AS day, 7 AS rating
    SHOW PROCEDURES IN recorded.system
    CALL recorded.system.history(table => 'db.t')
    CREATE TABLE recorded.db.buckets (id int, p int) PARTITIONED BY (p) CLUSTERED BY (id) SORTED BY (id DESC) INTO 4 BUCKETS
    EXPLAIN SELECT /*+ MERGE(b) */ a.id FROM recorded.db.buckets a JOIN recorded.db.buckets b ON a.id = b.id
    ALTER TABLE recorded.db.buckets ADD PARTITION (p = 1)
    ALTER TABLE recorded.db.buckets INTO 8 BUCKETS
    DESCRIBE TABLE EXTENDED recorded.db.buckets PARTITION (p = 1)
    ALTER TABLE recorded.db.buckets NOT CLUSTERED
    CREATE TABLE recorded.db.transformed (id int, p int) PARTITIONED BY (p, bucket(4, id))
    CREATE TABLE recorded.db.heavy (x int, p int) PARTITIONED BY (p) SKEWED BY (x) ON (1, NULL) STORED AS DIRECTORIES
    ALTER TABLE recorded.db.heavy SET SKEWED LOCATION (1 = 'file:/far/x=1')
    CREATE TABLE recorded.db.alike LIKE recorded.db.heavy
    ALTER TABLE recorded.db.alike ADD PARTITION (p = 1)
    DESCRIBE TABLE EXTENDED recorded.db.alike PARTITION (p = 1)
    ALTER TABLE recorded.db.alike PARTITION (p = 1) SET SKEWED LOCATION (NULL = 'file:/far/null')
    ALTER TABLE recorded.db.alike NOT SKEWED
    SELECT p FROM recorded.db.alike WHERE x + 1 = 2
    LOAD DATA LOCAL INPATH '/nowhere' INTO TABLE recorded.db.heavy
    CREATE VIEW recorded.db.v (n COMMENT 'number') AS SELECT x FROM recorded.db.alike
    CREATE OR REPLACE VIEW recorded.db.v AS SELECT x FROM recorded.db.alike
    ALTER VIEW recorded.db.v AS SELECT p FROM recorded.db.alike
    SHOW VIEWS IN recorded.db
    SELECT * FROM recorded.db.v
    ALTER VIEW recorded.db.v RENAME TO recorded.db.w
    DROP VIEW recorded.db.w
    CREATE TABLE recorded.db.plain (id int)
    ALTER TABLE recorded.db.plain RENAME TO recorded.db.other
    SET parquetry.compression = gzip
    CREATE TABLE recorded.db.made AS SELECT 1 AS id
    RESET parquetry.compression
    CREATE TABLE recorded.db.failed AS SELECT raise_error('on purpose') AS id
    CREATE TABLE recorded.db.changed (id bigint, v double, region string, day date) USING parquet PARTITIONED BY (region, day) LOCATION '<folder>/tree'
    MSCK REPAIR TABLE recorded.db.changed
    SELECT * FROM table_changes('recorded.db.changed', 1)
    SELECT x FROM recorded.db.heavy JOIN recorded.db.changed ON x = id WHERE region = 'eu'
    Stream: recorded.db.changed WHERE id > 2 INTO recorded.db.streamed
    UPDATE recorded.db.changed SET v = 1 WHERE id = 2
    DROP TABLE recorded.db.other
    DROP NAMESPACE recorded.db CASCADE
""".strip().splitlines()
REFUSED = ("replacePartitionMetadata", "raise_error", "LOAD DATA")


class RecordingDoor(PlannerGateway):
    """The planner, and what it was asked and answered."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str | Exchange] = []

    def ask(self, question: str) -> str:
        answer = super().ask(question)
        asked = json.loads(question)
        if "catalogs" in asked:  # earlier tests made the others
            asked = {**asked, "catalogs": ["recorded"], "other_catalogs": []}
        self.told.append((asked, json.loads(answer)))
        return answer

    def write(self, question: str, data: Any) -> str:
        answer = super().write(question, data)
        self.told.append((json.loads(question), json.loads(answer)))
        return answer


@pytest.fixture
def door(spark: SparkSession, tmp_path: Path) -> Iterator[RecordingDoor]:
    """A planner that keeps a record, for a catalog `recorded` of its own."""
    lay_out(tmp_path)
    for key, value in settings("recorded", tmp_path / "lake").items():
        if key.startswith("spark.sql.catalog."):
            spark.conf.set(key, value)
    bridge = getattr(spark._jvm, BRIDGE_PACKAGE).protocol.Bridge
    door = RecordingDoor()
    bridge.install(door, [WORD, *statements.STATEMENT_WORDS])
    yield door
    bridge.install(PlannerGateway(), list(statements.STATEMENT_WORDS))


def ask_of_a_partition(spark: SparkSession) -> None:
    """Ask a table what no statement of this Spark asks it, but its interface can."""
    jvm: Any = spark._jvm
    gateway = spark.sparkContext._gateway
    catalog = spark._jsparkSession.sessionState().catalogManager().catalog("recorded")
    strings, objects = gateway.jvm.java.lang.String, gateway.jvm.java.lang.Object
    namespace, names, values = (
        gateway.new_array(kind, n) for kind, n in ((strings, 1), (strings, 2), (objects, 2))
    )
    namespace[0], names[0], names[1] = "db", "region", "day"
    values[0], values[1] = jvm.org.apache.spark.unsafe.types.UTF8String.fromString("uk"), 20517  # 2026-03-05
    table = catalog.loadTable(jvm.org.apache.spark.sql.connector.catalog.Identifier.of(namespace, "t"))
    row = jvm.org.apache.spark.sql.catalyst.expressions.GenericInternalRow(values)
    assert len(table.listPartitionIdentifiers(names, row)) == 1
    assert table.loadPartitionMetadata(row)["files"] == "1"
    table.replacePartitionMetadata(row, {"location": "/elsewhere"})


def stream(spark: SparkSession, source: str, condition: str, sink: str, checkpoint: Path) -> None:
    """Run a streaming query from table to table until it has read all existing rows."""
    frame = spark.readStream.option("maxFilesPerTrigger", 9).table(source).where(condition)
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer.toTable(sink).awaitTermination()


@pytest.mark.parametrize(
    ("kind", "answer", "says"),
    [
        ("HeldAnswer", {"held": True}, None),
        ("HeldAnswer", {"held": True, "hold": True}, 'Unrecognized field "hold"'),
        ("HeldAnswer", {}, "Missing creator property 'held'"),
        ("HeldAnswer", {"held": None}, "`null`"),
        ("HeldAnswer", {"held": "true"}, "`boolean`"),
        ("PushedAnswer", {"exact": [], "again": [], "row_groups": [{"leaf": 1, "args": []}]}, "'fn'"),
        ("NamesAnswer", {"names": None}, "Null value for creator property 'names'"),
        (
            "WrittenAnswer",
            {"files": 1, "partitions": 1, "bytes": 1, "row": 1},
            "Missing creator property 'rows'",
        ),
    ],
)
def test_a_field_that_only_one_side_knows(
    spark: SparkSession, kind: str, answer: dict[str, Any], says: str | None
) -> None:
    """A misspelt, missing or mistyped field of an answer is an error that names question and field."""
    if says is None:
        assert read_answer(spark, kind, answer).held()
        return
    with pytest.raises(Exception, match="does not understand the planner's answer to the_question") as error:
        read_answer(spark, kind, answer)
    assert says in str(error.value)


def test_a_long_text(spark: SparkSession) -> None:
    """A text of an answer has any length: the names of a scan's files are one text."""
    text = "x" * 20_000_001  # one more than readers of JSON take by default
    names = read_answer(spark, "FilesAnswer", {
        "folders": [], "names": text, "folder": "", "partition": "", "bytes": "", "modified": "", "bucket": "",
        "rows": "", "values": [], "value": "",
    }).names()  # fmt: skip
    assert len(names) == len(text)


def read_answer(spark: SparkSession, kind: str, answer: dict[str, Any]) -> Any:
    """Read an answer in the JVM as a case class of the bridge."""
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    tag = jvm.scala.reflect.ClassTag.apply(loader.loadClass(f"{BRIDGE_PACKAGE}.protocol.{kind}"))
    text = json.dumps({"ok": answer})
    return getattr(getattr(jvm, BRIDGE_PACKAGE).protocol.PlannerAnswer("the_question", text), "as")(tag)


@pytest.mark.unaudited("the audit asks, too")
@pytest.mark.newest("the record is of the newest")
def test_spark_asks_what_is_recorded(spark: SparkSession, door: RecordingDoor, tmp_path: Path) -> None:
    """Each statement asks the same questions, in the same order, with the same answers; every kind of
    question occurs.
    """
    spark.catalog.setCurrentCatalog("spark_catalog")
    refused = []
    for statement in map(str.strip, STATEMENTS):
        door.told.append(statement)
        try:
            if statement.startswith("Table: "):
                ask_of_a_partition(spark)
            elif statement.startswith("Report: "):
                reports = spark._jvm.org.apache.spark.sql.parquetry.reports.Reports
                reports.ofSql(spark._jsparkSession, statement.removeprefix("Report: "), list(SETTINGS))
            elif statement.startswith("Stream: "):
                stream(
                    spark, *re.split(" WHERE | INTO ", statement[len("Stream: ") :]), tmp_path / "checkpoint"
                )
            else:
                spark.sql(statement.replace("<folder>", str(tmp_path))).collect()
        except Exception as error:  # noqa: BLE001 — which, the assertion tells
            refused.append((statement, str(error).split("\n")[0]))
    names = StandInNames(tmp_path)
    told = [each if isinstance(each, str) else names.with_names(list(each)) for each in door.told]
    head = names.with_names(
        {"protocol": codec.PROTOCOL, "catalog": "recorded", "options": {"warehouse": f"{tmp_path}/lake"}}
    )
    found = list(lines(head, told))
    if os.environ.get("PARQUETRY_RECORD"):
        GOLDEN.write_text("".join(f"{line}\n" for line in found))
    assert [statement for statement, _ in refused] == [
        each.strip() for each in STATEMENTS if any(word in each for word in REFUSED)
    ], refused
    asked = {each[0]["op"] for each in told if not isinstance(each, str)}
    # without a fault of ours, no audit fails; and no history is kept
    assert asked | {"count_failed_audit", "record_queries"} == {
        kind.__struct_config__.tag for kind in questions.QUESTIONS
    }
    difference = list(
        difflib.unified_diff(GOLDEN.read_text().splitlines(), found, "recorded", "asked", n=1, lineterm="")
    )
    assert difference == [], "run `make golden` if that is meant:\n" + "\n".join(difference)
