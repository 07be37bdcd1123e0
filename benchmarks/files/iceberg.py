"""Apache Iceberg for comparison: its own planner in a JVM, and PyIceberg, on a table with the same entries.

Both have an environment of their own, which is made once, in the benchmarks' data folder. It takes about
800 MB: a virtual environment from PyPI with PyIceberg and PySpark (for Hadoop's classes and Scala's
compiler), and Iceberg's runtime for Spark from Maven Central.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from rich.console import Console

from benchmarks.files.planning import FileFilter
from benchmarks.files.tables import TYPES, FileLayout
from benchmarks.metastore.table import progress
from tests.support.jars import SETTINGS, java

VERSION = "1.12.0"
PYSPARK = "4.1.4"
PYICEBERG = "0.12.0"
_ARTIFACT = "iceberg-spark-runtime-4.1_2.13"
_SOURCE = Path(__file__).with_name("iceberg.scala")
_PYTHON_SIDE = Path(__file__).with_name("pyiceberg_side.py")
_TYPES = {"integer": "int", "decimal(12,2)": "decimal(12, 2)"}
"""Iceberg's names, where they are not Spark's."""
_FILES_PER_COMMIT = 25_000
"""Files in a commit that makes a table."""
_HEAP = "3g"


class MissingIcebergError(Exception):
    """The environment cannot be made."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment that Iceberg runs in.

    Attributes:
        folder: that holds it.
    """

    folder: Path

    @property
    def python(self) -> Path:
        """Return the interpreter with PySpark and PyIceberg."""
        return self.folder / "venv" / "bin" / "python"

    @property
    def jars(self) -> Path:
        """Return the folder of PySpark's jars."""
        return next((self.folder / "venv" / "lib").glob("python*/site-packages/pyspark/jars"))

    @property
    def runtime(self) -> Path:
        """Return Iceberg's jar."""
        return self.folder / f"{_ARTIFACT}-{VERSION}.jar"

    @property
    def classes(self) -> Path:
        """Return the folder of the compiled `iceberg.scala`."""
        return self.folder / f"classes-{_digest()}"


def environment(folder: Path, console: Console) -> Environment:
    """Return the environment, made if need be.

    Args:
        folder: to keep it in.
        console: shows what is being fetched.

    Raises:
        MissingError: something could not be fetched.
    """
    made = Environment(folder / f"iceberg-{VERSION}")
    ready = made.folder / "ready"
    if not ready.exists():
        console.print(
            f"Fetching PySpark {PYSPARK}, PyIceberg and Iceberg {VERSION} into {made.folder} (once)"
        )
        shutil.rmtree(made.folder, ignore_errors=True)
        run_command([sys.executable, "-m", "venv", str(made.folder / "venv")])
        packages = [f"pyspark=={PYSPARK}", f"pyiceberg[pyarrow]=={PYICEBERG}"]
        run_command(
            [str(made.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        )
        run_command(
            [java(), "-cp", str(made.jars / "*"), "org.apache.ivy.Main"]
            + (["-settings", os.environ[SETTINGS]] if os.environ.get(SETTINGS) else [])
            + ["-dependency", "org.apache.iceberg", _ARTIFACT, VERSION, "-types", "jar"]
            + ["-cache", str(made.folder / "ivy")]
            + ["-retrieve", str(made.folder / "[artifact]-[revision].[ext]")]
        )
        shutil.rmtree(made.folder / "ivy")
        ready.touch()
    if not made.classes.exists():
        with console.status("compiling iceberg.scala"):
            work = made.folder / "compiling"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            command = [java(), "-cp", str(made.jars / "*"), "scala.tools.nsc.Main"]
            run_command([*command, "-classpath", _class_path(made), "-d", str(work), str(_SOURCE)])
            work.rename(made.classes)
    return made


class Iceberg:
    """Iceberg in a JVM of its own.

    Args:
        environment: to run in.
        folder: of the tables.
    """

    def __init__(self, environment: Environment, folder: Path) -> None:
        self._environment = environment
        self._folder = folder
        with open(folder / "iceberg.log", "w", encoding="utf-8") as log:
            port = launch_gateway(
                jarpath=str(next(environment.jars.glob("py4j-*.jar"))),
                classpath=f"{_class_path(environment)}{os.pathsep}{environment.classes}",
                javaopts=[f"-Xmx{_HEAP}"],
                die_on_exit=True,
                redirect_stderr=log,
                redirect_stdout=log,
                java_path=java(),
            )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
        self._jvm: Any = self._gateway.jvm.parquetry.benchmarks

    def close(self) -> None:
        """End the JVM."""
        self._gateway.shutdown()

    def __enter__(self) -> Iceberg:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def table(self, shape: FileLayout, console: Console) -> IcebergTable:
        """Return a table with the entries of `shape`, made if it is not there, or was made by other code."""
        location = self._folder / f"iceberg-{VERSION}-{_digest()}-{shape.partitions}-{shape.files}"
        made = location / "made"
        if not made.exists():
            shutil.rmtree(location, ignore_errors=True)
            types = [_TYPES.get(type_, type_) for type_ in TYPES]
            filling = self._jvm.Filling(str(location), shape.partitions, shape.files, types)
            a_commit = max(1, _FILES_PER_COMMIT // shape.files)
            with progress(console) as shown:
                task = shown.add_task(f"files of {shape}, Iceberg", total=shape.total)
                for start in range(0, shape.partitions, a_commit):
                    stop = min(shape.partitions, start + a_commit)
                    filling.append(start, stop)
                    shown.advance(task, (stop - start) * shape.files)
            made.touch()
        return IcebergTable(self._environment, self._jvm.Planning(str(location)))


class IcebergTable:
    """A table, and what plans scans of it."""

    def __init__(self, environment: Environment, planning: Any) -> None:
        self._environment = environment
        self._planning = planning

    def plan(self, file_filter: FileFilter) -> None:
        """Have Iceberg's planner find the files."""
        found = self._planning.between(file_filter.column, file_filter.first, file_filter.last)
        if found != file_filter.expected:
            raise AssertionError(f"Iceberg finds {found} files instead of {file_filter.expected}")

    def plan_everything(self, expected: int) -> None:
        """Have Iceberg's planner list all files."""
        found = self._planning.everything()
        if found != expected:
            raise AssertionError(f"Iceberg finds {found} files instead of {expected}")

    def cpu_seconds(self) -> float:
        """Return what the JVM has taken of processor time, with all its threads."""
        return float(self._planning.cpuSeconds())

    def seconds_in_python(self, file_filter: FileFilter, rounds: int) -> list[float]:
        """Have PyIceberg find the files, and return the seconds of each round but a first to warm up."""
        question = {
            "metadata": self._planning.metadata(),
            "filter": f"{file_filter.column} >= {file_filter.first} and {file_filter.column} <= {file_filter.last}",
            "expected": file_filter.expected,
            "rounds": rounds,
        }
        answer = run_command([str(self._environment.python), "-P", str(_PYTHON_SIDE), json.dumps(question)])
        seconds: list[float] = json.loads(answer)
        return seconds


def _class_path(environment: Environment) -> str:
    return os.pathsep.join([*map(str, sorted(environment.jars.glob("*.jar"))), str(environment.runtime)])


def _digest() -> str:
    return hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]


def run_command(command: Sequence[str]) -> str:
    """Return what a command prints.

    Raises:
        MissingError: it fails.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingIcebergError(
            f"{' '.join(command[:4])} … failed:\n{(done.stdout + done.stderr).strip()[-3000:]}"
        )
    return done.stdout
