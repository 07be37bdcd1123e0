"""The costs of a table of a million partitions, or of twenty million files: a plan, a commit, upkeep, a dump.

The metastore is built in SQLite without data files. Each job runs in a process of its own, so its memory is
the job's: of the peak, what the process had when the table was open is taken away. Seconds are of the
processor. The numbers go into the table of `docs/operating.md`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from benchmarks.files.planning import Cost, FileFilter, most_resident, resident, select
from benchmarks.files.tables import FileLayout, entries, kept
from benchmarks.measure import BenchmarkFinding, Result
from benchmarks.metastore.table import DATABASE
from parquetry.metastore import TableSnapshot, Transaction, commit, dump, open_metastore, vacuum

_PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
_TABLE = re.compile(r"(?<=<!-- large tables -->\n).*?(?=\n\n)", re.DOTALL)
_JOBS = {
    "scattered": "a plan of a hundredth of the files",
    "ordered": "the same, by a column that follows the partitions",
    "commit": "a commit that replaces one partition",
    "vacuum": "a vacuum after it",
    "again": "a vacuum with nothing to do",
    "dump": "a dump",
}
_MAX_PLAN_BYTES = 1e9
"""Memory that a plan may take."""


def run(folder: Path, scale: float) -> Result:
    """Measure all jobs on both tables, and write the table of the page at full scale."""
    console = Console(highlight=False)
    result = Result("large")
    layouts = [
        FileLayout("single", max(10_000, int(1_000_000 * scale)), 1, narrow=True),
        FileLayout("large", max(100, int(20_000 * scale)), 1_000, narrow=True),
    ]
    rows = []
    for layout in layouts:
        warehouse = kept(folder, layout, console)
        for job, text in _JOBS.items():
            asked = FileFilter.one_percent(warehouse, layout, "ordered" if job == "ordered" else "scattered")
            with console.status(f"{layout}: {text}"):
                cost = _in_own_process(asked, job)
            name = f"{layout}: {text}"
            most = _MAX_PLAN_BYTES / 1e6 if job in ("scattered", "ordered") else None
            result.findings += [
                BenchmarkFinding(name, cost.cpu, None, "s"),
                BenchmarkFinding(f"{name}, memory", cost.bytes / 1e6, most, "MB"),
            ]
            rows.append(f"| {layout} | {text} | {cost.cpu:,.2g} s | {cost.bytes / 1e6:,.0f} MB |")
        _write_page(rows, scale)
    return result


def _write_page(rows: list[str], scale: float) -> None:
    if scale != 1:
        return
    text = "\n".join(["| table | job | processor | memory |", "|---|---|---|---|", *rows])
    page = _PAGE.read_text(encoding="utf-8")
    _PAGE.write_text(_TABLE.sub(lambda _: text, page), encoding="utf-8")


def _in_own_process(asked: FileFilter, job: str) -> Cost:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.files.large"],
        input=json.dumps([asdict(asked), job]), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"{job} of {asked.shape} failed:\n{done.stderr}")
    return Cost(**json.loads(done.stdout))


def _main() -> None:
    given, job = json.loads(sys.stdin.read())
    asked = FileFilter(**{**given, "shape": FileLayout(**given["shape"])})
    with open_metastore(asked.warehouse) as metastore:
        table = metastore.table(DATABASE, asked.shape.name)
        folder = Path(tempfile.mkdtemp(dir=Path(asked.warehouse).parent))
        jobs: dict[str, Callable[[], object]] = {
            "scattered": lambda: select(table, asked),
            "ordered": lambda: select(table, asked),
            "commit": lambda: _write_again(table, asked.shape),
            "vacuum": lambda: vacuum(table),
            "again": lambda: vacuum(table),
            "dump": lambda: dump(metastore, folder / "dump"),
        }
        before = resident()
        started, cpu = time.perf_counter(), time.process_time()
        jobs[job]()
        cost = Cost(time.perf_counter() - started, time.process_time() - cpu, most_resident() - before)
        shutil.rmtree(folder)
    print(json.dumps(asdict(cost)))


def _write_again(table: TableSnapshot, layout: FileLayout) -> None:
    """Replace the first partition by its own files."""
    transaction = Transaction(table, "overwrite")
    transaction.replace((0,), entries(layout, 0, layout.files))
    commit(transaction)


if __name__ == "__main__":
    _main()
