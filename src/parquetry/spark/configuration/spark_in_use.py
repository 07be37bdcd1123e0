"""Find the version of Spark that settings are for, and the bridge's jar for it.

A wheel carries a jar for each series of Spark. The series is the one that the caller names, or that
SPARK_HOME has, or that is installed as PySpark, in this order.
"""

from __future__ import annotations

import os
import re
import runpy
from importlib.util import find_spec
from pathlib import Path

from parquetry._version import __version__
from parquetry.config import SPARK_SERIES, listed_series, series_of
from parquetry.errors import BridgeError, ConfigurationError

SPARK_HOME = "SPARK_HOME"

_JARS = Path(__file__).resolve().parents[1] / "jars"
_RELEASE = re.compile(r"Spark (\d\S*)")
_SPARK_CORE = re.compile(r"spark-core_[\d.]+-(.+)\.jar")


def version_of_home(home: Path) -> str | None:
    """Return the version of the Spark in a folder, by its file RELEASE or its jars, or None."""
    try:
        match = _RELEASE.match((home / "RELEASE").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        match = None
    if match is not None:
        return match[1]
    names = (_SPARK_CORE.fullmatch(path.name) for path in sorted(home.glob("jars/spark-core_*.jar")))
    return next((name[1] for name in names if name), None)


def installed_pyspark() -> tuple[str, Path] | None:
    """Return the version and the folder of the installed PySpark, or None. It is not imported."""
    try:
        spec = find_spec("pyspark")
    except ValueError:  # its import is blocked
        return None
    for folder in map(Path, (spec.submodule_search_locations or ()) if spec else ()):
        if (folder / "version.py").is_file():
            return str(runpy.run_path(str(folder / "version.py"))["__version__"]), folder
    return None


def version_in_use() -> str | None:
    """Return the version of the Spark that SPARK_HOME names, else of the installed PySpark, else None."""
    home = os.environ.get(SPARK_HOME)
    if home and (version := version_of_home(Path(home))):
        return version
    installed = installed_pyspark()
    return installed[0] if installed else None


def defaults_file() -> Path | None:
    """Return where the Spark in use looks for spark-defaults.conf, or None if there is no Spark."""
    if folder := os.environ.get("SPARK_CONF_DIR"):
        return Path(folder) / "spark-defaults.conf"
    home = os.environ.get(SPARK_HOME)
    if not home:
        installed = installed_pyspark()
        home = str(installed[1]) if installed else None
    return Path(home) / "conf" / "spark-defaults.conf" if home else None


def jar_for(spark: str) -> Path:
    """Return the bridge's jar for a version of Spark. For the installed PySpark, it is compiled if need be.

    Args:
        spark: a version or a series, such as ``4.1.4`` or ``4.1``.

    Raises:
        ConfigurationError: Parquetry has no bridge for this version.
        BridgeError: this install carries no jar for it.
    """
    series = series_of(f"{spark}.")
    if series is None:
        raise ConfigurationError(
            f"Parquetry {__version__} does not work with Spark {spark!r}: name one of {listed_series()}."
        )
    installed = installed_pyspark()
    if installed and series_of(installed[0]) == series:
        from parquetry.spark import bridge_jar

        return bridge_jar.jar()
    carried = sorted(_JARS.glob(f"parquetry-bridge-{__version__}-spark-{series}.*.jar"))
    if carried:
        return carried[-1]
    has = [each for each in SPARK_SERIES if list(_JARS.glob(f"*-spark-{each}.*.jar"))]
    raise BridgeError(
        f"This install of Parquetry carries no jar for Spark {series} ({'it has ' + ', '.join(has) if has else 'it has none'}): install "
        f"Parquetry's wheel, which has one for each series, or pip install 'pyspark=={series}.*' beside it, for which one is compiled."
    )
