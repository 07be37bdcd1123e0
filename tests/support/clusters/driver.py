"""A Python driver in a process of its own. A test sends it statements, and does something else meanwhile.

Run as a program, it is that driver: each line that it reads is a statement or a program of Python, in JSON,
and it answers with a line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import parquetry
from tests.support.clusters import gates
from tests.support.processes import ROOT
from tests.support.spark import doors

_ANSWER = "ANSWER "


class Driver:
    """A session of Spark in another process.

    Args:
        master: the URL of the cluster.
        folder: of the warehouse of the catalog `lake`, and of the driver's log.
        settings: more of Spark's settings.
    """

    def __init__(self, master: str, folder: Path, settings: dict[str, str]) -> None:
        self._log = folder / "driver.log"
        configured = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(folder / "plain"),
            **settings,
        }
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, master, str(folder / "lake"), json.dumps(configured)],
                cwd=folder, env=doors.environment(**gates.variables(), PYTHONPATH=f"{ROOT / 'src'}:{ROOT}", SPARK_WORKER_DIR=str(folder)),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        try:
            self.answer()
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def sql(self, *statements: str) -> list[list[Any]]:
        """Run statements and return the rows of the last."""
        for statement in statements:
            self.begin(statement)
            rows = self.answer()
        return rows

    def begin(self, statement: str, kind: str = "sql") -> None:
        """Begin a statement, or a `python` program that sets `rows`."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([kind, statement]) + "\n")
        self.process.stdin.flush()

    def answer(self) -> list[list[Any]]:
        """Wait for the rows of what was begun last.

        Raises:
            RuntimeError: it failed; the message is its error.
        """
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(_ANSWER):
                rows, error = json.loads(line.removeprefix(_ANSWER))
                if error is not None:
                    raise RuntimeError(error)
                return rows  # type: ignore[no-any-return]
        raise RuntimeError(f"the driver has ended:\n{self._log.read_text()[-4000:]}")

    def end(self) -> None:
        """Stop the session and its process, even if it is still working."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()


def _serve(master: str, warehouse: str, settings: str) -> None:
    builder = SparkSession.builder.master(master)
    for name, value in json.loads(settings).items():
        builder.config(name, value)
    spark = parquetry.configure(builder, "lake", warehouse).getOrCreate()
    print(_ANSWER + json.dumps([[], None]), flush=True)
    for line in sys.stdin:
        kind, text = json.loads(line)
        rows, error = [], None
        try:
            if kind == "sql":
                rows = [list(row) for row in spark.sql(text).collect()]
            else:
                names: dict[str, Any] = {"spark": spark}
                exec(text, names)
                rows = names.get("rows", [])
        except Exception:  # noqa: BLE001  # any error is an answer
            error = traceback.format_exc()
        print(_ANSWER + json.dumps([rows, error], default=str), flush=True)
    spark.stop()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
