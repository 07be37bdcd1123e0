"""Plans of `parquetry serve-iceberg`, beside PyIceberg's own planning of the same files. No Spark runs.

The table has 1,000 partitions of 100 files. A plan of 1 % selects ten partitions. A second table has a
million partitions of one file: clients request small plans of one file, and all pages of a plan.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkFinding, Result, take_turns
from parquetry.iceberg.catalog import IcebergCatalog
from parquetry.iceberg.clients import Client
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    Transaction,
    commit,
    open_metastore,
)

PARTITIONS = 1_000
FILES_PER_PARTITION = 100
SELECTED_PARTITIONS = 10
MIN_RATIO = 10.0
"""How many times as long PyIceberg may take at least for the same plan."""
MANY_PARTITIONS = 1_000_000
_PARTITIONS_PER_COMMIT = 100_000
_DIFFERENT_PLANS = 500
"""Small plans that clients request by turns; the server caches their answers."""
_CLIENTS = 4
_SECONDS = 5.0
_PORT = 18181


def run(_folder: Path, scale: float) -> Result:
    """Plan 1 % of the files by the catalog and by PyIceberg, and many and small plans by running servers."""
    result = Result("iceberg")
    with tempfile.TemporaryDirectory() as folder:
        with open_metastore(folder, create=True) as metastore:
            _fill(metastore, folder)
            result.timings.append(
                timing := take_turns("1 % of 100,000 files", _planners(metastore, folder), 5)
            )
            ours, theirs = (timing.median(name) for name in ("parquetry", "pyiceberg"))
            result.findings.append(
                BenchmarkFinding(
                    "planning 1 % of 100,000 files: pyiceberg / parquetry",
                    theirs / ours,
                    MIN_RATIO,
                    "×",
                    at_least=True,
                )
            )
        with _Server(folder) as server:
            rate, _ = server.rate(PARTITIONS, FILES_PER_PARTITION)
            result.findings.append(
                BenchmarkFinding("plans of 100 files a second, by HTTP", rate, None, "plans")
            )
            result.findings.append(
                BenchmarkFinding("memory of the server", server.peak_megabytes(), None, "MB")
            )
    with tempfile.TemporaryDirectory() as folder:
        partitions = max(1_000, int(MANY_PARTITIONS * scale))
        with open_metastore(folder, create=True) as metastore:
            _fill_many(metastore, folder, partitions)
        with _Server(folder) as server:
            rate, microseconds = server.rate(_DIFFERENT_PLANS, 1)
            result.findings += [
                BenchmarkFinding("plans of one file a second, by HTTP", rate, None, "plans"),
                BenchmarkFinding("CPU time of the server for a plan of one file", microseconds, None, "µs"),
                BenchmarkFinding(
                    "memory of the server after small plans", server.peak_megabytes(), None, "MB"
                ),
            ]
            pages = server.ask_all_pages(partitions)
            result.findings += [
                BenchmarkFinding(f"pages of a plan of {partitions:,} partitions", pages, None, "pages"),
                BenchmarkFinding("memory of the server after all pages", server.peak_megabytes(), None, "MB"),
            ]
    return result


def _fill(metastore: Metastore, folder: str) -> None:
    columns = (TableColumn("id", "long"), TableColumn("p", "integer"))
    metadata = TableMetadata(columns, ("p",), "parquet", (Path(folder) / "default.db" / "t").as_uri())
    transaction = Transaction(metastore.create_table("default", "t", metadata), "append")
    for partition in range(PARTITIONS):
        first = partition * FILES_PER_PARTITION
        files = [
            FileRecord(
                f"{n}.parquet",
                1 << 20,
                1_000,
                1,
                {"id": ColumnStatistics(100, 0, n, n, trust=2)},
                field_ids=1,
            )
            for n in range(first, first + FILES_PER_PARTITION)
        ]
        transaction.append((partition,), files)
    commit(transaction)


def _fill_many(metastore: Metastore, folder: str, partitions: int) -> None:
    """Make a table with one file in each of many partitions."""
    columns = (TableColumn("id", "long"), TableColumn("p", "integer"))
    metadata = TableMetadata(columns, ("p",), "parquet", (Path(folder) / "default.db" / "t").as_uri())
    metastore.create_table("default", "t", metadata)
    statistics = {"id": ColumnStatistics(100, 0, 0, 1_000, trust=2)}
    for first in range(0, partitions, _PARTITIONS_PER_COMMIT):
        transaction = Transaction(metastore.table("default", "t"), "append")
        for number in range(first, min(partitions, first + _PARTITIONS_PER_COMMIT)):
            file = FileRecord(f"{number}.parquet", 1 << 20, 1_000, 1, statistics, field_ids=1)
            transaction.append((number,), [file])
        commit(transaction)


def _planners(metastore: Metastore, folder: str) -> dict[str, Any]:
    """Return the plan of ten partitions by each side, which both check the number of files."""
    from pyiceberg.table import StaticTable

    catalog = IcebergCatalog(metastore)
    condition = {
        "type": "and",
        "left": {"type": "gt-eq", "term": "p", "value": 500},
        "right": {"type": "lt", "term": "p", "value": 500 + SELECTED_PARTITIONS},
    }
    loaded = json.loads(catalog.load_table("default", "t", Client.OTHER))["metadata"]
    asked = itertools.count()
    described = Path(folder) / "v1.metadata.json"
    described.write_text(json.dumps(loaded))
    table = StaticTable.from_metadata(described.as_uri())

    def ours() -> None:
        body = json.dumps({"filter": condition}).encode() + b" " * next(asked)  # no cached answer
        _require_files(len(json.loads(catalog.plan("default", "t", body, Client.JAVA))["file-scan-tasks"]))

    def theirs() -> None:
        _require_files(
            len(list(table.scan(row_filter=f"p >= 500 and p < {500 + SELECTED_PARTITIONS}").plan_files()))
        )

    return {"parquetry": ours, "pyiceberg": theirs}


def _require_files(number: int) -> None:
    if number != SELECTED_PARTITIONS * FILES_PER_PARTITION:
        raise AssertionError(f"{number} files instead of {SELECTED_PARTITIONS * FILES_PER_PARTITION}")


class _Server:
    """A running server of a warehouse, within a block."""

    def __init__(self, folder: str) -> None:
        command = [
            sys.executable,
            "-m",
            "parquetry.cli.main",
            "serve-iceberg",
            "-w",
            folder,
            "--port",
            str(_PORT),
        ]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def __enter__(self) -> _Server:
        for _ in range(400):
            try:
                http.client.HTTPConnection("127.0.0.1", _PORT).request("GET", "/v1/config")
            except OSError:
                time.sleep(0.1)
            else:
                return self
        raise AssertionError("the server does not answer")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def rate(self, partitions: int, files: int) -> tuple[float, float]:
        """Return the plans of one partition a second, and the server's CPU microseconds for each.

        Args:
            partitions: number of partitions that clients request by turns.
            files: of each.
        """
        counts: list[int] = []
        threads = [
            threading.Thread(target=_ask_until, args=(counts, partitions, files)) for _ in range(_CLIENTS)
        ]
        before = self._cpu_seconds()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        number = sum(counts)
        return number / _SECONDS, 1e6 * (self._cpu_seconds() - before) / number

    def ask_all_pages(self, files: int) -> int:
        """Ask for all files of the table, and return the number of pages."""
        connection = http.client.HTTPConnection("127.0.0.1", _PORT)
        answer, pages, seen = _ask(connection, "plan", {}), 1, 0
        while True:
            seen += len(answer["file-scan-tasks"])
            if "plan-tasks" not in answer:
                break
            answer, pages = _ask(connection, "tasks", {"plan-task": answer["plan-tasks"][0]}), pages + 1
        if seen != files:
            raise AssertionError(f"{seen} files instead of {files}")
        return pages

    def peak_megabytes(self) -> float:
        """Return the most memory that it has had so far."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        (peak,) = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(peak) / 1024

    def _cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ask(connection: http.client.HTTPConnection, kind: str, body: dict[str, Any]) -> Any:
    headers = {"X-Client-Version": "Apache Iceberg 1.12.0"}
    connection.request("POST", f"/v1/namespaces/default/tables/t/{kind}", json.dumps(body), headers)
    return json.loads(connection.getresponse().read())


def _ask_until(counts: list[int], partitions: int, files: int) -> None:
    """Ask for plans of one partition for some seconds, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", _PORT)
    count, end = 0, time.monotonic() + _SECONDS
    while time.monotonic() < end:
        condition = {"type": "eq", "term": "p", "value": count % partitions}
        answer = _ask(connection, "plan", {"filter": condition})
        if len(answer["file-scan-tasks"]) != files:
            raise AssertionError(f"{len(answer['file-scan-tasks'])} files instead of {files}")
        count += 1
    counts.append(count)
