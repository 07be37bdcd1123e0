"""Requests to S3 by kind: Parquetry, plain Spark with both of its committers, and Apache Iceberg.

A proxy before a real S3 server counts them. Counts depend on no clock and no load. Each job begins as a new
session would: what a session remembers of a table's files is forgotten before.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from benchmarks.files.iceberg import environment
from benchmarks.measure import BenchmarkFinding, Result
from benchmarks.requests import sides
from benchmarks.requests.sides import BUCKET, Side, SideSession
from tests.support.s3.launcher import S3Server

_ADOPTED, _CLEANED = 1_000, 10_000
"""Partitions of one file each that MSCK finds, and files that vacuum deletes."""
_CLEANED_PARTITIONS = 4
_ROWS = "SELECT /*+ REPARTITION(1) */ id, concat('p', id % 4) p FROM range(100)"
_ABBREVIATED = {"DeleteObjects": "BULK DELETE", "multipart": "UPLOAD"}
_PAGE = Path(__file__).parents[1] / "results" / "requests.md"
_Count = tuple[str, Counter[str]]


def run(folder: Path, scale: float) -> Result:
    """Count the requests of all sides, and write them as a table into `benchmarks/results/requests.md`."""
    console = Console(highlight=False)
    others = environment(folder, console)
    adopted, cleaned = (max(10, int(number * scale)) for number in (_ADOPTED, _CLEANED))
    result = Result("requests")
    table: dict[str, dict[str, Counter[str]]] = {}
    for make in (sides.parquetry, sides.spark, sides.spark_with_magic, partial(sides.iceberg, others)):
        with tempfile.TemporaryDirectory() as scratch, _serve(Path(scratch)) as server:
            side = make(server.endpoint)
            console.print(side.name)
            for job, counts in _count(side, server, Path(scratch), adopted, cleaned):
                table.setdefault(job, {})[side.name] = counts
                what = f"{job}: {side.name}"
                result.findings.append(BenchmarkFinding(what, counts.total(), None, "requests"))
    result.details = {job: {name: dict(counts) for name, counts in row.items()} for job, row in table.items()}
    _PAGE.parent.mkdir(parents=True, exist_ok=True)
    _PAGE.write_text(_markdown(table), encoding="utf-8")
    console.print(_markdown(table), soft_wrap=True)
    return result


@contextlib.contextmanager
def _serve(scratch: Path) -> Iterator[S3Server]:
    server = S3Server(scratch / "server")
    try:
        server.make_bucket(BUCKET)
        yield server
    finally:
        server.stop()


def _count(side: Side, server: S3Server, scratch: Path, adopted: int, cleaned: int) -> Iterator[_Count]:
    """Yield the jobs of a side with their requests."""
    with SideSession(side, server.settings(), scratch) as session:
        session.sql(f"CREATE NAMESPACE {side.schema}")
        yield from _small(side, session, server)
        yield from _adopt(side, session, server, adopted)
        if side.clean:
            yield from _clean(side, session, server, cleaned)


def _small(side: Side, session: SideSession, server: S3Server) -> Iterator[_Count]:
    table = side.table("t")
    columns = f"(id BIGINT, p STRING) USING {side.format} PARTITIONED BY (p)"
    question = f"SELECT sum(id) FROM {table} WHERE p = 'p1'"
    jobs = {
        "`CREATE TABLE`": f"CREATE TABLE {table} {columns}",
        "`INSERT` of 4 partitions": f"INSERT INTO {table} {_ROWS}",
        "`INSERT OVERWRITE` of 4 partitions": f"INSERT OVERWRITE {table} {_ROWS}",
        "plan of one partition's query": f"EXPLAIN {question}",
        "the query: its plan, and one partition read": question,
    }
    for job, statement in jobs.items():
        if "CREATE" not in statement:
            session.sql(f"REFRESH TABLE {table}")
        yield job, _counted(session, server, [statement])


def _adopt(side: Side, session: SideSession, server: S3Server, files: int) -> Iterator[_Count]:
    table = side.table("m")
    session.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) USING {side.format} PARTITIONED BY (p)")
    _put(server, side.folder.format("m"), files, files)
    size = f"{files:,} partitions with a file each"
    yield f"`MSCK REPAIR TABLE` of {size}", _counted(session, server, [side.adopt.format(table, "m")])
    yield f"`DROP TABLE` of {size}", _counted(session, server, [side.drop.format(table)])


def _clean(side: Side, session: SideSession, server: S3Server, files: int) -> Iterator[_Count]:
    table = side.table("v")
    session.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) USING {side.format} PARTITIONED BY (p)")
    _put(server, side.folder.format("v"), files, _CLEANED_PARTITIONS)
    session.sql(side.adopt.format(table, "v"))
    session.sql(f"DELETE FROM {table}")
    short = table.split(".", 1)[1]
    counts = _counted(session, server, [statement.format(short) for statement in side.clean])
    yield f"`vacuum` of {files:,} files", counts


def _counted(session: SideSession, server: S3Server, statements: list[str]) -> Counter[str]:
    with server.proxy.counted() as counts:
        for statement in statements:
            session.sql(statement)
    return counts


def _put(server: S3Server, folder: str, files: int, partitions: int) -> None:
    """Write the files of another writer."""
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array([1], pa.int64())}), buffer)
    keys = (f"{folder}/p={number % partitions:05}/part-{number}.parquet" for number in range(files))
    server.put_all(BUCKET, keys, buffer.getvalue())


def _markdown(table: dict[str, dict[str, Counter[str]]]) -> str:
    names = list(next(iter(table.values())))
    lines = [f"| statement | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for job, row in table.items():
        cells = [_cell(row[name]) if name in row else "–" for name in names]
        lines.append(f"| {job} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(counts: Counter[str]) -> str:
    if not counts:
        return "0"
    kinds: Counter[str] = Counter()
    for kind, count in counts.items():
        short = next((name for name, part in _ABBREVIATED.items() if part in kind), kind)
        kinds[short] += count
    return f"**{counts.total():,}**: " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
