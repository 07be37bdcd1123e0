"""What is collected, and where tests write."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

# Doctests of modules that import pyspark are left out where it is not installed, as for `make test-fast`.
collect_ignore = [] if find_spec("pyspark") else ["src/parquetry/spark", "demo"]

_MEMORY = Path("/dev/shm")
_ENOUGH = 1 << 30


def pytest_configure() -> None:
    """Have temporary folders lie in memory where there is some: a commit waits until SQLite's file is on the disk.

    The tests kill processes, not machines, so what they show is the same. All tests together write about 100 MB.
    """
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
