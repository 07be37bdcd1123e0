"""Find the bridge's jar, or compile it.

A wheel contains the jar. A source or editable install compiles the Scala sources once, with the compiler
among PySpark's own jars, into the user's cache. The jar's name has a hash of the sources and Spark's version.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import gmtime

import pyspark

from parquetry._version import __version__
from parquetry.config import SPARK_SERIES, listed_series, series_of
from parquetry.errors import BridgeError
from parquetry.planner import REFUSED_STATEMENT_WORDS, STATEMENT_WORDS

_HERE = Path(__file__).resolve().parent
# The compiler runs only once. Without the JVM's optimizing compiler it needs half of the processor time.
_SHORT_LIVED_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_JAR_TIME = 1580601600
"""The time of a jar's entries, in seconds, unless SOURCE_DATE_EPOCH is set: hatchling's for wheels."""
_JAR_MODE = 0o100644
"""The mode of each entry of a jar: a file that everybody may read."""
_VERSIONS = "versions/"
"""The folder of the bridge with a folder for each series of Spark."""


def jar() -> Path:
    """Return the bridge's jar for the installed PySpark, compiling it if there is none yet.

    Raises:
        BridgeError: PySpark is of another series, there is no Java, or the compiler failed.
    """
    if series_of(pyspark.__version__) is None:
        raise BridgeError(
            f"Parquetry {__version__} works with PySpark {listed_series()}, and {pyspark.__version__} is installed: "
            f"pip install 'parquetry[spark]'"
        )
    carried = _HERE / "jars" / jar_name()
    if carried.exists():
        return carried
    cached = cache_dir() / f"{_sources_hash()}-{jar_name()}"
    if not cached.exists():
        print(
            f"parquetry: compiling the bridge for Spark {pyspark.__version__} (once, about 10 seconds)",
            file=sys.stderr,
            flush=True,
        )
        compile_to(cached)
    return cached


def jar_name(spark: str = pyspark.__version__) -> str:
    """Return the name of the jar that a wheel carries for a version of Spark."""
    return f"parquetry-bridge-{__version__}-spark-{spark}.jar"


def cache_dir() -> Path:
    """Return the folder of compiled bridges, below the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "parquetry" / "bridge"


def sources(spark: str = pyspark.__version__) -> dict[str, Path]:
    """Return the bridge's Scala sources for a version of Spark, by their paths below the bridge's folder.

    What differs between series is in `versions/<series>/`. A series without a file there has the file of
    the next newer series.

    Raises:
        BridgeError: the install carries none, or is a zip.
    """
    for folder in (_HERE / "scala", *(parent / "bridge" for parent in _HERE.parents[2:3])):
        files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.scala"))}
        if files:
            return _of_series(files, series_of(spark))
    if not _HERE.is_dir():  # within a zip
        raise BridgeError(
            f"Parquetry was imported from within {_archive()}, where Spark cannot read the bridge's jar: install it where the driver runs "
            "(pip install 'parquetry[spark]'), and leave it out of --py-files; executors need none of it."
        )
    raise BridgeError(
        f"This install of Parquetry carries neither the bridge's jar for PySpark {pyspark.__version__} nor its sources: "
        "install it again with pip install --force-reinstall parquetry"
    )


def _of_series(files: dict[str, Path], series: str | None) -> dict[str, Path]:
    """Leave out the files of `versions` that a series has otherwise, or that are of older series."""
    sources = {name: path for name, path in files.items() if not name.startswith(_VERSIONS)}
    by_name: dict[str, str] = {}
    for each in SPARK_SERIES:  # the newest first
        folder = f"{_VERSIONS}{each}/"
        by_name.update({name.removeprefix(folder): name for name in files if name.startswith(folder)})
        if each == series:
            break
    return sources | {name: files[name] for name in by_name.values()}


def _archive() -> Path:
    """Return the file that this module is within."""
    return next(parent for parent in _HERE.parents if parent.is_file())


def compile_to(
    target: Path,
    package: Path | None = None,
    spark: str = pyspark.__version__,
    legal: Sequence[Path] = (),
) -> None:
    """Compile the bridge into a jar, which appears whole or not at all.

    Args:
        target: the jar.
        package: folder of the PySpark whose compiler and jars are used, or None for the installed one.
        spark: its version.
        legal: files that the jar has in META-INF, such as the licence.

    Raises:
        BridgeError: there is no Java, or the compiler failed; the message carries its output.
    """
    jars = (package or Path(pyspark.__path__[0])) / "jars"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="parquetry-bridge-") as folder:
        work = Path(folder)
        info = work / "BridgeVersion.scala"
        info.write_text(build_facts(spark), encoding="utf-8")
        classes = work / "classes"
        classes.mkdir()
        class_path = os.pathsep.join(map(str, sorted(jars.glob("*.jar"))))
        given = [
            "-nowarn",
            "-encoding",
            "UTF-8",
            "-d",
            str(classes),
            *map(str, [*sources(spark).values(), info]),
        ]
        command = [java(), *_SHORT_LIVED_JVM, "-cp", str(jars / "*"), "scala.tools.nsc.Main", *given]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "CLASSPATH": class_path}
        )
        if done.returncode != 0:
            raise BridgeError(
                f"The bridge could not be compiled:\n{(done.stdout + done.stderr).strip()[-4000:]}"
            )
        packed = work / "bridge.jar"
        compiled = {
            path.relative_to(classes).as_posix(): path.read_bytes() for path in classes.rglob("*.class")
        }
        write_jar(packed, compiled | {f"META-INF/{path.name}": path.read_bytes() for path in legal})
        # renamed into place on its own file system: two processes may compile at once
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copyfile(packed, beside)
        os.replace(beside, target)


def write_jar(target: Path, entries: Mapping[str, bytes]) -> None:
    """Write a jar whose bytes depend on its entries alone: in order, of one time, with one mode.

    Args:
        target: the jar.
        entries: contents by name, without the manifest.
    """
    time = gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or _JAR_TIME))
    manifest = {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\n"}
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in (manifest | dict(sorted(entries.items()))).items():
            entry = zipfile.ZipInfo(name, time[:6])
            entry.external_attr = _JAR_MODE << 16
            entry.create_system = 3  # Unix, where the mode counts
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def build_facts(spark: str) -> str:
    """Return the Scala source with versions, the words of the planner's statements, and what Spark lacks."""
    lists = (STATEMENT_WORDS, REFUSED_STATEMENT_WORDS, SPARK_SERIES)
    words, unparsed, series = (", ".join(f'"{each}"' for each in names) for names in lists)
    missing = SPARK_SERIES.get(series_of(spark) or "", ())
    lacking = ", ".join(f'"{each.feature}" -> "{each.words}"' for each in missing)
    return (
        "package org.apache.spark.sql.parquetry.protocol\n\n"
        "/** Written by the build. */\n"
        "object BridgeVersion {\n"
        f'  val version = "{__version__}"\n'
        f'  val spark = "{spark}"\n'
        f"  val series: Seq[String] = Seq({series})\n"
        f"  val words: Seq[String] = Seq({words})\n"
        f"  val unparsedWords: Seq[String] = Seq({unparsed})\n"
        f"  val lacking: Map[String, String] = Map({lacking})\n"
        "}\n"
    )


def java() -> str:
    """Return the path of a Java launcher.

    Raises:
        BridgeError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    launcher = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if launcher is None and home:
        raise BridgeError(
            f"JAVA_HOME is {home}, and there is no bin/java in it: point it to a Java 17 runtime, or unset it."
        )
    if launcher is None:
        raise BridgeError("No Java was found: install a Java 17 runtime, or point JAVA_HOME to one.")
    return launcher


def _sources_hash() -> str:
    digest = hashlib.sha256(build_facts(pyspark.__version__).encode())
    for name, path in sources().items():
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


if __name__ == "__main__":  # `make wheel`, in a source tree
    licences = [_HERE.parents[2] / name for name in ("LICENSE", "NOTICE")]
    for given in sys.argv[1:] or pyspark.__path__:  # folders of PySpark
        folder = Path(given)
        version = runpy.run_path(str(folder / "version.py"))["__version__"]
        print(f"compiling the bridge for Spark {version}")
        compile_to(_HERE / "jars" / jar_name(version), folder, version, licences)
