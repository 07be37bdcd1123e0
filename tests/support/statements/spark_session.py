"""A session of Spark that runs records, and restores the settings that they change."""

from __future__ import annotations

import re

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import DecimalType, DoubleType, FloatType, IntegralType

from parquetry.config import SPARK_SERIES, series_of
from tests.support.spark import series
from tests.support.statements.records import label_of
from tests.support.statements.running import Answer, EngineError

_LAZY = re.compile(r"\s*(?:\(|(?:SELECT|WITH|VALUES|FROM|TABLE)\b)", re.I)
"""Statements that do nothing until their rows are fetched."""
_SETTING = re.compile(r"\s*(?:SET|RESET)\s+(spark\.[\w.-]+)", re.I)


class SparkRecords:
    """Runs statements on a session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._settings: dict[str, str | None] = {}

    def run(self, sql: str, *, fetch: bool) -> Answer:
        """Run a statement; see `running.Session`."""
        if match := _SETTING.match(sql):
            self._settings.setdefault(match[1], self._spark.conf.get(match[1], None))
        try:
            frame = self._spark.sql(sql)
            rows = frame.collect() if fetch or _LAZY.match(sql) else []
        except (PySparkException, Py4JJavaError) as error:
            raise EngineError(str(error)) from error
        return Answer("".join(map(_kind, frame.schema)) if fetch else "", rows)

    def restore(self) -> None:
        """Set the settings that statements have changed to their former values."""
        for name, value in self._settings.items():
            if value is None:
                self._spark.conf.unset(name)
            else:
                self._spark.conf.set(name, value)


def _kind(column: object) -> str:
    type_ = column.dataType  # type: ignore[attr-defined]
    if isinstance(type_, IntegralType):
        return "I"
    return "R" if isinstance(type_, FloatType | DoubleType | DecimalType) else "T"


def labels() -> set[str]:
    """Return the labels of the installed Spark, for `onlyif` and `skipif`.

    These are `spark`, its series (`spark-4.1`), and each feature of `config/spark_versions.py` that it has.
    """
    features = {missing.feature for lacking in SPARK_SERIES.values() for missing in lacking}
    return {
        "spark",
        f"spark-{series_of(pyspark.__version__)}",
        *(label_of(feature) for feature in features if series.has(feature)),
    }
