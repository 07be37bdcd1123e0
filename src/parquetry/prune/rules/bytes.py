"""Count the bytes to read, of all bytes of the table: of the kept files, the columns that are read.

The head of the table has its size, so counting lists nothing. Sizes of columns come from the files'
statistics. Readers may skip more within a file; that is not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
import numpy as np
from msgspec.structs import replace

from parquetry.data_files import UNKNOWN, FileColumns, TableColumn, in_all_spellings
from parquetry.prune.report.scan import BYTES_UNIT, Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule


class BytesRule(Rule):
    """Counts the bytes of the kept files, and the bytes of the columns to read in them."""

    name = "bytes"
    unit = BYTES_UNIT
    kept_text = "bytes of the columns read"
    of_text = "bytes of the table"

    def statistics(self, scan: PruningRequest) -> Iterable[str]:
        """Return the columns to read, or none if all are read."""
        kept = _read(scan)
        return () if kept is None else [column.name for column in kept]

    def narrow(self, scan: PruningRequest, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Count the bytes; the files stay the same."""
        kept = _read(scan)
        if remaining.blocks is None and kept is None:
            size = sum(partition.bytes for partition in remaining.partitions)
            return replace(remaining, bytes=size), _step(scan, size)
        names = [column.physical for column in kept or ()]
        wanted = None if scan.projected is None else scan.projected | set(names)
        blocks, whole, size = [], 0, 0
        for block in remaining.files(scan, wanted):
            projected = block if remaining.blocks is not None else block.project(None, scan.projected)
            blocks.append(projected)
            whole += int(projected.files.bytes.sum())
            if kept is not None:
                size += _size(block.files if names else projected.files, names)
        if kept is None or size >= whole:
            return replace(remaining, blocks=blocks, bytes=whole), _step(scan, whole)
        by = tuple(column.name for column in kept)
        return replace(remaining, blocks=blocks, bytes=size), _step(scan, size, by, whole)

    def unread(self, step: Step) -> Step:
        """Return the step of a scan that opened no file."""
        return msgspec.structs.replace(step, kept=0, by=(), whole=None)


def _step(scan: PruningRequest, size: int, by: tuple[str, ...] = (), whole: int | None = None) -> Step:
    """Return the step of the report.

    Args:
        scan: the request.
        size: the bytes to read.
        by: the columns to read if they are not all.
        whole: the bytes of the files with all columns, or None if all columns are read.
    """
    of = scan.snapshot.totals.bytes
    return Step(BytesRule.name, size, of, by, unit=BytesRule.unit, whole=whole)


def _read(scan: PruningRequest) -> list[TableColumn] | None:
    """Return the data columns to read, or None for all."""
    if scan.read is None:
        return None
    wanted = {name.lower() for name in scan.read}
    columns = scan.snapshot.metadata.data_columns
    kept = [column for column in columns if column.name.lower() in wanted]
    return None if len(kept) == len(columns) else kept


def _size(files: FileColumns, physical: Collection[str]) -> int:
    """Return the bytes of some columns in files; a file without column sizes counts whole."""
    size = np.zeros(files.count, np.int64)
    unknown = ~files.with_entries()
    for found in in_all_spellings(files, physical).values():
        unknown |= found.there & (found.size == UNKNOWN)
        size += np.where(found.there & (found.size != UNKNOWN), found.size, 0)
    return int(np.where(unknown, files.bytes, np.minimum(size, files.bytes)).sum())
