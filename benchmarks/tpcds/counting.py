"""Reads of a query from the fact tables: partitions, files, row groups, bytes of files and of columns.

Spark's own `bytesRead` does not help: it lacks vectored reads, and includes what was read ahead. Instead, the
inputs of the scans in the plan that ran are counted: each file, and its row groups that Parquet's own reader
keeps. The reader judges them by statistics, dictionaries and Bloom filters, and by the conditions that the
scan's readers got, static ones and run-time ones.

For these row groups the footers say how many bytes the scan's columns take. Pages that column indexes leave
out within a row group are counted, too.

A plan is followed into its subqueries, the stages of adaptive execution, reused parts (once), and stages that
ran and gave no row.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame

from benchmarks.tpcds.layouts import FACTS
from parquetry.spark import bridge_jar
from tests.support.jars import java

_SOURCE = Path(__file__).with_name("counting.scala")


@dataclass(frozen=True, slots=True)
class ReadCounts:
    """Reads from the facts, by one scan or several.

    Attributes:
        listed: partitions whose files were listed, also the partitions that a join's values left out then.
        partitions: that were read.
        files: that were opened.
        bytes: in these.
        needed_files: files with a row group that the readers kept.
        needed_bytes: in these.
        row_groups: that the readers kept.
        all_row_groups: in the files.
        column_bytes: of the columns, in the row groups that were kept.
    """

    listed: int = 0
    partitions: int = 0
    files: int = 0
    bytes: int = 0
    needed_files: int = 0
    needed_bytes: int = 0
    row_groups: int = 0
    all_row_groups: int = 0
    column_bytes: int = 0


@dataclass(frozen=True, slots=True)
class FactScan:
    """One scan of a fact.

    Attributes:
        table: its name.
        columns: that are read.
        read: what was read.
        pruned: whether Spark left out partitions by the values of a join; unknown for Parquetry's scans.
    """

    table: str
    columns: tuple[str, ...]
    read: ReadCounts
    pruned: bool | None


def total(reads: Iterable[ReadCounts]) -> ReadCounts:
    """Return the sum of what several scans read."""
    each = [[getattr(read, name) for name in ReadCounts.__slots__] for read in reads]
    return ReadCounts(*map(sum, zip(*each, strict=True)))


def scans(frame: DataFrame) -> list[FactScan]:
    """Return what the scans of the facts have read, of a frame that was collected."""
    jvm: Any = frame.sparkSession._jvm
    names = {item: fact for fact, (_, item) in FACTS.items()}
    found = json.loads(jvm.org.apache.spark.sql.parquetry.benchmarks.ScansRead.of(frame._jdf, names))
    return [_scan(each) for each in found]


def _scan(record: Mapping[str, Any]) -> FactScan:
    listed, partitions = record.get("listed", 0), record.get("partitions", 0)
    if "report" in record:
        report = record["report"]
        steps = [step for step in report["steps"] if step["name"] == "partitions"]
        partitions = steps[0]["kept"] if steps else 0
        run_time = report.get("run_time", {})
        cuts = () if run_time.get("late") else run_time.get("cuts", ())
        listed = next((cut["before"] for cut in cuts if cut["name"] == "partitions"), partitions)
    counts = {name: record[name] for name in ReadCounts.__slots__ if name in record}
    read = ReadCounts(**counts | {"listed": listed, "partitions": partitions})
    return FactScan(record["table"], tuple(record["columns"]), read, record.get("pruned"))


def jar(folder: Path) -> Path:
    """Return the jar of `counting.scala`, compiled into a folder if it is not there.

    Raises:
        RuntimeError: it cannot be compiled.
    """
    beside = bridge_jar.jar()
    digest = hashlib.sha256(_SOURCE.read_bytes() + beside.name.encode()).hexdigest()[:12]
    target = folder / f"counting-{digest}.jar"
    if target.exists():
        return target
    jars = Path(pyspark.__path__[0]) / "jars"
    with tempfile.TemporaryDirectory(dir=folder) as work:
        class_path = os.pathsep.join(map(str, [*sorted(jars.glob("*.jar")), beside]))
        compiler = [java(), "-cp", str(jars / "*"), "scala.tools.nsc.Main"]
        given = ["-nowarn", "-encoding", "UTF-8", "-classpath", class_path, "-d", work, str(_SOURCE)]
        done = subprocess.run([*compiler, *given], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{_SOURCE.name} could not be compiled:\n{done.stdout}{done.stderr}")
        packed = Path(work) / "counting.jar"
        with zipfile.ZipFile(packed, "w") as archive:
            for path in sorted(Path(work).rglob("*.class")):
                archive.write(path, path.relative_to(work).as_posix())
        packed.rename(target)
    return target
