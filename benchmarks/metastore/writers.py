"""Eight processes that append at once, to one table and to a table each: ours, and DuckLake on PostgreSQL.

An append is metadata alone on both sides: a file that exists already is added to the table. So a commit costs
what its catalog costs. DuckLake is used as its documentation says (`ducklake_add_data_files`, default
settings, at most 10 retries): all writers of a DuckLake catalog take turns at one snapshot number, for any
table. Its catalog is on the same PostgreSQL as ours.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from benchmarks.measure import BenchmarkFinding, Result
from benchmarks.metastore.table import new_table
from parquetry.metastore import open_metastore
from tests.support.postgresql.launcher import USER, PostgreSQLServer

WRITERS, APPENDS, ROUNDS = 8, 40, 3
_PROGRAM = "benchmarks.metastore.append"


@dataclass(frozen=True, slots=True)
class _Side:
    """A catalog that writers append to, and the words that `benchmarks.metastore.append` takes for it."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of the writers of a round.

    Attributes:
        per_second: commits, from the first writer's beginning to the last one's end.
        failed: appends that ended with an error.
        lost: compare-and-sets per commit that another writer won; each is made again.
        errors: messages of some that failed.
    """

    per_second: float
    failed: int
    lost: float
    errors: list[str]


def measure(result: Result, server: PostgreSQLServer, console: Console) -> None:
    """Have eight writers append to one table and to eight, on SQLite, PostgreSQL and DuckLake, in turns.

    Args:
        result: gets commits per second (medians of the rounds), failed appends, and lost compare-and-sets.
        server: that is running, and writes durably.
        console: for the progress.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for tables in (1, WRITERS):
            sides = _sides(server, Path(scratch), tables)
            outcomes: dict[str, list[_Outcome]] = {side.name: [] for side in sides}
            for number in range(ROUNDS):
                for side in sides[number:] + sides[:number]:
                    with console.status(f"{WRITERS} writers, {tables} tables: {side.name}"):
                        outcomes[side.name].append(_append(side, number, tables))
            for name, rounds in outcomes.items():
                _report(result, f"{WRITERS} writers, {_counted(tables)}, {name}", rounds)


def _counted(tables: int) -> str:
    return "one table" if tables == 1 else f"{tables} tables"


def _sides(server: PostgreSQLServer, scratch: Path, tables: int) -> list[_Side]:
    folder = scratch / f"tables-{tables}"
    stores = {
        "SQLite": f"sqlite://{folder}/metastore.sqlite",
        "PostgreSQL": server.url(f"writers{tables}"),
    }
    folder.mkdir()
    sides = []
    for name, url in stores.items():
        with open_metastore(str(folder), url, create=True) as metastore:
            for number in range(tables):
                new_table(metastore, f"t{number}")
        sides.append(_Side(f"ours on {name}", ("parquetry", str(folder), url)))
    if find_spec("duckdb_extension_ducklake"):
        from benchmarks.metastore.ducklake import make

        database = f"ducklake{tables}"
        server.create_database(database)
        address = f"dbname={database} host=127.0.0.1 port={server.port} user={USER}"
        make(address, folder / "ducklake", tables)
        sides.append(_Side("DuckLake on PostgreSQL", ("ducklake", address, str(folder / "ducklake"))))
    return sides


def _append(side: _Side, number: int, tables: int) -> _Outcome:
    """Run all writers of a round."""
    writers = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", _PROGRAM, *side.arguments),
                *(f"{number}-{writer}", str(writer % tables), str(APPENDS)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for writer in range(WRITERS)
    ]
    for writer in writers:  # all have opened their catalog before any begins
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    answers = [json.loads(writer.communicate()[0]) for writer in writers]
    seconds = max(answer["ended"] for answer in answers) - min(answer["began"] for answer in answers)
    done = sum(answer["done"] for answer in answers)
    return _Outcome(
        done / seconds,
        WRITERS * APPENDS - done,
        sum(answer["lost"] for answer in answers) / max(1, done),
        [error for answer in answers for error in answer["errors"]],
    )


def _report(result: Result, what: str, rounds: Sequence[_Outcome]) -> None:
    ours = "DuckLake" not in what
    failed = sum(outcome.failed for outcome in rounds)
    result.findings += [
        BenchmarkFinding(
            f"{what}: commits a second",
            statistics.median(outcome.per_second for outcome in rounds),
            None,
            "/s",
        ),
        BenchmarkFinding(
            f"{what}: appends that failed, of {WRITERS * APPENDS * len(rounds):,}",
            failed,
            0 if ours else None,
            "",
        ),
    ]
    if ours:
        lost = statistics.median(outcome.lost for outcome in rounds)
        result.findings.append(BenchmarkFinding(f"{what}: compare-and-sets lost a commit", lost, None, ""))
    result.details.setdefault("writers", {})[what] = [asdict(outcome) for outcome in rounds]
