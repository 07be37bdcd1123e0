"""A server that runs for months: what it has answered leaves nothing behind in its process."""

from __future__ import annotations

import http.client
import json
import threading
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.support.growth import growth, print_table, process_counts, process_memory
from tests.support.readers.python_tables import PythonLake
from tests.unit.iceberg.test_serving import running

CLIENTS = 4
AGENTS = (
    {"X-Client-Version": "Apache Iceberg 1.10"},
    {"User-Agent": "PyIceberg/0.12.0"},
    {"User-Agent": "duckdb"},
)
TABLE = "/v1/namespaces/default/tables/t"


def _request(number: int) -> tuple[str, str, str | None]:
    condition = {"type": "gt", "term": "a", "value": number}
    kinds = (
        ("POST", f"{TABLE}/plan", json.dumps({"filter": condition})),
        ("GET", TABLE, None),
        ("GET", "/v1/namespaces/default/tables", None),
        ("POST", f"{TABLE}/plan", json.dumps({"filter": {"type": "no such"}})),
        ("GET", "/v1/namespaces/none/tables/x", None),
        ("HEAD", TABLE, None),
    )
    return kinds[number % len(kinds)]


def _ask(address: str, first: int, count: int) -> None:
    """Send requests over connections that are closed after a hundred of them."""
    host = urlsplit(address).netloc
    for begin in range(first, first + count, 100):
        connection = http.client.HTTPConnection(host, timeout=60)
        for number in range(begin, min(begin + 100, first + count)):
            method, path, body = _request(number)
            agent = AGENTS[number % len(AGENTS)]
            connection.request(method, path, body, {**agent, "Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            assert response.status < 500
        connection.close()


def soak(lake: PythonLake, requests: int) -> dict[str, tuple[int, int]]:
    """Send requests, and commit beside them. Return what has grown in the server after the first tenth."""
    with running(lake) as (address, process):
        server = psutil.Process(process.pid)

        def counts() -> dict[str, int]:
            return process_counts(server, "server") | process_memory(server, "server")

        moments = {0: counts()}
        for part in range(10):
            lake.write("t", f"p={part}/f.parquet", [{"a": part}])
            share = requests // 10 // CLIENTS
            clients = [
                threading.Thread(target=_ask, args=(address, (part * CLIENTS + each) * share, share))
                for each in range(CLIENTS)
            ]
            for each in clients:
                each.start()
            for each in clients:
                each.join()
            if part in (0, 4, 9):
                moments[requests // 10 * (part + 1)] = counts()
        print_table("requests", moments)
        return growth(moments[requests // 10], moments[requests])


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long"}, ["p"])
    return made


def test_nothing_grows(lake: PythonLake) -> None:
    """After 1,200 requests, a server has the threads, files, connections and memory that it had after 120."""
    assert soak(lake, 1_200) == {}


@pytest.mark.exhaustive("test_nothing_grows sends 1,200 requests")
def test_nothing_grows_by_many_requests(lake: PythonLake) -> None:
    """After 20,000 requests, a server has what it had after 2,000."""
    assert soak(lake, 20_000) == {}
