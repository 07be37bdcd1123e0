"""`spark-sql`, a JVM without a Python driver: the bridge starts a planner for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from parquetry import __version__
from tests.support.spark import doors

STATEMENTS = """
CREATE TABLE lake.default.t (x INT, d STRING) PARTITIONED BY (d) SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES;
INSERT OVERWRITE lake.default.t VALUES (1, 'a'), (2, 'a'), (3, 'b');
SELECT 'ROWS', x, d FROM lake.default.t WHERE x = 1;
UPDATE lake.default.t SET d = 'c' WHERE x = 3;
SELECT 'SUM', sum(x), max(d) FROM lake.default.t;
CALL lake.system.last_reports(2);
CALL lake.system.explain('SELECT * FROM lake.default.t WHERE d = "a" AND x = 2');
SHOW PARTITIONS lake.default.t;
"""


def test_statements(tmp_path: Path) -> None:
    """The session's first statement is Hive's DDL; rows are written, changed and read, and
    reports are rows.
    """
    script = tmp_path / "statements.sql"
    script.write_text(STATEMENTS)
    done = doors.run(
        "spark-sql", [*doors.flags(tmp_path), "--master", "local[1]", "-f", str(script)], tmp_path
    )
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert ["ROWS", "1", "a"] in lines, done.stderr[-3000:]
    assert ["SUM", "6", "c"] in lines
    assert ["0", "lake.default.t", "directories", "1", "2", "x = 2"] in lines
    reported = {(line[3].split()[1], *line[5:9]) for line in lines if len(line) == 10}
    assert ("'SUM',", "lake.default.t", "partitions", "2", "2") in reported
    assert [line for line in lines if line[0].startswith("d=")] == [["d=a"], ["d=c"]]
    started = [line for line in done.stderr.splitlines() if "which was started for this application" in line]
    assert len(started) == 1
    assert sys.executable in started[0]


WITHOUT_AND_ANOTHER = """#!/bin/sh
if mkdir {folder}/started; then exec {python} -S -E "$@"; fi
PYTHONPATH={folder}/other exec {python} "$@"
"""
"""An interpreter that has no Parquetry when it is started first, and later another version."""
OTHER = """
import sys
print('ERROR python has Parquetry 9.9, and the bridge is of version', sys.argv[1])
sys.exit(2)
"""


class Refused(NamedTuple):
    """The errors of a shell about an interpreter.

    Attributes:
        python: the interpreter.
        without: it had no Parquetry.
        another: it had another version.
    """

    python: Path
    without: str
    another: str


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Refused:
    """The errors of a shell whose two statements try to start a planner."""
    folder = tmp_path_factory.mktemp("refused")
    python = folder / "python"
    python.write_text(WITHOUT_AND_ANOTHER.format(folder=folder, python=sys.executable))
    python.chmod(0o755)
    package = folder / "other" / "parquetry" / "spark"
    package.mkdir(parents=True)
    for path, text in (
        (package.parent / "__init__.py", ""), (package / "__init__.py", ""), (package / "serve.py", OTHER)
    ):  # fmt: skip
        path.write_text(text)
    arguments = [*doors.flags(folder, spark__parquetry__python=str(python)), "--master", "local[1]"]
    said = doors.run("spark-sql", arguments, folder, "SHOW NAMESPACES IN lake;\n" * 2).stderr
    parts = said.split("[PARQUETRY_PLANNER_NOT_STARTED]")
    assert len(parts) == 3, said[-3000:]
    return Refused(python, *parts[1:])


def test_an_interpreter_without_parquetry(refused: Refused) -> None:
    """The error names the interpreter and the setting that named it, what it printed, and what to install."""
    assert f"{refused.python} (named by spark.parquetry.python)" in refused.without
    assert "No module named" in refused.without
    assert f"{refused.python} -m pip install 'parquetry[spark]=={__version__}'" in refused.without


def test_another_version(refused: Refused) -> None:
    """An interpreter that has another version of Parquetry is refused, with both versions."""
    assert (
        f"it ended with exit code 2:\nERROR python has Parquetry 9.9, and the bridge is of version {__version__}"
        in refused.another
    )
