"""HBase's jars: found by Ivy, which comes with PySpark, and kept in a cache folder."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import tempfile
from pathlib import Path

MODULE = Path(__file__).with_name("ivy.xml")
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
            "PySpark is not installed, whose Ivy fetches HBase: pip install 'parquetry[spark]'"
        )
    return Path(pyspark.origin).parent / "jars"


def libraries() -> Path:
    """Return the folder of HBase's jars, fetched if need be (a minute or two).

    Raises:
        ArtifactsError: they could not be fetched.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "parquetry", "hbase")
    wanted = cache / hashlib.sha256(MODULE.read_bytes()).hexdigest()[:16]
    if wanted.is_dir():
        return wanted
    cache.mkdir(parents=True, exist_ok=True)
    print(f"Fetching HBase into {wanted} (once; 75 MB)", flush=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as folder:
        _fetch(Path(folder))
        try:
            os.rename(Path(folder, "jars"), wanted)
        except OSError:
            if not wanted.is_dir():  # otherwise another process was faster
                raise
    return wanted


def _fetch(folder: Path) -> None:
    command = [java(), "-cp", str(pyspark_jars() / "*"), "org.apache.ivy.Main"]
    if os.environ.get(SETTINGS):
        command += ["-settings", os.environ[SETTINGS]]
    command += [
        "-ivy",
        str(MODULE),
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
        "HBase could not be fetched from Maven Central, and what runs on HBase needs it; where Maven Central "
        f"cannot be reached, name an Ivy settings file in {SETTINGS}\n" + "\n".join(said[-30:])
    )
