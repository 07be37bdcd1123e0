"""How many bytes of the kept files are read, when only some columns are.

Sizes come from the files' statistics; the readers' own pruning within a file is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

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
    spelled: dict[tuple[str, ...], list[str]] = {}  # most files have the same columns
    size = 0
    for file in files:
        present = tuple(file.columns or ())
        names = spelled.get(present)
        if names is None:
            names = spelled[present] = [name for name in present if name.lower() in physical]
        size += _size(file, names)
    return Step("bytes", size, of, tuple(column.name for column in kept) if size < of else ())


def _size(file: DataFile, names: Sequence[str]) -> int:
    if not file.columns:
        return file.bytes
    sizes = [file.columns[name].size for name in names]
    if None in sizes:
        return file.bytes
    return min(sum(cast(list[int], sizes)), file.bytes)
