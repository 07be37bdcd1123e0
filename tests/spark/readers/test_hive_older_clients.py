"""A warehouse read by the Hive client of a PySpark 3.5 without our jar, beside the rows of our catalog."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.readers.test_hive_clients import REFUSED
from tests.support.hive import metastore_clients
from tests.support.hive.metastore_clients import ATTACKS, RESULT
from tests.support.other_sparks.installed import installed_pyspark
from tests.support.processes import ROOT, run

VERSIONS = ("3.5.7",)
FAILURES = {**REFUSED, "changed": "Parquet column cannot be converted"}
"""Tables that are not read. Spark 3.5 reads no files with INT as BIGINT."""


@pytest.mark.exhaustive("test_hive_clients has the same client of Hive, in the newest Spark")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_pyspark(tmp_path: Path, version: str) -> None:
    """It reads our rows from all tables and by all filters, joins in buckets, and loses no row of ours."""
    pyspark = str(installed_pyspark(version))
    command = [sys.executable, metastore_clients.__file__, str(tmp_path), pyspark]
    printed = run(command, tmp_path, PYTHONPATH=f"{ROOT / 'src'}:{ROOT}")
    lines = [line for line in printed.splitlines() if line.startswith(RESULT)]
    assert lines, printed[-3000:]
    results: dict[str, Any] = json.loads(lines[0].removeprefix(RESULT))
    read = results["others"][pyspark]
    assert read["version"] == version
    for name, (ours, _) in results["tables"].items():
        if name in FAILURES:
            assert FAILURES[name] in read["tables"][name]
        else:
            assert read["tables"][name] == ours, name
    assert read["filters"] == results["filters"]["ours"]
    assert len(read["filters"]) >= 60
    assert read["exchanges"] == 0
    assert results["untouched"] is True
    assert len(read["attacks"]) == len(ATTACKS)
    assert sum("is refused: this metastore is" in said for said in read["attacks"].values()) >= 8
