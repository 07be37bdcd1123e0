"""One task of a cluster that waits or fails where a test says: at a data file, in `GatedFiles.java`."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

from tests.support.jars import hadoop_version, java, pyspark_jars
from tests.support.jvm import quick_start

_SOURCE = Path(__file__).with_name("GatedFiles.java")
_SECONDS = 180


class Gate:
    """The gate of the executors of one application.

    Args:
        folder: for its files, which all executors see.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()

    def remove(self) -> None:
        """Stop no task any longer."""
        for path in self._folder.iterdir():
            path.unlink()

    def close(self, plan: str) -> None:
        """Stop the first task that comes to the gate.

        Args:
            plan: three words. Where: `open`, `create` or `written`. What happens: `fail`; `hold` until the
                gate is opened or the task is killed; `insist`, which holds a killed task, too. And how often
                the task has to come there, once for each file.
        """
        self.remove()
        (self._folder / "plan.unfinished").write_text(plan)
        (self._folder / "plan.unfinished").rename(self._folder / "plan")

    def held(self) -> int:
        """Wait until a task is held, or fails; return the number of its process."""
        return int(self._wait("held").read_text())

    def interrupted(self) -> None:
        """Wait until Spark kills the task that is held."""
        self._wait("interrupted")

    def open(self) -> None:
        """Let the task go on that is held."""
        (self._folder / "go").touch()

    def attempts(self) -> set[tuple[int, ...]]:
        """Return stage, attempt of the stage, partition and attempt of each task that came to the gate."""
        return {tuple(map(int, path.name.split("-")[1:])) for path in self._folder.glob("attempt-*")}

    def _wait(self, name: str) -> Path:
        deadline = time.monotonic() + _SECONDS
        while not (path := self._folder / name).exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no task was {name} at the gate: {[*self._folder.iterdir()]}")
            time.sleep(0.02)
        return path


def variables() -> dict[str, str]:
    """Return the environment variables that put the gate's class behind all others of a driver or a worker.

    A class path that began with it would not fit the archive of classes (`quick_start`).
    """
    return {"SPARK_DIST_CLASSPATH": str(_jar())}


def settings(gate: Path) -> dict[str, str]:
    """Return Spark's settings that put the gate into the file system of executors.

    Args:
        gate: the folder of the `Gate`.
    """
    return {
        "spark.hadoop.fs.file.impl": "GatedFiles",
        "spark.executorEnv.PYTHONPATH": "/nowhere",
        "spark.executor.extraJavaOptions": f"-Dgates={gate} {quick_start.options(young='100m')}",
    }


@functools.cache
def _jar() -> Path:
    """Return the jar of the gate's class, compiled if need be, and kept in a cache folder."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(_SOURCE.read_bytes() + hadoop_version().encode()).hexdigest()[:16]
    jar = base / "parquetry" / "gates" / f"{digest}.jar"
    if jar.exists():
        return jar
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=jar.parent, prefix="compiling-") as folder:
        classes = Path(folder, "classes")
        jars = ":".join(map(str, pyspark_jars().glob("*.jar")))
        command = [java(), "-m", "jdk.compiler/com.sun.tools.javac.Main", "-cp", jars]
        subprocess.run([*command, "-nowarn", "-d", str(classes), str(_SOURCE)], check=True)
        with zipfile.ZipFile(made := Path(folder, jar.name), "w") as archive:
            for path in classes.iterdir():
                archive.write(path, path.name)
        made.rename(jar)
    return jar
