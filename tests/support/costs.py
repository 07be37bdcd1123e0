"""Costs of a run of tests: CPU time, statements and JVMs of each file, shown at its end beside a budget.

The time on a clock says little on a machine that others use. So files are compared by the processor time of a
worker and of all processes that it started. A thread looks at them twice a second, so a process that lives
for a shorter time is not counted.
"""

from __future__ import annotations

import os
import threading
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_BUDGETS = _ROOT / "tests" / "budgets.toml"
_EVERY_S = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")
_PROPERTY = "costs of the file"
_SHOWN = 20
CACHE_KEY = "parquetry/costs"
"""Under which pytest's cache has the costs of the last run: `.pytest_cache/v/parquetry/costs`."""


class Meter:
    """Counts what this process and its descendants have used."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[int, str], float] = {}
        self._jvms: set[tuple[int, str]] = set()
        self._lock = threading.Lock()
        self.statements = 0
        self.claims: Callable[[], int] = int

    def start(self) -> None:
        """Look at the processes from now on, until this one ends."""
        threading.Thread(target=self._watch, name="costs", daemon=True).start()

    def read(self) -> Counter[str]:
        """Return the CPU milliseconds, statements and JVMs so far."""
        with self._lock:
            self._look(os.getpid())
            milliseconds = int(1000 * sum(self._seconds.values()))
            return Counter(
                cpu_ms=milliseconds, statements=self.statements, jvms=len(self._jvms), claims=self.claims()
            )

    def _watch(self) -> None:
        pause = threading.Event()
        while not pause.wait(_EVERY_S):
            with self._lock:
                self._look(os.getpid())

    def _look(self, process: int) -> None:
        """Note the time of a process and of its children; ended processes keep the time last noted."""
        folder = Path("/proc", str(process))
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
            children = [
                int(child)
                for task in os.listdir(folder / "task")
                for child in (folder / "task" / task / "children").read_text().split()
            ]
        except OSError:  # it has ended, or this system has no such files
            return
        fields = rest.split()
        identity = process, fields[19]  # when it started: numbers of processes come again
        self._seconds[identity] = (int(fields[11]) + int(fields[12])) / _TICKS
        if name.endswith("(java"):
            self._jvms.add(identity)
        for child in children:
            self._look(child)


METER = Meter()


def count_statements(session: type[Any]) -> None:
    """Have calls of a class's `sql` be counted."""
    run = session.sql

    def sql(*args: Any, **options: Any) -> Any:
        METER.statements += 1
        return run(*args, **options)

    session.sql = sql


class FileCosts:
    """The plugin: in a worker it measures each file, and at the end of a run it prints all measurements."""

    def __init__(self) -> None:
        METER.start()
        self._before = METER.read()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        """Attach a file's costs to its last test; the test's report carries them to the main process."""
        result = yield
        if nextitem is None or nextitem.path != item.path:
            now = METER.read()
            item.user_properties.append((_PROPERTY, dict(now - self._before)))
            self._before = now
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell what the files cost, and which folders cost more than their budget."""
        costs: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for reports in terminalreporter.stats.values():
            for report in reports:
                if isinstance(report, pytest.TestReport):
                    file = costs[report.nodeid.partition("::")[0]]
                    file["ms"] += int(1000 * report.duration)
                    for name, value in report.user_properties if report.when == "teardown" else ():
                        if name == _PROPERTY:
                            file.update(value)
        cache = getattr(terminalreporter.config, "cache", None)
        if cache is not None:  # `-p no:cacheprovider` leaves it out
            cache.set(CACHE_KEY, costs)
        if costs:
            terminalreporter.section("costs")
            for line in tell(costs, tomllib.loads(_BUDGETS.read_text())):
                terminalreporter.write_line(line)


def tell(costs: Mapping[str, Mapping[str, int]], budgets: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines about the costs of files: by folder, the most expensive files, and budgets exceeded.

    Args:
        costs: of each file: `ms` on the clock, `cpu_ms`, `statements`, `jvms`, and audited `claims`.
        budgets: CPU seconds of folders.
    """
    folders: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for file, cost in costs.items():
        folders[_folder(file)].update(cost)
    total: Counter[str] = Counter()
    for cost in folders.values():
        total.update(cost)
    yield f"{'minutes':>8} {'CPU min':>8} {'statements':>10} {'JVMs':>5}"
    for folder, cost in sorted(folders.items(), key=lambda each: -each[1]["cpu_ms"]):
        yield _line(folder, cost, 60_000)
    yield _line("all", total, 60_000)
    if total["claims"]:
        yield f"{total['claims']:,} claims about rows were audited, and all hold."
    yield f"{'seconds':>8} {'CPU s':>8} {'statements':>10} {'JVMs':>5}   the dearest files"
    for file in sorted(costs, key=lambda each: -costs[each].get("cpu_ms", 0))[:_SHOWN]:
        yield _line(file, costs[file], 1000)
    for folder, budget in budgets.items():
        used = folders[folder]["cpu_ms"] / 1000
        if used > budget:
            yield f"Over its budget: {folder} took {used:.0f} CPU seconds, and has {budget} (tests/budgets.toml)."


def _folder(file: str) -> str:
    parts = file.split("/")[:-1]
    return "/".join(parts[: 3 if parts[:2] == ["tests", "spark"] else 2])


def _line(name: str, cost: Mapping[str, int], unit: int) -> str:
    wall, cpu = cost.get("ms", 0) / unit, cost.get("cpu_ms", 0) / unit
    return f"{wall:8.1f} {cpu:8.1f} {cost.get('statements', 0):10,} {cost.get('jvms', 0):5}   {name}"
