"""Plans of `parquetry serve-iceberg`, beside PyIceberg's own planning of the same files. No Spark runs.

The table has 1,000 partitions of 100 files. A plan of 1 % selects ten partitions.
"""

from __future__ import annotations

import http.client
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkFinding, Result, take_turns
from parquetry.iceberg.catalog import IcebergCatalog
from parquetry.iceberg.clients import Client
from parquetry.iceberg.manifests import write_manifests
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
_CLIENTS = 4
_SECONDS = 5.0
_PORT = 18181
_PATH = "/v1/namespaces/default/tables/t/plan"


def run(_folder: Path, _scale: float) -> Result:
    """Plan 1 % of the files by the catalog and by PyIceberg, and small plans by a running server."""
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
        rate, megabytes = _served(folder)
        result.findings.append(BenchmarkFinding("plans of 100 files a second, by HTTP", rate, None, "plans"))
        result.findings.append(BenchmarkFinding("memory of the server", megabytes, None, "MB"))
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


def _planners(metastore: Metastore, folder: str) -> dict[str, Any]:
    """Return the plan of ten partitions by each side, which both check the number of files."""
    from pyiceberg.table import StaticTable

    catalog = IcebergCatalog(metastore)
    condition = {
        "type": "and",
        "left": {"type": "gt-eq", "term": "p", "value": 500},
        "right": {"type": "lt", "term": "p", "value": 500 + SELECTED_PARTITIONS},
    }
    loaded = json.loads(catalog.load_table("default", "t", Client.JAVA))["metadata"]
    write_manifests(metastore.table("default", "t"), loaded, Client.OTHER)
    described = Path(folder) / "v1.metadata.json"
    described.write_text(json.dumps(loaded))
    table = StaticTable.from_metadata(described.as_uri())

    def ours() -> None:
        answer = catalog.plan("default", "t", {"filter": condition}, Client.JAVA)
        _require_files(len(answer["file-scan-tasks"]))

    def theirs() -> None:
        _require_files(
            len(list(table.scan(row_filter=f"p >= 500 and p < {500 + SELECTED_PARTITIONS}").plan_files()))
        )

    return {"parquetry": ours, "pyiceberg": theirs}


def _require_files(number: int) -> None:
    if number != SELECTED_PARTITIONS * FILES_PER_PARTITION:
        raise AssertionError(f"{number} files instead of {SELECTED_PARTITIONS * FILES_PER_PARTITION}")


def _served(folder: str) -> tuple[float, float]:
    """Return how many plans of one partition a running server answers a second, and its memory in MB."""
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
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            _wait()
            counts: list[int] = []
            threads = [threading.Thread(target=partial(_ask_until, counts)) for _ in range(_CLIENTS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            server.terminate()
            server.wait()
    return sum(counts) / _SECONDS, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _wait() -> None:
    for _ in range(200):
        try:
            http.client.HTTPConnection("127.0.0.1", _PORT).request("GET", "/v1/config")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server does not answer")


def _ask_until(counts: list[int]) -> None:
    """Ask for plans of one partition for some seconds, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", _PORT)
    headers = {"X-Client-Version": "Apache Iceberg 1.12.0"}
    count, end = 0, time.monotonic() + _SECONDS
    while time.monotonic() < end:
        condition = {"type": "eq", "term": "p", "value": count % PARTITIONS}
        connection.request("POST", _PATH, json.dumps({"filter": condition}), headers)
        answer = json.loads(connection.getresponse().read())
        if len(answer["file-scan-tasks"]) != FILES_PER_PARTITION:
            raise AssertionError(f"{len(answer['file-scan-tasks'])} files instead of {FILES_PER_PARTITION}")
        count += 1
    counts.append(count)
