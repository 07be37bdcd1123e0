"""Bytes: how many of the kept files are read, when only some columns are.

Sizes come from the files' statistics; the readers' own pruning within a file is not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from parquetry.layout.file_columns import UNKNOWN, FileColumns
from parquetry.metastore.model import Column
from parquetry.prune.rule import Left, Rule, Scan
from parquetry.prune.scan_report import BYTES, Step


class BytesRule(Rule):
    """From the bytes of the kept files to the bytes of the columns read."""

    name = "bytes"
    unit = BYTES
    kept_text = "bytes of the columns read"
    of_text = "bytes of the files read"

    def statistics(self, scan: Scan) -> Iterable[str]:
        """Return the columns that are read, unless all are."""
        kept = _read(scan)
        return () if kept is None else [column.name for column in kept]

    def narrow(self, scan: Scan, left: Left) -> tuple[Left, Step | None]:
        """Count the bytes; what they are of stays as it is."""
        kept = _read(scan)
        if left.blocks is None and kept is None:
            of = sum(partition.bytes for partition in left.partitions)
            return replace(left, bytes=of), Step(self.name, of, of, unit=self.unit)
        blocks = left.held(scan, [column.physical for column in kept or ()])
        of = sum(int(block.files.bytes.sum()) for block in blocks)
        if kept is None:
            return replace(left, blocks=blocks, bytes=of), Step(self.name, of, of, unit=self.unit)
        physical = {column.physical.lower() for column in kept}
        size = sum(_size(block.files, physical) for block in blocks)
        by = tuple(column.name for column in kept) if size < of else ()
        return replace(left, blocks=blocks, bytes=size), Step(self.name, size, of, by, unit=self.unit)

    def unread(self, step: Step) -> Step:
        """Return the step of a scan whose files all stayed closed."""
        return replace(step, kept=0, of=0, by=())


def _read(scan: Scan) -> list[Column] | None:
    """Return the data columns that are read; None: all."""
    if scan.read is None:
        return None
    wanted = {name.lower() for name in scan.read}
    columns = scan.snapshot.metadata.data_columns
    kept = [column for column in columns if column.name.lower() in wanted]
    return None if len(kept) == len(columns) else kept


def _size(files: FileColumns, physical: Collection[str]) -> int:
    """Return how many bytes of files are those of some columns; all of a file that does not say."""
    size = np.zeros(files.count, np.int64)
    unknown = ~files.with_entries()
    for name in files.names if physical else ():
        if name.lower() in physical and (found := files.statistics(name)) is not None:
            unknown |= found.there & (found.size == UNKNOWN)
            size += np.where(found.there & (found.size != UNKNOWN), found.size, 0)
    return int(np.where(unknown, files.bytes, np.minimum(size, files.bytes)).sum())
