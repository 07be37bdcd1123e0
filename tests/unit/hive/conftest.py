"""A warehouse with a table of two partition columns, and texts in them that need escapes."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.readers.python_tables import PythonLake

PLACES = {"a b": "a b", "x/y": "x%2Fy", None: "__HIVE_DEFAULT_PARTITION__"}
"""Values of the column `s`, and their folders."""


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    """A table `t` with nine partitions of one row, and an empty one, `e`, without partition columns."""
    os.chmod(tmp_path, 0o755)
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "s": "string", "a": "long"}, ["p", "s"])
    for number in range(3):
        for place in PLACES.values():
            made.put("t", f"p={number}/s={place}/f.parquet", pa.table({"a": [number]}))
    made.sync("t")
    made.create("e", {"a": "long"})
    return made
