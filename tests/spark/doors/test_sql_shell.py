"""`spark-sql`, a JVM without a Python driver: the bridge starts a planner for it."""

from __future__ import annotations

import sys
from pathlib import Path

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


def test_an_interpreter_without_parquetry(tmp_path: Path) -> None:
    """The error names the interpreter and the setting that named it, what it printed, and what to install."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    python.chmod(0o755)
    statement = "SHOW NAMESPACES IN lake"
    arguments = [
        *doors.flags(tmp_path, spark__parquetry__python=str(python)),
        "--master",
        "local[1]",
        "-e",
        statement,
    ]
    said = doors.run("spark-sql", arguments, tmp_path).stderr
    assert "[PARQUETRY_PLANNER_NOT_STARTED]" in said
    assert f"{python} (named by spark.parquetry.python)" in said
    assert f"{python} -m pip install 'parquetry[spark]=={__version__}'" in said


def test_another_version(tmp_path: Path) -> None:
    """An interpreter that has another version of Parquetry is refused, with both versions."""
    package = tmp_path / "other" / "parquetry" / "spark"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "serve.py").write_text(
        "import sys\nprint('ERROR python has Parquetry 9.9, and the bridge is of version', sys.argv[1])\nsys.exit(2)\n"
    )
    arguments = [*doors.flags(tmp_path), "--master", "local[1]", "-e", "SHOW NAMESPACES IN lake"]
    said = doors.run("spark-sql", arguments, tmp_path, PYTHONPATH=str(tmp_path / "other")).stderr
    assert (
        f"it ended with exit code 2:\nERROR python has Parquetry 9.9, and the bridge is of version {__version__}"
        in said
    )
