"""What is collected, and where tests write."""

import os
import shutil
import time
from importlib.util import find_spec
from pathlib import Path

# Doctests of modules that import pyspark are left out where it is not installed, as for `make test-fast`.
collect_ignore = [] if find_spec("pyspark") else ["src/parquetry/spark", "demo"]

_MEMORY = Path("/dev/shm")
_ENOUGH = 1 << 30


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


# On a machine that is lent to others half of the time, exhaustive tests would run for hours. The workers take over what is said here.
if "PARQUETRY_TEST_SAMPLE" not in os.environ and (slowness := _slowness()) >= 2:
    os.environ["PARQUETRY_TEST_SAMPLE"] = os.environ["PARQUETRY_TEST_SLOWNESS"] = str(round(slowness))


def pytest_report_header() -> str | None:
    """Say that exhaustive tests are run by samples, where the machine is so slow."""
    slow = os.environ.get("PARQUETRY_TEST_SLOWNESS")
    return slow and (
        f"Python runs {slow} times as slow as usual here: one in {slow} of the cases of exhaustive tests is run "
        "(all of them with PARQUETRY_TEST_SAMPLE=1)"
    )


def pytest_configure() -> None:
    """Have temporary folders lie in memory where there is some: a commit waits until SQLite's file is on the disk.

    The tests kill processes, not machines, so what they show is the same. All tests together write about 100 MB.
    """
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
