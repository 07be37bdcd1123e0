"""The time of one plan of a table of many files, and its memory, in a process that does nothing else."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.files.tables import FileLayout, one_percent
from benchmarks.metastore.table import DATABASE
from benchmarks.planning import ask, call
from parquetry.metastore import TableSnapshot
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import And, Compare, Predicate
from parquetry.prune.report.scan import ScanReport, Step
from parquetry.prune.select import select_files
from parquetry.types import parse_type

_READ_COLUMNS = ["scattered", "ordered", "c0", "c3"]
"""Columns that the query reads."""


@dataclass(frozen=True, slots=True)
class FileFilter:
    """A filter of a table, and how many files it leaves.

    Attributes:
        warehouse: of the table.
        shape: of the table.
        column: that the filter is about.
        first: least value that it lets pass.
        last: greatest value.
        expected: number of files that can hold such a value.
    """

    warehouse: str
    shape: FileLayout
    column: str
    first: int
    last: int
    expected: int

    @classmethod
    def one_percent(cls, warehouse: Path, shape: FileLayout, column: str) -> FileFilter:
        """Return the filter that a hundredth of the files overlaps."""
        return cls(str(warehouse), shape, column, *one_percent(shape, column))

    def __str__(self) -> str:
        return f"1 % of {self.shape} by {_WORDS[self.column]}"

    @property
    def predicate(self) -> Predicate:
        """Return the filter."""
        type_ = parse_type("bigint")
        bounds = (
            Compare(">=", self.column, self.first, type_),
            Compare("<=", self.column, self.last, type_),
        )
        return And(bounds)


_WORDS = {
    "scattered": "a data column",
    "ordered": "the data column that the table is laid out by",
    "within": "the data column that each partition is laid out by",
}


class PlanningSession:
    """A planner that has seen the table, and the version of it that a query reads."""

    def __init__(self, warehouse: str, table: str) -> None:
        self._planner = Planner(NoEngine())
        self._warehouse = warehouse
        self._table = self._ask(op="load_table", namespace=[DATABASE], name=table)["table"]

    def plan(self, asked: FileFilter) -> None:
        """Ask the bridge's question for a scan, of a planner without a cached answer."""
        self._planner = Planner(NoEngine())
        bounds = {">=": asked.first, "<=": asked.last}
        trees = [call(fn, value, column=asked.column, type="bigint") for fn, value in bounds.items()]
        _check(self.plan_scan(trees), asked.expected)

    def plan_scan(self, predicates: list[dict[str, Any]]) -> int:
        """Plan a scan, and return how many files it reads."""
        about = {"table": self._table, "predicates": predicates, "runtime": [], "columns": _READ_COLUMNS}
        report = self._ask(op="plan_scan", **about)["report"]
        return files_kept(ScanReport(report["table"], tuple(map(Step.from_dict, report["steps"]))))

    def _ask(self, **question: Any) -> Any:
        return ask(self._planner, self._warehouse, **question)


def select(table: TableSnapshot, asked: FileFilter) -> None:
    """Select the files, without an answer for the bridge."""
    found = select_files(table, [Filter(asked.predicate)], _READ_COLUMNS).report
    _check(files_kept(found), asked.expected)


def files_kept(report: ScanReport) -> int:
    """Return how many files a scan reads."""
    step = report.step("files")
    if step is None:
        raise AssertionError("the report tells nothing of files")
    return step.kept


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a plan in a process of its own.

    Attributes:
        seconds: on the clock.
        cpu: seconds of processor time.
        bytes: of memory, at the most, above what the process had when it had planned for a table of one file.
    """

    seconds: float
    cpu: float
    bytes: int


def in_own_process(asked: FileFilter, warm_up: FileFilter) -> Cost:
    """Plan in a process that has done nothing before but plan a small table."""
    text = json.dumps([asdict(asked), asdict(warm_up)])
    command = [sys.executable, "-m", "benchmarks.files.planning"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"planning in a process of its own failed:\n{done.stderr}")
    return Cost(**json.loads(done.stdout))


def _main() -> None:
    arguments = json.loads(sys.stdin.read())
    asked, warm_up = (FileFilter(**{**each, "shape": FileLayout(**each["shape"])}) for each in arguments)
    PlanningSession(warm_up.warehouse, warm_up.shape.name).plan(warm_up)
    session = PlanningSession(asked.warehouse, asked.shape.name)
    before = resident()
    started, cpu = time.perf_counter(), time.process_time()
    session.plan(asked)
    cost = Cost(time.perf_counter() - started, time.process_time() - cpu, most_resident() - before)
    print(json.dumps(asdict(cost)))


def resident() -> int:
    """Return how much memory the process has now; where the system does not say: has had at the most."""
    return _status("VmRSS") or _peak_on_macos()


def most_resident() -> int:
    """Return how much memory the process has had at the most."""
    return _status("VmHWM") or _peak_on_macos()


def _status(field: str) -> int:
    """Return what Linux says of the process; 0 on another system."""
    path = Path("/proc/self/status")
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    # not `getrusage`: there, the process that started this one counts, too
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)


def _peak_on_macos() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _check(files: int, expected: int) -> None:
    if files != expected:
        raise AssertionError(f"{files} files instead of {expected}")


if __name__ == "__main__":
    _main()
