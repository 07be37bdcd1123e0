"""How many bytes of the kept files are read, when only some columns are.

Sizes come from the files' statistics; the readers' own pruning within a file is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.metastore.model import DataFile, TableMetadata
from parquetry.prune.report import Step


def bytes_step(metadata: TableMetadata, files: Sequence[DataFile], read: Sequence[str] | None) -> Step:
    """Return the step from the bytes of the kept files to the bytes of the columns read.

    Args:
        metadata: the table's.
        files: the kept files.
        read: the columns read, partition columns too; None for all.
    """
    of = sum(file.bytes for file in files)
    if read is None:
        return Step("bytes", of, of)
    wanted = {name.lower() for name in read}
    kept = [column for column in metadata.data_columns if column.name.lower() in wanted]
    if len(kept) == len(metadata.data_columns):
        return Step("bytes", of, of)
    physical = {column.physical.lower() for column in kept}
    size = sum(_size(file, physical) for file in files)
    return Step("bytes", size, of, tuple(column.name for column in kept) if size < of else ())


def _size(file: DataFile, physical: set[str]) -> int:
    if not file.columns:
        return file.bytes
    total = 0
    for name, statistics in file.columns.items():
        if name.lower() in physical:
            if statistics.size is None:
                return file.bytes
            total += statistics.size
    return min(total, file.bytes)
