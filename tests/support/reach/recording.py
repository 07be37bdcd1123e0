"""A recorded map: which modules of the product each file of tests uses, by the functions that it enters.

`make reach` records it into `tests/reach.json`. A run of some tests renews the lines of their files alone.
A module counts once a line within one of its functions has run, since an import alone runs the rest of it.
What runs in another process is not seen.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MAP = ROOT / "tests" / "reach.json"
_PACKAGE = "src/parquetry"


def read_map() -> dict[str, set[str]]:
    """Return the files of the product that each file of tests uses; paths are relative to the project."""
    recorded = json.loads(MAP.read_text())
    modules: list[str] = recorded["modules"]
    return {
        test: {module for position, module in enumerate(modules) if int(bits, 16) >> position & 1}
        for test, bits in recorded["tests"].items()
    }


def write_map(uses: Mapping[str, Iterable[str]]) -> None:
    """Write which files of the product each file of tests uses: a bit for each."""
    of_tests = {test: set(used) for test, used in uses.items()}
    modules = sorted(set().union(*of_tests.values()))
    bits = {
        test: f"{sum(1 << modules.index(module) for module in used):x}"
        for test, used in sorted(of_tests.items())
    }
    MAP.write_text(json.dumps({"modules": modules, "tests": bits}, indent=0) + "\n")


class Recorder:
    """The plugin: notes in each worker what runs, and joins the workers' notes at the end.

    Args:
        folder: for the workers' notes.
        worker: this one's name; None in the process that distributes the tests.
    """

    def __init__(self, folder: Path, worker: str | None) -> None:
        from coverage import Coverage  # nothing else needs it

        self._folder = folder
        self._worker = worker
        self._files: set[str] = set()
        self._coverage = Coverage(data_file=None, config_file=False, source=[str(ROOT / _PACKAGE)])
        if worker is not None:
            self._coverage.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> None:
        """Attribute all that runs from now on to this file, such as what makes its tests' parameters."""
        if isinstance(collector, pytest.Module):
            self._begin(collector)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Attribute all that runs from now on to this test's file."""
        self._begin(item)
        self._files.add(self._file)

    def _begin(self, node: pytest.Item | pytest.Collector) -> None:
        self._file = node.path.relative_to(ROOT).as_posix()
        if self._worker is not None:
            self._coverage.switch_context(self._file)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write what this worker has seen; the distributing process writes the map."""
        if self._worker is not None:
            self._coverage.stop()
            used = {file: sorted(modules) for file, modules in self._used().items()}
            (self._folder / f"{self._worker}.json").write_text(json.dumps(used))
            return
        notes: defaultdict[str, set[str]] = defaultdict(set)
        for note in self._folder.glob("*.json"):
            for file, modules in json.loads(note.read_text()).items():
                notes[file].update(modules)
        before = read_map() if MAP.exists() else {}
        uses = {file: used for file, used in (before | notes).items() if (ROOT / file).exists()}
        write_map(uses)

    def _used(self) -> dict[str, set[str]]:
        uses: dict[str, set[str]] = {file: set() for file in self._files}  # others' were only collected
        data = self._coverage.get_data()
        for measured in data.measured_files():
            path = Path(measured)
            within = set(lines_of_functions(ast.parse(path.read_text())))
            for line, files in data.contexts_by_lineno(measured).items():
                if line in within:
                    for file in uses.keys() & set(files):
                        uses[file].add(path.relative_to(ROOT).as_posix())
        return uses


def lines_of_functions(module: ast.Module) -> Iterator[int]:
    """Yield the numbers of the lines within a module's functions.

    >>> list(lines_of_functions(ast.parse("A = 1\\ndef f():\\n  return 2\\nclass C:\\n  def g(self):\\n    pass")))
    [3, 6]
    """
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
