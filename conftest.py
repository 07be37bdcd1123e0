"""Rules of pytest for the whole project: the modules that are collected, and where temporary files go."""

import os
import shutil
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

# Doctests of modules that import pyspark are left out where it is not installed, as for `make test-fast`.
collect_ignore = [] if find_spec("pyspark") else ["src/parquetry/spark", "demo"]

_MEMORY = Path("/dev/shm")
_ENOUGH = 1 << 30

_SAMPLE = 24
"""How many cases of exhaustive tests exist for each case that is run, unless the environment says it."""

_USUAL = 0.0065
"""Seconds that the loop below takes on the two cores that the tests' limits of time are meant for."""


def _slowness() -> float:
    """Return how many times as long as usual Python takes here, at its best of a few turns."""
    turns = []
    for _ in range(5):
        started = time.process_time()
        for _ in range(400_000):
            pass
        turns.append(time.process_time() - started)
    return min(turns) / _USUAL


# All cases of exhaustive tests take ten minutes more, and hours on a machine that gives us half of its time.
# The workers take over what is said here.
if "PARQUETRY_TEST_SAMPLE" not in os.environ:
    slowness = round(_slowness())
    os.environ["PARQUETRY_TEST_SAMPLE"] = str(_SAMPLE * max(1, slowness))
    if slowness > 1:
        os.environ["PARQUETRY_TEST_SLOWNESS"] = str(slowness)


def pytest_report_header() -> str:
    """Say how much of exhaustive tests is run, and why not more."""
    sample = os.environ["PARQUETRY_TEST_SAMPLE"]
    slow = os.environ.get("PARQUETRY_TEST_SLOWNESS")
    why = f"Python runs {slow} times as slow as usual here: " if slow else ""
    return f"{why}cases of exhaustive tests: 1 in {sample} (all of them: PARQUETRY_TEST_SAMPLE=1)"


def pytest_configure(config: pytest.Config) -> None:
    """Put temporary folders into memory where there is enough: a commit waits until SQLite's file is on disk.

    The tests kill processes, not machines, so they show the same in memory.
    All tests together write about 100 MB.
    """
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    if find_spec("pyspark") and version("pyspark").startswith(
        "4.1."
    ):  # it leaves the sockets of `collect` to Python
        config.addinivalue_line(
            "filterwarnings", "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
        )
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")
