"""A table with files of the size that users have, 128 MB each, which others wrote: made once, read in place.

The other tables are small, so that the demo is short, and so are their files. Here eight files have the
readings of 2,000 sensors, in the order of the sensors. They are made beside the load of the other tables, by
PyArrow, and Parquetry takes them in by `sync`.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from demo.lake import CATALOG, DATABASE, Lake
from demo.tables import row_count

TABLE = "readings"
_FILES = 8
_SENSORS_PER_FILE = 250
SENSORS = _FILES * _SENSORS_PER_FILE
"""Sensors of the table, each within one file."""
_READINGS_PER_SENSOR = 16_000
_VALUES = ("temperature", "humidity", "pressure", "voltage")
"""Columns of random numbers, eight bytes each, which no codec makes smaller."""
_COLUMNS = f"sensor INT, {', '.join(f'{value} DOUBLE' for value in _VALUES)}"


def rows(files: int = _FILES) -> int:
    """Return how many rows so many files have."""
    return files * _SENSORS_PER_FILE * _READINGS_PER_SENSOR


def make(folder: Path, files: int = _FILES) -> None:
    """Write the files into a folder, or use the folder that an earlier run has made.

    The folder appears whole or not at all, so an interrupted run leaves nothing half-made.
    """
    if folder.exists():
        return
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for number in range(files):
        first = number * _SENSORS_PER_FILE
        sensors = np.arange(first, first + _SENSORS_PER_FILE, dtype=np.int32)
        numbers = np.random.default_rng(number)
        columns = {value: numbers.random(rows(1)) for value in _VALUES}
        table = pa.table({"sensor": np.repeat(sensors, _READINGS_PER_SENSOR), **columns})
        name = unfinished / f"part-{number:05d}.parquet"
        pq.write_table(table, name, row_group_size=1_000_000, compression="none", use_dictionary=["sensor"])
    unfinished.rename(folder)


def adopt(spark: SparkSession, lake: Lake) -> None:
    """Create the table over the folder, and take in its files, if no earlier run has."""
    name = f"{CATALOG}.{DATABASE}.{TABLE}"
    if row_count(spark, name) == rows():
        return
    location = lake.readings.absolute().as_uri().replace("'", "\\'")
    logging.disable(logging.WARNING)  # the hint that the files are to be taken in, which comes next
    try:
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} ({_COLUMNS}) USING parquet LOCATION '{location}'")
    finally:
        logging.disable(logging.NOTSET)
    spark.sql(f"CALL {CATALOG}.system.sync(table => '{DATABASE}.{TABLE}')")
