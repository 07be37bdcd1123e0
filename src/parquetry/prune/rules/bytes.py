"""Count the bytes to read of the kept files, when only some columns are read.

Sizes come from the files' statistics. Readers may skip more within a file; that is not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import msgspec
import numpy as np

from parquetry.data_files import UNKNOWN, FileColumns, TableColumn, in_all_spellings
from parquetry.prune.report import BYTES_UNIT, Step
from parquetry.prune.rule import Remaining, Rule, Scan


class BytesRule(Rule):
    """Counts the bytes of the kept files, and the bytes of the columns to read in them."""

    name = "bytes"
    unit = BYTES_UNIT
    kept_text = "bytes of the columns read"
    of_text = "bytes of the files read"

    def statistics(self, scan: Scan) -> Iterable[str]:
        """Return the columns to read, or none if all are read."""
        kept = _read(scan)
        return () if kept is None else [column.name for column in kept]

    def narrow(self, scan: Scan, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Count the bytes; the files stay the same."""
        kept = _read(scan)
        if remaining.blocks is None and kept is None:
            of = sum(partition.bytes for partition in remaining.partitions)
            return replace(remaining, bytes=of), Step(self.name, of, of, unit=self.unit)
        names = [column.physical for column in kept or ()]
        wanted = None if scan.projected is None else scan.projected | set(names)
        blocks, of, size = [], 0, 0
        for block in remaining.files(scan, wanted):
            projected = block if remaining.blocks is not None else block.project(None, scan.projected)
            blocks.append(projected)
            of += int(projected.files.bytes.sum())
            if kept is not None:
                size += _size(block.files if names else projected.files, names)
        remaining = replace(remaining, blocks=blocks, bytes=of if kept is None else size)
        by = tuple(column.name for column in kept or ()) if remaining.bytes < of else ()
        return remaining, Step(self.name, remaining.bytes, of, by, unit=self.unit)

    def unread(self, step: Step) -> Step:
        """Return the step of a scan that opened no file."""
        return msgspec.structs.replace(step, kept=0, of=0, by=())


def _read(scan: Scan) -> list[TableColumn] | None:
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
