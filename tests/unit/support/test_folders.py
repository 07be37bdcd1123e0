"""The folders of tests and benchmarks are small enough to be looked over."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from benchmarks.run import ALONE, MODULES, NAMES
from tests.support.reach.changes import RUNNERS

TESTS = Path(__file__).parents[2]
MAX_FOLDER_LINES = 3_000
"""Lines of a folder's own modules, and of its files of statements: more than that has several subjects."""


def test_no_folder_of_tests_is_crowded() -> None:
    """A folder of tests, helpers or benchmarks has a limited number of lines; a larger one is split."""
    lines: Counter[str] = Counter()
    kinds = ("*.py", *(f"*{ending}" for ending in RUNNERS))
    files = [path for kind in kinds for path in TESTS.rglob(kind)]
    for path in (*files, *(TESTS.parent / "benchmarks").rglob("*.py")):
        lines[f"{path.parent.relative_to(TESTS.parent).as_posix()}/*{path.suffix}"] += len(
            path.read_text().splitlines()
        )
    assert len(lines) > 30
    assert {folder: number for folder, number in lines.items() if number > MAX_FOLDER_LINES} == {}


def test_every_benchmark_is_found_by_its_name() -> None:
    """Each name of `make bench` has a module, and the module has a function `run`."""
    for name in NAMES + ALONE:
        module = TESTS.parent / Path(*MODULES[name].split(".")).with_suffix(".py")
        functions = {
            each.name for each in ast.parse(module.read_text()).body if isinstance(each, ast.FunctionDef)
        }
        assert "run" in functions, name
