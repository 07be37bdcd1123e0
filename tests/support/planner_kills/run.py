"""Run a Connect server on a PostgreSQL that wants a password, with three clients, and kill its planners."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psutil

from tests.support.postgresql.launcher import DATABASE, PostgreSQLServer
from tests.support.spark import doors

PASSWORD = "s3cr3t/pT@W77"
CLIENTS = ("writer", "writer", "reader")
ENDED = "PARQUETRY_PLANNER_ENDED"
MAX_AGE_SECONDS = 8.0
"""Seconds that a planner lives at most: it may be killed while it starts, or while it answers."""
_SECONDS_PER_KILL = 60
_SECONDS_TO_STOP = 300


@dataclass(slots=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        kills: number of planners that were killed.
        words: how often a statement succeeded, and how often each of our errors was raised.
        problems: everything that must not be: other errors, lost or doubled rows, a password.
    """

    kills: int = 0
    words: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def run(folder: Path, kills: int, seed: int = 1) -> Outcome:
    """Kill planners of a server, a number of times, while three sessions are at work.

    Args:
        folder: an empty one, for all that is written.
        kills: how many.
        seed: of the times at which planners are killed.
    """
    postgresql = PostgreSQLServer.start_in_temporary_folder()
    try:
        postgresql.create_user("sec", PASSWORD)
        url = (
            f"postgresql://sec:{quote(PASSWORD, safe='')}@127.0.0.1:{postgresql.port}/{DATABASE}?table=kills"
        )
        with _server(folder, url) as (server, port):
            outcome = _work(folder, server, f"sc://127.0.0.1:{port}", kills, random.Random(seed))
            _compare(folder, f"sc://127.0.0.1:{port}", outcome)
        for log in folder.glob("*.log"):
            text = log.read_text(errors="replace")
            if _shows_password(text) or '"protocol"' in text or "py4j.Py4J" in text:
                outcome.problems.append(f"{log.name} shows a question, or the password")
    finally:
        postgresql.remove()
    return outcome


@contextlib.contextmanager
def _server(folder: Path, store: str) -> Iterator[tuple[psutil.Process, int]]:
    """Run a server whose file of settings has a URL with a password, the worst that a user can do."""
    port = doors.free_port()
    settings = {
        "spark__connect__grpc__binding__port": str(port),
        "spark__connect__grpc__binding__address": "127.0.0.1",
    }
    file = folder / "server.conf"
    file.write_text(f"spark.sql.catalog.lake.store {store}\n")
    arguments = [*doors.flags(folder, **settings), "--properties-file", str(file), "--master", "local[2]"]
    with doors.server(
        "org.apache.spark.sql.connect.service.SparkConnectServer", arguments, folder, port
    ) as process:
        yield process, port


def _work(folder: Path, server: psutil.Process, url: str, kills: int, chance: random.Random) -> Outcome:
    """Make the tables, let the clients work, and kill planners meanwhile."""
    made = ["CREATE NAMESPACE lake.kills"]
    for client, kind in enumerate(CLIENTS):
        if kind == "writer":
            made += [
                f"CREATE TABLE lake.kills.rows_{client} (id BIGINT)",
                f"CREATE TABLE lake.kills.counter_{client} AS SELECT 0L AS n",
            ]
    ask(url, made)
    clients = [_start_client(folder, url, number, kind) for number, kind in enumerate(CLIENTS)]
    outcome = Outcome()
    try:
        deadline = time.monotonic() + kills * _SECONDS_PER_KILL
        while outcome.kills < kills and time.monotonic() < deadline:
            for planner in doors.planners(server):
                age = chance.uniform(0, MAX_AGE_SECONDS)
                with contextlib.suppress(psutil.NoSuchProcess):
                    time.sleep(max(0.0, planner.create_time() + age - time.time()))
                    planner.kill()
                    outcome.kills += 1
            time.sleep(0.05)
    finally:
        (folder / "stop").touch()
        for client in clients:
            try:
                if client.wait(_SECONDS_TO_STOP) != 0:
                    outcome.problems.append(f"a client ended with {client.returncode}")
            except subprocess.TimeoutExpired:
                client.kill()
                outcome.problems.append("a client did not stop")
    return outcome


def _start_client(folder: Path, url: str, number: int, kind: str) -> subprocess.Popen[bytes]:
    program = Path(__file__).with_name("client.py")
    with (folder / f"client-{number}.log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", str(program), url, str(folder), str(number), kind],
            cwd=folder, env=doors.environment(), stderr=log,
        )  # fmt: skip


def ask(url: str, queries: list[str]) -> list[list[object]]:
    """Run statements in a process of their own, and return the first row of each."""
    program = (
        "import json, sys\nfrom pyspark.sql import SparkSession\nspark = SparkSession.Builder().remote(sys.argv[1]).create()\n"
        "print('SAID ' + json.dumps([[str(value) for row in spark.sql(each).collect()[:1] for value in row] for each in sys.argv[2:]]), flush=True)\n"
        "import os; os._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, url, *queries],
        env=doors.environment(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    line = next((line for line in done.stdout.splitlines() if line.startswith("SAID ")), None)
    if line is None:
        raise RuntimeError(done.stderr[-4000:])
    rows: list[list[object]] = json.loads(line.removeprefix("SAID "))
    return rows


def _compare(folder: Path, url: str, outcome: Outcome) -> None:
    """Compare the answers that clients got with the current rows."""
    for client, kind in enumerate(CLIENTS):
        told = [json.loads(line) for line in (folder / f"client-{client}.jsonl").read_text().splitlines()]
        for each in told:
            _note(each, outcome)
        if kind == "writer":
            _compare_writer(str(client), told, url, outcome)
        else:
            counts = [each["rows"][0] for each in told if "rows" in each]
            if any(count != distinct for count, distinct in counts) or counts != sorted(counts):
                outcome.problems.append(f"the reader saw {counts}")


def _note(told: dict[str, object], outcome: Outcome) -> None:
    error = str(told.get("error", ""))
    word = "success" if not error else ENDED if f"[{ENDED}]" in error else "other"
    outcome.words[word] += 1
    if word == "other":
        outcome.problems.append(f"{told['statement']}: {error[:500]}")
    if _shows_password(error) or "py4j" in error.lower():
        outcome.problems.append(f"{told['statement']}: the error shows the question, or its password")


def _compare_writer(client: str, told: list[dict[str, object]], url: str, outcome: Outcome) -> None:
    inserts = [each for each in told if str(each["statement"]).startswith("INSERT")]
    updates = [each for each in told if str(each["statement"]).startswith("UPDATE")]
    queries = [
        f"SELECT to_json(sort_array(collect_list(id))) FROM lake.kills.rows_{client}",
        f"SELECT n FROM lake.kills.counter_{client}",
    ]
    (ids,), (counter,) = ask(url, queries)
    found = Counter(json.loads(str(ids)))
    for each in inserts:
        count = found.pop(each["number"], 0)
        if count > 1 or (count == 0 and "error" not in each):
            outcome.problems.append(f"{each['statement']}: {count} rows, {each.get('error', 'acknowledged')}")
    if found:
        outcome.problems.append(f"rows_{client} has rows that nobody wrote: {found}")
    acknowledged = sum("error" not in each for each in updates)
    if not acknowledged <= int(str(counter)) <= len(updates):
        outcome.problems.append(
            f"counter_{client} is {counter}, {acknowledged} of {len(updates)} acknowledged"
        )


def _shows_password(text: str) -> bool:
    return PASSWORD in text or quote(PASSWORD, safe="") in text
