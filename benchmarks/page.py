"""The answers of `parquetry ui` about a table of a million partitions, and what a browser makes of them.

The metastore is built in SQLite without data files, as for `large`. The server runs in a process of its own,
so its time and its memory are measured without the client's. The numbers go into the table of `docs/ui.md`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from benchmarks.files.tables import FileLayout, kept
from benchmarks.measure import BenchmarkFinding, Result
from benchmarks.metastore.table import DATABASE
from tests.support.page.browser import Browser, running_browser
from tests.support.page.served import ask

_PAGE = Path(__file__).parents[1] / "docs" / "ui.md"
_TABLE = re.compile(r"(?<=<!-- page of a million partitions -->\n).*?(?=\n\n)", re.DOTALL)
_PORT = 18484
_MAX_MEGABYTES = 400
_MAX_FIRST_PAINT_S = 1.0
_ANSWERS: dict[str, tuple[str, dict[str, str]]] = {
    "the table's numbers": ("table", {}),
    "what it needs, without lists of files": ("needs", {}),
    "the last versions": ("versions", {}),
    "the map of all partitions, in 480 cells": ("cells", {"cells": "480"}),
    "the map once more": ("cells", {"cells": "480"}),
    "a page of 100 partitions from the middle": ("partitions", {"limit": "100"}),
    "a condition of one partition": ("plan", {"where": "p = {half}"}),
    "a condition of a tenth of the partitions": ("plan", {"where": "p >= {half} AND p < {more}"}),
    "a condition on a column of the files": ("plan", {"where": "scattered < 10000000"}),
    "a condition of nearly all partitions": ("plan", {"where": "p > 0"}),
}


def run(folder: Path, scale: float) -> Result:
    """Measure the answers, and the page in a browser; write the table of the page at full scale."""
    layout = FileLayout("single", max(10_000, int(1_000_000 * scale)), 1, narrow=True)
    warehouse = kept(folder, layout, Console(highlight=False))
    table = f"{DATABASE}.{layout.name}"
    result, rows = Result("page"), []
    with _served(warehouse) as server:
        address = f"http://127.0.0.1:{_PORT}"
        for text, (path, given) in _ANSWERS.items():
            seconds, processor = _time(
                server, address, path, {"table": table, **_filled(address, table, path, given, layout)}
            )
            result.findings.append(BenchmarkFinding(text, processor, None, "s"))
            rows.append(f"| {text} | {_short(seconds)} | {_short(processor)} |")
        memory = server.memory_info().rss / 1e6
        result.findings.append(BenchmarkFinding("memory of the server", memory, _MAX_MEGABYTES, "MB"))
    with _served(warehouse), running_browser() as browser:  # a new server, which has kept no answer
        browser.resize(1280, 800)
        for text, seconds in _in_browser(browser, f"http://127.0.0.1:{_PORT}/#/t/{table}").items():
            target = _MAX_FIRST_PAINT_S if text.startswith("first paint") else None
            result.findings.append(BenchmarkFinding(text, seconds, target, "s"))
            rows.append(f"| {text} | {_short(seconds)} | |")
    _write_page(rows, memory, scale)
    return result


@contextmanager
def _served(warehouse: Path) -> Iterator[psutil.Process]:
    command = [sys.executable, "-m", "parquetry.cli.main", "ui", "-w", str(warehouse), "--port", str(_PORT)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert f":{_PORT}" in process.stderr.readline()
        try:
            while True:
                try:
                    ask(f"http://127.0.0.1:{_PORT}", "/api/warehouse")
                    break
                except OSError:
                    time.sleep(0.02)
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


def _filled(address: str, table: str, path: str, given: dict[str, str], layout: FileLayout) -> dict[str, str]:
    numbers = {"half": str(layout.partitions // 2), "more": str(layout.partitions * 6 // 10)}
    filled = {name: text.format(**numbers) for name, text in given.items()}
    if path == "partitions":
        cells = ask(address, "/api/cells", table=table, cells="480").json
        filled["from"] = cells["key"][len(cells["key"]) // 2]
    return filled


def _time(server: psutil.Process, address: str, path: str, given: dict[str, str]) -> tuple[float, float]:
    """Return the seconds of an answer, by the clock and of the server's processor."""
    before, started = sum(server.cpu_times()[:2]), time.perf_counter()
    response = ask(address, f"/api/{path}", None, "GET", **given)
    seconds = time.perf_counter() - started
    assert response.status == 200, response.content
    return seconds, sum(server.cpu_times()[:2]) - before


def _in_browser(browser: Browser, address: str) -> dict[str, float]:
    """Return the seconds from the opening of the address until each part of the page is drawn."""
    parts: dict[str, str] = {
        "first paint: numbers and versions": "document.querySelector('.facts') && document.querySelector('#versions table')",
        "the map is drawn": "document.querySelector('#partitions svg')",
    }
    browser.open("about:blank#start")
    started = time.perf_counter()
    browser.call("Page.navigate", url=address)
    times: dict[str, Any] = {}
    for text, script in parts.items():
        browser.until(script, 300)
        times[text] = time.perf_counter() - started
    return times


def _short(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _write_page(rows: list[str], memory: float, scale: float) -> None:
    if scale != 1:
        return
    heads = ["| part | time | of the server's processor |", "|---|---|---|"]
    text = "\n".join([*heads, *rows, f"| memory of the server after all of them | {memory:,.0f} MB | |"])
    page = _PAGE.read_text(encoding="utf-8")
    _PAGE.write_text(_TABLE.sub(lambda _: text, page), encoding="utf-8")
