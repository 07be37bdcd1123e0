"""Clients of a Spark Connect server, in one process of their own: each is a session with its namespace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.processes import ROOT
from tests.support.spark import doors

BEGIN = """
import json, sys, threading
from pathlib import Path
import parquetry
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

url, folder = sys.argv[1:]

def session(catalog="lake"):
    builder = SparkSession.Builder().remote(url)
    return parquetry.configure(builder, catalog, folder + "/" + catalog).create()

def rows(query):
    return [list(row) for row in spark.sql(query).collect()]

said = {}
"""
_SPARK = """
spark = session()
spark.sql("CREATE NAMESPACE lake.{schema}"); spark.sql("USE lake.{schema}")
"""
_RUN = """
import json, os, sys, traceback
answers = {}
for schema, program in json.load(sys.stdin).items():
    names = {}
    try:
        exec(program, names)
        answers[schema] = names["said"]
    except BaseException:
        answers[schema] = {"failed": "\\n".join(line for line in traceback.format_exc().splitlines() if "\\tat " not in line)}
print("SAID " + json.dumps(answers, default=str), flush=True)
os._exit(0)
"""


def answers(
    port: int, folder: Path, programs: Mapping[str, str], begin: str = BEGIN + _SPARK
) -> dict[str, dict[str, object]]:
    """Run programs one after another, and return what each has put into `said`.

    Args:
        port: of the server on this machine.
        folder: of its warehouses.
        programs: by the namespace that each works in.
        begin: what comes before each; by default it makes the session `spark`.
    """
    texts = {schema: begin.replace("{schema}", schema) + text for schema, text in programs.items()}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _RUN, f"sc://127.0.0.1:{port}", str(folder)],
        input=json.dumps(texts), cwd=folder, env=doors.environment(PYTHONPATH=f"{ROOT / 'src'}"),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    line = next((line for line in done.stdout.splitlines() if line.startswith("SAID ")), None)
    assert line is not None, done.stderr[-4000:]
    found: dict[str, dict[str, object]] = json.loads(line.removeprefix("SAID "))
    return found
