"""The processor's time of a served Hive metastore for its calls, among a million partitions. No Spark runs.

The server runs in a process of its own, so that its time and its memory are measured without the client's.
The table is partitioned by day, hour and region. The first days alone have files, since calls ask for records
of these.
"""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measure import BenchmarkFinding, Result
from parquetry.metastore import FileRecord, TableColumn, TableMetadata, Transaction, commit, open_metastore
from tests.support.clients.hive import client

_DAYS, _DAYS_WITH_FILES, _DAYS_PER_COMMIT = 3473, 40, 100
_HOURS, _REGIONS = 24, [f"r{number:02d}" for number in range(12)]
_FIRST = dt.date(2019, 4, 14)
_EPOCH = dt.date(1970, 1, 1)
_MAX_SMALL_MS = 0.5
"""Time of a small call: 2,000 a second on a core."""
_MAX_MEGABYTES = 300
_PORT = 19083
_TABLE = ("default", "t")


def run(folder: Path, scale: float) -> Result:
    """Measure calls for few and for many partitions, and the server's memory after all of them."""
    warehouse = folder / "hive-calls"
    if not warehouse.exists():
        _make(warehouse, max(_DAYS_WITH_FILES, round(_DAYS * scale)))
    command = [
        sys.executable,
        "-m",
        "parquetry.cli.main",
        "serve-hive",
        "-w",
        str(warehouse),
        "--port",
        str(_PORT),
        "--spark-alone",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stderr is not None
        assert f":{_PORT}" in process.stderr.readline()
        try:
            return _measure(psutil.Process(process.pid), _PORT)
        finally:
            process.terminate()


def _make(warehouse: Path, days: int) -> None:
    location = warehouse / "default.db" / "t"
    columns = {"day": "date", "hour": "integer", "region": "string", "v": "long", "w": "string"}
    listed = tuple(TableColumn(name, kind) for name, kind in columns.items())
    metadata = TableMetadata(listed, ("day", "hour", "region"), "parquet", location.as_uri())
    with open_metastore(str(warehouse), create=True) as metastore:
        table = metastore.create_table("default", "t", metadata)
        for start in range(0, days, _DAYS_PER_COMMIT):
            transaction = Transaction(table, "append")
            for number in range(start, min(start + _DAYS_PER_COMMIT, days)):
                day = _FIRST + dt.timedelta(number)
                for hour in range(_HOURS):
                    for region in _REGIONS:
                        transaction.append(
                            ((day - _EPOCH).days, hour, region), [FileRecord("f.parquet", 1, 1)]
                        )
                        if number < _DAYS_WITH_FILES:
                            file = location / f"day={day}" / f"hour={hour}" / f"region={region}" / "f.parquet"
                            file.parent.mkdir(parents=True)
                            file.write_bytes(b"x")
            table = commit(transaction)


def _measure(server: psutil.Process, port: int) -> Result:
    result = Result("hive_calls")
    day = _FIRST + dt.timedelta(1)
    with client(port) as hms:
        calls: dict[str, tuple[int, float | None, Callable[[], Any]]] = {
            "a status": (2_000, _MAX_SMALL_MS, hms.getStatus),
            "a database": (1_000, _MAX_SMALL_MS, lambda: hms.get_database("default")),
            "a table": (1_000, _MAX_SMALL_MS, lambda: hms.get_table(*_TABLE)),
            "a partition by its name": (
                1_000,
                _MAX_SMALL_MS,
                lambda: hms.get_partition_by_name(*_TABLE, f"day={day}/hour=3/region=r03"),
            ),
            "a filter for 1 partition": (
                500,
                None,
                lambda: hms.get_partitions_by_filter(
                    *_TABLE, f"day = '{day}' and hour = 3 and region = 'r03'", -1
                ),
            ),
            "a filter for 24, the middle column free": (
                200,
                None,
                lambda: hms.get_partitions_by_filter(*_TABLE, f"day = '{day}' and region = 'r03'", -1),
            ),
            "a filter for 288": (
                50,
                None,
                lambda: hms.get_partitions_by_filter(*_TABLE, f"day = '{day}'", -1),
            ),
            "10,000 partitions": (3, None, lambda: hms.get_partitions(*_TABLE, 10_000)),
            "10,000 names": (3, None, lambda: hms.get_partition_names(*_TABLE, 10_000)),
            "all names": (1, None, lambda: hms.get_partition_names(*_TABLE, -1)),
        }
        for name, (times, target, call) in calls.items():
            if times > 1:
                call()  # folders of links are made once
            before = _processor_seconds(server)
            for _ in range(times):
                call()
            spent = 1_000 * (_processor_seconds(server) - before) / times
            result.findings.append(BenchmarkFinding(f"server's time: {name}", spent, target, "ms"))
    megabytes = server.memory_info().rss / (1 << 20)
    result.findings.append(
        BenchmarkFinding("server's memory after all calls", megabytes, _MAX_MEGABYTES, "MB")
    )
    return result


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
