"""`spark-sql`, a JVM without a Python driver: the bridge starts a planner for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from parquetry import __version__
from tests.support.spark import doors

FIRST = """
CREATE TABLE lake.default.t (x INT, d STRING) PARTITIONED BY (d) SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES;
"""
STATEMENTS = f"""
{FIRST * 3}
INSERT OVERWRITE lake.default.t VALUES (1, 'a'), (2, 'a'), (3, 'b');
SELECT 'ROWS', x, d FROM lake.default.t WHERE x = 1;
UPDATE lake.default.t SET d = 'c' WHERE x = 3;
SELECT 'SUM', sum(x), max(d) FROM lake.default.t;
CALL lake.system.last_reports(2);
CALL lake.system.explain('SELECT * FROM lake.default.t WHERE d = "a" AND x = 2');
SHOW PARTITIONS lake.default.t;
"""
INTERPRETER = """#!/bin/sh
if mkdir {folder}/once 2>/dev/null; then exec {python} -S -E "$@"; fi
if mkdir {folder}/twice 2>/dev/null; then PYTHONPATH={folder}/other exec {python} "$@"; fi
exec {python} "$@"
"""
"""It has no Parquetry when it is started first, another version the second time, and then the right one."""
OTHER = """
import sys
print('ERROR python has Parquetry 9.9, and the bridge is of version', sys.argv[1])
sys.exit(2)
"""


class Shell(NamedTuple):
    """A shell that has run the statements, the first of them until a planner started.

    Attributes:
        python: the interpreter of its planners.
        printed: its rows.
        log: its errors.
        refused: its errors that say why no planner started.
    """

    python: Path
    printed: str
    log: str
    refused: list[str]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell that goes on after errors."""
    folder = tmp_path_factory.mktemp("shell")
    python = folder / "python"
    python.write_text(INTERPRETER.format(folder=folder, python=sys.executable))
    python.chmod(0o755)
    package = folder / "other" / "parquetry" / "spark"
    package.mkdir(parents=True)
    for path, text in (
        (package.parent / "__init__.py", ""), (package / "__init__.py", ""), (package / "serve.py", OTHER)
    ):  # fmt: skip
        path.write_text(text)
    script = folder / "statements.sql"
    script.write_text(STATEMENTS)
    settings = {
        "spark__parquetry__python": str(python),
        "spark__hadoop__hive__cli__errors__ignore": "true",
    }
    arguments = [*doors.flags(folder, **settings), "--master", "local[1]", "-f", str(script)]
    done = doors.run("spark-sql", arguments, folder)
    refused = done.stderr.split("[PARQUETRY_PLANNER_NOT_STARTED]")[1:]
    return Shell(python, done.stdout, done.stderr, refused)


def test_statements(shell: Shell) -> None:
    """The session's first statement is Hive's DDL; rows are written, changed and read, and
    reports are rows.
    """
    lines = [line.split("\t") for line in shell.printed.splitlines()]
    assert ["ROWS", "1", "a"] in lines, shell.log[-3000:]
    assert ["SUM", "6", "c"] in lines
    assert ["0", "lake.default.t", "directories", "1", "2", "x = 2"] in lines
    reported = {(line[3].split()[1], *line[5:9]) for line in lines if len(line) == 10}
    assert ("'SUM',", "lake.default.t", "partitions", "2", "2") in reported
    assert [line for line in lines if line[0].startswith("d=")] == [["d=a"], ["d=c"]]
    started = [line for line in shell.log.splitlines() if "which was started for this application" in line]
    assert len(started) == 1
    assert str(shell.python) in started[0]


def test_an_interpreter_without_parquetry(shell: Shell) -> None:
    """The error names the interpreter and the setting that named it, what it printed, and what to install."""
    said = shell.refused[0]
    assert f"{shell.python} (named by spark.parquetry.python)" in said
    assert "No module named" in said
    assert f"{shell.python} -m pip install 'parquetry[spark]=={__version__}'" in said


def test_another_version(shell: Shell) -> None:
    """An interpreter that has another version of Parquetry is refused, with both versions."""
    assert (
        f"it ended with exit code 2:\nERROR python has Parquetry 9.9, and the bridge is of version {__version__}"
        in shell.refused[1]
    )
