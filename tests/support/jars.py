"""Jars of others that tests run on: found by Ivy, which comes with PySpark, and kept in a cache folder."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import tempfile
from pathlib import Path

SETTINGS = "PARQUETRY_IVY_SETTINGS"
"""Environment variable: an Ivy settings file, where Maven Central is not to be asked itself."""


class ArtifactsError(Exception):
    """The jars cannot be fetched."""


def java() -> str:
    """Return the command of the Java that Spark uses."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def pyspark_jars() -> Path:
    """Return the folder of the jars that PySpark brings along."""
    pyspark = importlib.util.find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise ArtifactsError(
            "PySpark is not installed, whose Ivy fetches jars: pip install 'parquetry[spark]'"
        )
    return Path(pyspark.origin).parent / "jars"


def hadoop_version() -> str:
    """Return the version of Hadoop that PySpark brings along."""
    (jar,) = pyspark_jars().glob("hadoop-client-api-*.jar")
    return jar.stem.removeprefix("hadoop-client-api-")


def fetched(module: Path, name: str, size: str) -> Path:
    """Return the folder of the jars that a module of Ivy asks for, fetched if need be.

    Args:
        module: Ivy's file, with a version of each jar; `${hadoop}` is PySpark's version of Hadoop.
        name: of what they are, such as HBase.
        size: how much there is to fetch.

    Raises:
        ArtifactsError: they could not be fetched.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = base / "parquetry" / name.lower()
    asked = module.read_text().replace("${hadoop}", hadoop_version())
    wanted = cache / hashlib.sha256(asked.encode()).hexdigest()[:16]
    if wanted.is_dir():
        return wanted
    cache.mkdir(parents=True, exist_ok=True)
    print(f"Fetching {name} into {wanted} (once; {size})", flush=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as folder:
        (Path(folder) / "ivy.xml").write_text(asked)
        _fetch(name, Path(folder))
        try:
            os.rename(Path(folder, "jars"), wanted)
        except OSError:
            if not wanted.is_dir():  # otherwise another process was faster
                raise
    return wanted


def _fetch(name: str, folder: Path) -> None:
    command = [java(), "-cp", str(pyspark_jars() / "*"), "org.apache.ivy.Main"]
    if os.environ.get(SETTINGS):
        command += ["-settings", os.environ[SETTINGS]]
    command += [
        "-ivy",
        str(folder / "ivy.xml"),
        "-confs",
        "run",
        "-types",
        "jar",
        "bundle",
        "-cache",
        str(folder / "ivy"),
    ]
    command += ["-retrieve", str(folder / "jars" / "[artifact]-[revision].[ext]")]
    # Two tries: a connection that broke, among eighty downloads, should not count.
    for _ in range(2):
        ivy = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if ivy.returncode == 0:
            return
    said = [line.strip() for line in ivy.stdout.splitlines() if "ERROR" in line or "::" in line]
    raise ArtifactsError(
        f"{name} could not be fetched from Maven Central, and what runs on it needs it; where Maven Central "
        f"cannot be reached, name an Ivy settings file in {SETTINGS}\n" + "\n".join(said[-30:])
    )
