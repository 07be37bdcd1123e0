"""The class path of Spark's suites: jars of Spark's tests, and our classes that run them on Parquetry."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

from parquetry.spark import bridge_jar
from tests.support.jars import fetched, java, pyspark_jars

_HERE = Path(__file__).parent
_MODULE = _HERE / "ivy.xml"


def suite_jars() -> list[Path]:
    """Return the jars of Spark's tests and of what these need, fetched if need be.

    Raises:
        ArtifactsError: Maven Central could not be reached.
    """
    return sorted(fetched(_MODULE, "Spark-tests", "75 MB").glob("*.jar"))


def class_path() -> list[Path]:
    """Return the folder of our classes, and the jars of Spark's tests with what these need.

    They are fetched and compiled once.

    Raises:
        ArtifactsError: Maven Central could not be reached.
        RuntimeError: the Scala files beside this one could not be compiled.
    """
    jars = suite_jars()
    return [_compiled(jars), *jars]


def sql_statements(name: str) -> list[str]:
    """Return the statements of one of the SQL files that Spark tests itself with.

    Args:
        name: of the file, such as ``view-schema-evolution``.

    Raises:
        ArtifactsError: Maven Central could not be reached.
    """
    (jar,) = (each for each in suite_jars() if each.name.startswith("spark-sql_"))
    with zipfile.ZipFile(jar) as archive:
        text = archive.read(f"sql-tests/inputs/{name}.sql").decode()
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [statement for each in "\n".join(lines).split(";") if (statement := " ".join(each.split()))]


def _compiled(jars: list[Path]) -> Path:
    sources = sorted(_HERE.glob("*.scala"))
    beside = bridge_jar.jar()
    digest = hashlib.sha256(
        b"\0".join([*(path.read_bytes() for path in [*sources, _MODULE]), beside.name.encode()])
    )
    target = jars[0].parent.parent / f"suites-{digest.hexdigest()[:16]}"
    if target.is_dir():
        return target
    given = [beside, *jars, *sorted(pyspark_jars().glob("*.jar"))]
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="compiling-") as folder:
        work = Path(folder, "classes")
        work.mkdir()
        command = [java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", str(pyspark_jars() / "*")]
        command += [
            "scala.tools.nsc.Main",
            "-nowarn",
            "-encoding",
            "UTF-8",
            "-d",
            str(work),
            *map(str, sources),
        ]
        environment = {**os.environ, "CLASSPATH": os.pathsep.join(map(str, given))}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise RuntimeError(f"The sources in {_HERE} could not be compiled:\n{done.stdout}{done.stderr}")
        try:
            os.rename(work, target)
        except OSError:
            if not target.is_dir():  # otherwise another process was faster
                raise
    return target
