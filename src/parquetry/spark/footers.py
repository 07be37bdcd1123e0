"""Statistics of data files: Parquet's by PyArrow, ORC's by the bridge."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec
from pyspark.sql import SparkSession

from parquetry.errors import FileCorruptError, FileMissingError
from parquetry.layout.location import open_location
from parquetry.layout.places import join_location
from parquetry.layout.statistics import from_bridge, read_footers
from parquetry.metastore.model import DataFile

_THREADS = 8
_BATCH = 256


def data_files(
    spark: SparkSession,
    file_format: str,
    location: str,
    paths: Sequence[str],
    progress: Callable[[int, int], None] | None = None,
) -> list[DataFile]:
    """Return what the footers of files say.

    Args:
        spark: whose JVM reads ORC.
        file_format: ``parquet`` or ``orc``.
        location: a folder, as Hadoop writes it.
        paths: relative to `location`; the records keep them.
        progress: called with the number of files read so far and of all.

    Returns:
        One record per path, in the same order.

    Raises:
        FileMissingError, FileCorruptError: for the first file that cannot be read.
    """
    if file_format == "parquet":
        filesystem, root = open_location(location)
        return read_footers(filesystem, paths, root=root, threads=_THREADS, progress=progress)
    door = spark._jvm.org.apache.spark.sql.parquetry.OrcStatistics
    files: list[DataFile] = []
    for start in range(0, len(paths), _BATCH):
        batch = paths[start : start + _BATCH]
        answers = json.loads(
            door.read(spark._jsparkSession, [join_location(location, path) for path in batch], _THREADS)
        )
        for path, answer in zip(batch, answers, strict=True):
            if "error" in answer:
                kind = FileMissingError if answer["missing"] else FileCorruptError
                raise kind(
                    f"The file '{answer['path']}' is not a whole ORC file that can be read: {answer['error']}. "
                    "Remove or restore it."
                )
            files.append(msgspec.structs.replace(from_bridge(answer), path=path))
        if progress is not None:
            progress(len(files), len(paths))
    return files
