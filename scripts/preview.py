"""Compile the bridge against the newest preview of Spark, and try a few tests on it.

A preview is a version of PySpark on PyPI, or of `spark-sql_2.13` on Maven Central, that is newer than all
series that the bridge supports. Where PyPI has it, the bridge is compiled with the sources of the newest
series, and the tests run in an environment of its own. Nothing depends on the result: it says early what the
next series will need. The exit code is 0 if there is no preview, or if all is well with it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

from parquetry.config import PREVIEW, SPARK_SERIES
from parquetry.errors import BridgeError
from parquetry.spark.bridge_jar import compile_to, jar_name

MAVEN = "https://repo1.maven.org/maven2/org/apache/spark/spark-sql_2.13/maven-metadata.xml"
TIMEOUT_S = 30.0
TESTS = ("tests/spark/runtime", "-m", "core", "-x", "-q", "-n", "0")
"""The arguments of pytest: a handful of tests of what the bridge takes from Spark's inner classes."""
NEWEST = next(iter(SPARK_SERIES))


def main() -> int:
    """Look for a preview, compile against it, run the tests, and say what came of it."""
    parser = argparse.ArgumentParser(prog="make preview", description=__doc__)
    parser.add_argument("--version", help="of PySpark, to try any other one")
    parser.add_argument("--folder", type=Path, default=Path("build/preview"), help="of the environment")
    arguments = parser.parse_args()
    found = arguments.version or newest(versions_on_pypi())
    if found is None:
        elsewhere = newest(versions_on_maven())
        print(f"PyPI has no PySpark newer than {NEWEST}; Maven Central has {elsewhere or 'none, either'}.")
        return 0
    print(f"Trying PySpark {found} with the sources of Spark {NEWEST}.", flush=True)
    folder = arguments.folder.absolute() / found
    os.environ[PREVIEW] = f"{found}={NEWEST}"
    python = environment(folder, found)
    package = next((folder / "lib").glob("python*/site-packages/pyspark"))
    jar = folder / jar_name(found)
    try:
        compile_to(jar, package, found)
    except BridgeError as error:
        print(f"The bridge of Spark {NEWEST} does not compile against {found}: {error.message}")
        return 1
    print(f"The bridge of Spark {NEWEST} compiles against {found}.", flush=True)
    return subprocess.run([python, "-m", "pytest", *TESTS], check=False).returncode


def environment(folder: Path, version: str) -> str:
    """Return the interpreter of an environment with a version of PySpark and the tests' other packages."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--group",
        "test",
    ]
    subprocess.run([*install, "--pre", f"pyspark=={version}", "-e", "."], check=True)
    return str(python)


def versions_on_pypi() -> list[str]:
    """Return the versions of PySpark that pip finds, with previews, or none if it finds no index."""
    command = [sys.executable, "-m", "pip", "index", "versions", "pyspark", "--pre"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    listed = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    return [] if listed is None else listed[1].split(", ")


def versions_on_maven() -> list[str]:
    """Return the versions of Spark on Maven Central, or none if it does not answer."""
    return re.findall(r"<version>([^<]+)</version>", _read(MAVEN) or "")


def newest(versions: list[str]) -> str | None:
    """Return the newest of some versions if it is of a later series than all supported ones.

    >>> newest(["4.0.0", "99.1.0.dev2", "99.1.0.dev10"])
    '99.1.0.dev10'
    >>> newest(["4.0.0"]) is None
    True
    """
    later = [version for version in versions if _numbers(version)[:2] > _numbers(NEWEST)[:2]]
    return max(later, key=_numbers, default=None)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _read(url: str) -> str | None:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            text: str = answer.read().decode()
    except OSError as error:
        print(f"{url} does not answer: {error}")
        return None
    return text


if __name__ == "__main__":
    sys.exit(main())
