"""Only the JVM of a session, which has a token, may send questions to its planner; no other process may."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry import metastore
from parquetry.planner.protocol.codec import PROTOCOL
from parquetry.spark.serving.callbacks import PlannerGateway
from tests.support.clients import intruder
from tests.support.processes import ROOT, run


def question(warehouse: Path, namespace: str) -> str:
    """Return the question that makes a namespace."""
    asked = {
        "protocol": PROTOCOL, "op": "create_namespace", "catalog": "lake",
        "options": {"warehouse": str(warehouse)}, "namespace": [namespace], "properties": {},
    }  # fmt: skip
    return json.dumps(asked)


def test_nobody_else_on_the_machine_is_answered(spark: SparkSession, warehouse: Path, tmp_path: Path) -> None:
    """Without the token, another process gets no answer and changes nothing, even with the planner's name;
    neither does a web page.
    """
    gateway: Any = spark.sparkContext._gateway
    names = [*gateway.gateway_property.pool.dict, "p0", "p1", "p2"]
    port = gateway._callback_server.get_listening_port()
    command = [sys.executable, intruder.__file__, str(port), question(warehouse / "lake", "intruder")]
    said = run([*command, *names], tmp_path)
    tries = [line.partition(": ")[2] for line in said.splitlines()]
    assert len(tries) == 6 * len(names), said
    assert set(tries) <= {"b''", repr(b"!xn\n")}, said  # nothing, or that the token is wrong
    assert spark.sql("SHOW NAMESPACES IN lake LIKE 'intruder'").count() == 0
    assert names[0] in gateway.gateway_property.pool.dict


def test_with_the_token_the_same_is_answered(spark: SparkSession, warehouse: Path) -> None:
    """The question of the test above is answered for a process that has the token and the name."""
    gateway: Any = spark.sparkContext._gateway
    token = gateway.callback_server_parameters.auth_token
    pool = gateway.gateway_property.pool.dict
    name = next(name for name, called in pool.items() if isinstance(called, PlannerGateway))
    asked = f"A\n{token}\ne\n".encode() + intruder.call(name, question(warehouse / "lake", "known"))
    port = gateway._callback_server.get_listening_port()
    intruder.answer(port, asked, lines=2)  # the token is right, and the planner's own answer
    assert spark.sql("SHOW NAMESPACES IN lake LIKE 'known'").count() == 1
    spark.sql("DROP NAMESPACE lake.known")


PROGRAM = """
import socket, sys
sys.path.insert(0, ROOT)
import parquetry
from parquetry.spark.configuration import settings
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from tests.support.clients import intruder

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
for key, value in settings("lake", "w").items():
    builder.config(key, value)

def batches(spark, folder):
    seen = []
    stream = spark.readStream.schema("id int").parquet("rows")
    writer = stream.writeStream.foreachBatch(lambda frame, _: seen.append(frame.count()))
    writer.option("checkpointLocation", folder).trigger(availableNow=True).start().awaitTermination()
    return seen

spark = builder.getOrCreate()
spark.range(5).selectExpr("int(id) as id").write.parquet("rows")
if SERVER == "before":
    print("FIRST", batches(spark, "c1"))
    port = spark.sparkContext._gateway._callback_server.get_listening_port()
    old = socket.create_connection(("127.0.0.1", port), 5)  # before there is a token
    old.settimeout(5)
    old.sendall(b"c\\nnobody\\nask\\ne\\n")
    old.recv(4096)
parquetry.attach(spark)
parquetry.attach(spark)
parquetry.attach(spark.newSession())
spark.sql("CREATE TABLE lake.default.t AS SELECT 5 AS a")
print("READ", spark.table("lake.default.t").collect())
print("THEN", batches(spark, "c2"))
gateway = spark.sparkContext._gateway
port = gateway._callback_server.get_listening_port()
if SERVER == "before":
    for number in range(9):
        old.sendall(intruder.call(f"p{number}", QUESTION))
        print("OLD", b"namespace" in old.recv(4096))
spark.stop()
spark = parquetry.attach(builder.getOrCreate())
print("READ", spark.table("lake.default.t").collect())
print("LAST", batches(spark, "c3"))
print("SAME", gateway is spark.sparkContext._gateway, port == gateway._callback_server.get_listening_port())
print("INTRUDER", {intruder.answer(port, intruder.call(name, QUESTION), 2) for name in gateway.gateway_property.pool.dict})
gateway._callback_server = None  # as if it were shut down: PySpark opens another, and tells the JVM its port
print("AGAIN", batches(spark, "c4"))
port = gateway._callback_server.get_listening_port()
print("INTRUDER", {intruder.answer(port, intruder.call(name, QUESTION), 2) for name in ["p0", "p1"]})
"""


def _run(server: str, folder: Path, **environment: str) -> dict[str, list[str]]:
    given = f"ROOT, SERVER, QUESTION = {str(ROOT)!r}, {server!r}, {question(folder / 'w', 'intruder')!r}\n"
    out = run([sys.executable, "-c", given + PROGRAM], folder, **environment)
    said: dict[str, list[str]] = {}
    for line in out.splitlines():
        word, _, rest = line.partition(" ")
        said.setdefault(word, []).append(rest)
    assert "AGAIN" in said, out
    return said


@pytest.mark.parametrize(
    "server",
    [
        "before",
        pytest.param(
            "after",
            marks=pytest.mark.exhaustive("tests/spark/streaming/test_writes.py calls it in such a session"),
        ),
    ],
)
def test_with_foreach_batch(server: str, tmp_path: Path) -> None:
    """`foreachBatch` works before and after `attach`, after a restart of Spark, and with another server, and
    each server refuses others.
    """
    said = _run(server, tmp_path)
    assert said["READ"] == ["[Row(a=5)]"] * 2
    assert said.get("FIRST", []) == (["[5]"] if server == "before" else [])
    assert said["THEN"] == said["LAST"] == said["AGAIN"] == ["[5]"]
    assert said.get("OLD", []) == (["False"] * 9 if server == "before" else [])
    assert said["SAME"] == ["True True"]
    assert said["INTRUDER"] == ["{b''}"] * 2
    with metastore.open_metastore(str(tmp_path / "w")) as lake:
        assert lake.databases() == ["default"]


@pytest.mark.exhaustive("test_with_foreach_batch shows it with pinned threads")
def test_threads_that_are_not_pinned(tmp_path: Path) -> None:
    """With `PYSPARK_PIN_THREAD=false` Py4J is another, and has the token, too."""
    said = _run("after", tmp_path, PYSPARK_PIN_THREAD="false")
    assert said["READ"] == ["[Row(a=5)]"] * 2
    assert said["THEN"] == said["LAST"] == said["AGAIN"] == ["[5]"]
    assert said["INTRUDER"] == ["{b''}"] * 2
