"""Hive 4's own metastore server beside `parquetry serve-hive`: the same calls, wire and client.

Both servers are processes of their own on this machine. Hive's has PostgreSQL below it, and is filled by SQL
within the database. Ours has SQLite, and an index on the last column. The client is the one that Thrift
generates, with its decoder in C. Of answers with many partitions, the bytes alone are measured, too: a client
in Python takes longer to decode them than a server to make them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import psutil
import psycopg
from hive_metastore import ThriftHiveMetastore, ttypes  # type: ignore[import-untyped]
from rich.console import Console
from thrift.protocol.TBinaryProtocol import TBinaryProtocol  # type: ignore[import-untyped]
from thrift.transport.TTransport import TMemoryBuffer  # type: ignore[import-untyped]

from benchmarks.measure import BenchmarkFinding, Result, Timing, take_turns
from benchmarks.metastore.hive import copying_statements, write_list
from benchmarks.metastore.postgresql import hive_backend
from benchmarks.metastore.table import (
    DATABASE,
    FILTERS_PER_KIND,
    KEYS,
    RARE_REGIONS,
    SELECTED_PARTITIONS,
    TABLE,
    Grid,
    Lookups,
    Values,
    make_files,
)
from tests.support.clients.hive import client
from tests.support.hbase.launcher import free_ports
from tests.support.hive.metastore_server import OPENED, await_server, hive_4_jars
from tests.support.jars import java
from tests.support.postgresql.launcher import USER, PostgreSQLServer

_MANY = 10_000
_ROUNDS, _ROUNDS_OF_MANY = 25, 5
_CALLS = 4
_WARM_UP = 20
"""Calls of a kind before the clock starts, for Hive's JVM to compile."""
_FEW_TARGET, _MANY_TARGET = 20.0, 1.5
"""How many times as long Hive should take for few partitions, and for many."""
_LEAST_SECONDS = 0.01
"""The shortest time of the processor that the system counts."""


@dataclass(frozen=True, slots=True, eq=False)
class _Server:
    """A server of the table, and a client of it.

    Attributes:
        name: for the report.
        port: on 127.0.0.1.
        process: the server's.
        client: Thrift's.
        database: the process of the database below it, or None.
    """

    name: str
    port: int
    process: psutil.Process
    client: Any
    database: psutil.Process | None = None

    def processes(self) -> list[psutil.Process]:
        """Return the server's process, and its database's processes."""
        return [self.process, *(self.database.children() if self.database else ())]

    def processor_seconds(self) -> float:
        """Return the processor's time that the server and its database have taken until now."""
        times = [process.cpu_times() for process in self.processes()]
        return sum(float(each.user + each.system) for each in times)

    def filter(self, text: str) -> int:
        """Return how many partitions a filter selects; all are fetched."""
        return len(self.client.get_partitions_by_filter(DATABASE, TABLE, text, -1))

    def names(self, values: tuple[str, ...]) -> int:
        """Return how many partitions begin with some values; their names are fetched."""
        return len(self.client.get_partition_names_ps(DATABASE, TABLE, list(values), -1))

    def many(self, count: int) -> None:
        """Fetch the first partitions."""
        assert len(self.client.get_partitions(DATABASE, TABLE, count)) == count

    def many_names(self, count: int) -> None:
        """Fetch the names of the first partitions."""
        assert len(self.client.get_partition_names(DATABASE, TABLE, count)) == count

    def bytes_of_many(self, count: int) -> int:
        """Return the length of the answer with the first partitions, without decoding it."""
        buffer = TMemoryBuffer()
        ThriftHiveMetastore.Client(TBinaryProtocol(buffer)).send_get_partitions(DATABASE, TABLE, count)
        length = 0
        with socket.create_connection(("127.0.0.1", self.port)) as connected:
            connected.sendall(buffer.getvalue())
            connected.shutdown(socket.SHUT_WR)  # then the server ends the connection behind its answer
            while part := connected.recv(1 << 20):
                length += len(part)
        return length


def measure(
    result: Result, server: PostgreSQLServer, folder: Path, warehouse: Path, grid: Grid, console: Console
) -> None:
    """Serve a table by both servers, and measure calls for few and for many partitions.

    Args:
        result: gets the findings.
        server: PostgreSQL, which is running.
        folder: of the JDBC driver.
        warehouse: with the table.
        grid: what is in the table.
        console: for the progress.
    """
    make_files(warehouse, _with_files(grid))
    with contextlib.ExitStack() as stack:
        with console.status(f"Hive 4's metastore server: {grid.partitions:,} partitions"):
            home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            hive = stack.enter_context(_hive(server, folder, home, grid))
        ours = stack.enter_context(_ours(warehouse))
        servers = (hive, ours)
        with console.status("calls to both servers"):
            _few(result, servers, grid)
            _many(result, servers, grid)
        for each in servers:
            megabytes = each.process.memory_info().rss / (1 << 20)
            result.findings.append(
                BenchmarkFinding(f"memory of {each.name} after all calls", megabytes, None, "MB")
            )


def _filters(grid: Grid) -> dict[str, tuple[list[str], int]]:
    """Return the filters of each kind, as Hive's clients write them, and how many partitions each selects."""
    numbers = range(FILTERS_PER_KIND)
    made = {
        f"{SELECTED_PARTITIONS} by leading columns": (
            [grid.leading(n) for n in numbers],
            SELECTED_PARTITIONS,
        ),
        "1 by the whole key": ([grid.whole(n) for n in numbers], 1),
        f"{SELECTED_PARTITIONS} by a non-leading column": (
            [grid.skipping(n) for n in numbers],
            SELECTED_PARTITIONS,
        ),
    }
    texts = {name: ([str(each) for each in filters], count) for name, (filters, count) in made.items()}
    like = [f'region like "rare-{number}%"' for number in range(RARE_REGIONS)]
    return {**texts, f"{SELECTED_PARTITIONS} by LIKE": (like, SELECTED_PARTITIONS)}


def _with_files(grid: Grid) -> list[Values]:
    """Return the values of partitions that calls fetch whole: these have files."""
    days = {grid.day_of_filter(number) for number in range(FILTERS_PER_KIND)}
    chosen = (each for each in grid.values if each[0] in days or each[2].startswith("rare"))
    return [*chosen, *grid.values[:_MANY]]


def _few(result: Result, servers: tuple[_Server, ...], grid: Grid) -> None:
    hive, ours = servers
    kinds: dict[str, dict[str, Callable[[], None]]] = {}
    for name, (texts, count) in _filters(grid).items():
        kinds[name] = {each.name: Lookups(each.filter, texts, count) for each in servers}
    days = [(grid.day_of_filter(number), "", "") for number in range(FILTERS_PER_KIND)]
    hours = [(day, "07", "") for day, *_ in days]
    for columns, values in (("a day", days), ("a day and an hour", hours)):
        kinds[f"names by {columns}"] = {each.name: _names_in_turn(each, values) for each in servers}
    for name, variants in kinds.items():
        for _ in range(_WARM_UP):
            variants[hive.name]()
            variants[ours.name]()
        timing = take_turns(
            f"served: {name}, of {grid.partitions:,}",
            variants,
            _ROUNDS,
            calls=_CALLS,
        )
        result.timings.append(timing)
        _compare(result, timing, servers, variants, _CALLS * _ROUNDS, _FEW_TARGET)


def _names_in_turn(server: _Server, values: Sequence[tuple[str, ...]]) -> Callable[[], None]:
    turn = cycle(values)

    def ask() -> None:
        if not server.names(next(turn)):
            raise AssertionError(f"{server.name} has no names")

    return ask


def _many(result: Result, servers: tuple[_Server, ...], grid: Grid) -> None:
    count = min(_MANY, grid.partitions)
    for name, call, target in (
        (f"{count:,} partitions", _Server.many, None),
        (f"{count:,} partitions, not decoded", _Server.bytes_of_many, _MANY_TARGET),
        (f"{count:,} names", _Server.many_names, _MANY_TARGET),
    ):
        variants: dict[str, Callable[[], object]] = {
            each.name: partial(call, each, count) for each in servers
        }
        timing = take_turns(
            f"served: {name}",
            variants,
            _ROUNDS_OF_MANY,
            warmups=3,
        )
        result.timings.append(timing)
        _compare(result, timing, servers, variants, _ROUNDS_OF_MANY, target)


def _compare(
    result: Result,
    timing: Timing,
    servers: tuple[_Server, ...],
    variants: Mapping[str, Callable[[], object]],
    calls: int,
    target: float | None,
) -> None:
    """Report the clock and the processor. The target is for the processor: small calls mostly wait."""
    spent = []
    for each in servers:
        what = f"{timing.job}: {each.name}"
        result.findings.append(BenchmarkFinding(what, 1000 * timing.median(each.name), None, "ms"))
        before = each.processor_seconds()
        for _ in range(calls):
            variants[each.name]()
        spent.append(max(each.processor_seconds() - before, _LEAST_SECONDS) / calls)
        what = f"{what}, the server's processor"
        result.findings.append(BenchmarkFinding(what, 1000 * spent[-1], None, "ms"))
    hive, ours = servers
    names = f"{timing.job}: {hive.name} / {ours.name}"
    result.findings += [
        BenchmarkFinding(names, timing.ratio(hive.name, ours.name)),
        BenchmarkFinding(f"{names}, the server's processor", spent[0] / spent[1], target, at_least=True),
    ]


# --- the servers


@contextlib.contextmanager
def _hive(server: PostgreSQLServer, folder: Path, home: Path, grid: Grid) -> Iterator[_Server]:
    """Run Hive's server within a block, with the partitions of a grid."""
    backend = hive_backend(server, folder, "hive4")
    path = hive_4_jars()
    settings = {
        "javax.jdo.option.ConnectionURL": backend.url,
        "javax.jdo.option.ConnectionDriverName": backend.driver,
        "javax.jdo.option.ConnectionUserName": backend.user,
        "javax.jdo.option.ConnectionPassword": "none",
        "datanucleus.schema.autoCreateAll": "true",
        "metastore.schema.verification": "false",
        "metastore.try.direct.sql": "true",
        "metastore.warehouse.dir": (home / "warehouse").as_uri(),
        "metastore.warehouse.external.dir": (home / "warehouse").as_uri(),
        "fs.defaultFS": "file:///",
    }
    (port,) = free_ports(1)
    command = [java(), "-Xmx2g", *(f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in OPENED)]
    command += ["-cp", os.pathsep.join(map(str, [*path, backend.jar]))]
    command += ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
    command += [text for name, value in settings.items() for text in ("--hiveconf", f"{name}={value}")]
    with _running("Hive 4.0.1 on PostgreSQL", command, port, home / "hive.log", home) as running:
        _make_table(running.client, (home / "tables").as_uri(), grid)
        url = f"host=127.0.0.1 port={server.port} user={USER} dbname=hive4"
        with psycopg.connect(url, autocommit=True) as connection:
            listed = write_list(backend.readable, grid.values[1:])
            place = f"{(home / 'warehouse').as_uri()}/{TABLE}"
            for sql in copying_statements(backend, listed, place, write_ids=True):
                connection.execute(sql.encode())
            connection.execute("VACUUM ANALYZE")
        postmaster = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
        yield replace(running, database=psutil.Process(postmaster))


@contextlib.contextmanager
def _ours(warehouse: Path) -> Iterator[_Server]:
    """Run our server within a block."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "parquetry.cli.main", "serve-hive", "-w", str(warehouse)]
    command += ["--port", str(port)]
    with (
        tempfile.TemporaryDirectory() as home,
        _running("parquetry", command, port, Path(home, "log"), Path(home)) as running,
    ):
        yield running


@contextlib.contextmanager
def _running(name: str, command: list[str], port: int, log: Path, home: Path) -> Iterator[_Server]:
    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=home)
        try:
            await_server(port, process, log)
            with client(port) as connected:
                yield _Server(name, port, psutil.Process(process.pid), connected)
        except Exception:
            print(log.read_text()[-3000:])
            raise
        finally:
            process.terminate()
            process.wait()


def _make_table(hive: Any, folder: str, grid: Grid) -> None:
    """Make the table in a folder, with its first partition."""
    hive.create_database(ttypes.Database(DATABASE, "", f"{folder}/{DATABASE}.db", {}))
    table = ttypes.Table(
        tableName=TABLE,
        dbName=DATABASE,
        sd=_storage(f"{folder}/{TABLE}"),
        partitionKeys=[ttypes.FieldSchema(key, "string", "") for key in KEYS],
        parameters={"EXTERNAL": "TRUE"},
        tableType="EXTERNAL_TABLE",
    )
    hive.create_table(table)
    partition = ttypes.Partition(
        values=list(grid.values[0]),
        dbName=DATABASE,
        tableName=TABLE,
        sd=_storage(f"{folder}/{TABLE}"),
        parameters={"numFiles": "1", "numRows": "120000", "totalSize": "41943040"},
    )
    hive.add_partitions([partition])


def _storage(location: str) -> Any:
    name = "org.apache.hadoop.hive.ql.io.parquet"
    return ttypes.StorageDescriptor(
        cols=[
            ttypes.FieldSchema(column, kind, "")
            for column, kind in (("id", "bigint"), ("customer", "string"), ("amount", "double"))
        ],
        location=location,
        inputFormat=f"{name}.MapredParquetInputFormat",
        outputFormat=f"{name}.MapredParquetOutputFormat",
        compressed=False,
        numBuckets=-1,
        serdeInfo=ttypes.SerDeInfo(None, f"{name}.serde.ParquetHiveSerDe", {"serialization.format": "1"}),
        bucketCols=[],
        sortCols=[],
        parameters={},
        skewedInfo=ttypes.SkewedInfo([], [], {}),
        storedAsSubDirectories=False,
    )
