"""Hive 4's planner prunes partitions by a served warehouse, without Spark: its own classes and its client."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.readers.test_hive_java_clients import NEEDED
from tests.support.clients.hive import served
from tests.support.jars import fetched, java, pyspark_jars
from tests.support.processes import ROOT
from tests.support.readers.python_tables import PythonLake

DAYS, TEXTS = ("2024-01-01", "2024-02-29", "2025-01-01"), ("10", "010", "x", "a b")
NAMES = [f"d={day}/i={i}/s={s}" for day in DAYS for i in (1, 2) for s in TEXTS]
CONDITIONS: dict[str, tuple[bool, Callable[[str, int, str], bool]]] = {
    "d = date '2024-02-29'": (False, lambda d, i, s: d == "2024-02-29"),
    "d = '2024-02-29' and i = 2": (False, lambda d, i, s: d == "2024-02-29" and i == 2),
    "year(d) = 2024 and s = 'x'": (False, lambda d, i, s: d < "2025" and s == "x"),
    "s = 10 and i in (1, 5)": (False, lambda d, i, s: s in ("10", "010") and i == 1),
    "s like 'a%'": (False, lambda d, i, s: s.startswith("a")),
    "i between 2 and 7 or s = 'x'": (False, lambda d, i, s: i == 2 or s == "x"),
    "upper(s) = 'X'": (True, lambda d, i, s: True),
    "upper(s) = 'X' and i = 1": (True, lambda d, i, s: i == 1),
}
"""Conditions, each with whether Hive has to test the rows, and with the partitions that are kept."""
OPENED = ("lang", "net", "util", "text", "time", "math", "util.concurrent.atomic")


@pytest.mark.exhaustive("test_partition_expressions has the expressions that the planner sends")
@pytest.mark.parametrize("version", ["4.0.1", "4.1.0"])
def test_hives_planner(tmp_path: Path, version: str) -> None:
    """The planner keeps the partitions that satisfy a condition, and the metastore has chosen them."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"d": "date", "i": "integer", "s": "string", "v": "long"}, ["d", "i", "s"])
    for name in NAMES:
        lake.put("t", f"{name}/f.parquet", pa.table({"v": [1]}))
    lake.sync("t")
    module = tmp_path / "hive-exec.xml"
    module.write_text(
        (ROOT / "tests/support/hive/expressions/ivy.xml").read_text().replace("${hive}", version)
    )
    hive = sorted(fetched(module, "Hive", "up to 75 MB").glob("*.jar"))
    hive += fetched(ROOT / "tests/support/hive/planner.xml", "Hive", "1 MB").glob("*.jar")
    beside = [
        jar
        for each in (*NEEDED, "antlr-runtime*", "jta*", "jdo*")
        for jar in pyspark_jars().glob(f"{each}.jar")
    ]
    with served(lake.folder) as port:
        flags = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
        command = [java(), "-Xmx500m", *flags, "-cp", os.pathsep.join(map(str, [*hive, *beside]))]
        command += [
            str(ROOT / "tests/support/hive/HivePlannerMain.java"),
            str(port),
            json.dumps(list(CONDITIONS)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, cwd=tmp_path)
    answers: dict[str, Any] = {each["condition"]: each for each in map(json.loads, done.stdout.splitlines())}
    for condition, (unknown, keeps) in CONDITIONS.items():
        wanted = [f"d={d}/i={i}/s={s}" for d in DAYS for i in (1, 2) for s in TEXTS if keeps(d, i, s)]
        answer = answers.get(condition, {})
        assert answer.get("got") == answer.get("kept") == sorted(wanted), (
            condition,
            answer,
            done.stderr[-3000:],
        )
        assert answer["unknown"] is answer["tests"] is unknown
