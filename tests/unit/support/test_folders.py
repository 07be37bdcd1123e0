"""The folders of tests and benchmarks are small enough to be looked over."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from benchmarks.run import ALONE, MODULES, NAMES

TESTS = Path(__file__).parents[2]
AT_MOST = 12


def test_a_folder_has_a_dozen_test_modules_at_most() -> None:
    """A folder of tests, helpers or benchmarks has a limited number of modules; a larger one is split."""
    modules = [*TESTS.rglob("*.py"), *(TESTS.parent / "benchmarks").rglob("*.py")]
    count = Counter(
        path.parent.relative_to(TESTS.parent).as_posix() for path in modules if path.name != "__init__.py"
    )
    assert len(count) > 30
    assert {folder: number for folder, number in count.items() if number > AT_MOST} == {}


def test_every_benchmark_is_found_by_its_name() -> None:
    """Each name of `make bench` has a module, and the module has a function `run`."""
    for name in NAMES + ALONE:
        module = TESTS.parent / Path(*MODULES[name].split(".")).with_suffix(".py")
        functions = {
            each.name for each in ast.parse(module.read_text()).body if isinstance(each, ast.FunctionDef)
        }
        assert "run" in functions, name
