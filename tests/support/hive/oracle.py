"""Hive's own hashes: rows go to a JVM with Hive's classes, and the hashes of both versions come back."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from parquetry.types import ColumnType
from tests.support.jars import fetched, java, pyspark_jars

_HERE = Path(__file__).parent
_FLAGS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmx512m",
    "-Duser.timezone=UTC",
    "--add-opens=java.base/java.net=ALL-UNNAMED",  # Hive needs it to look at structs
)


def hive_hashes(
    columns: Sequence[tuple[Sequence[str], Sequence[Sequence[Any]]]],
) -> list[tuple[list[int], list[int]]]:
    """Hash groups of rows, each with Hive's names of its columns' types; return each one's hashes 1 and 2.

    Values are as `coded` makes them.
    """
    hive = fetched(_HERE / "ivy.xml", "Hive", "2 MB")
    # Hive's jars come first: PySpark's own are of a version that has one hash only
    path = os.pathsep.join([*map(str, sorted(hive.glob("*.jar"))), str(pyspark_jars() / "*")])
    main = ["org.codehaus.janino.SimpleCompiler", str(_HERE / "HiveHashMain.java"), "HiveHashMain"]
    lines = "\n".join(json.dumps({"types": list(types), "rows": rows}) for types, rows in columns)
    done = subprocess.run(
        [java(), *_FLAGS, "-cp", path, *main], input=lines, capture_output=True, text=True, check=False
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("[[")]
    if done.returncode or len(answers) != len(columns):
        raise RuntimeError(f"Hive's classes did not hash\n{done.stdout[-2000:]}\n{done.stderr[:3000]}")
    return [tuple(json.loads(line)) for line in answers]


def coded(type: ColumnType, value: Any) -> Any:
    """Write an internal value as the JVM reads it: timestamps as seconds and nanoseconds, floats as bits."""
    if value is None:
        return None
    match type.name:
        case "float":
            return struct.unpack(">i", struct.pack(">f", value))[0]
        case "double":
            return struct.unpack(">q", struct.pack(">d", value))[0]
        case "timestamp" | "timestamp_ntz":
            seconds, micros = divmod(value, 1_000_000)
            return [seconds, 1000 * micros]
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.hex() if isinstance(value, bytes) else value
