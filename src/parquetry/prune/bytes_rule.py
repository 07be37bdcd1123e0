"""Bytes: how many of the kept files are read, when only some columns are.

Sizes come from the files' statistics; the readers' own pruning within a file is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from parquetry.metastore.model import DataFile, TableMetadata
from parquetry.prune.rule import Left, Rule, Scan
from parquetry.prune.scan_report import BYTES, Step


class BytesRule(Rule):
    """From the bytes of the kept files to the bytes of the columns read."""

    name = "bytes"
    unit = BYTES
    kept_text = "bytes of the columns read"
    of_text = "bytes of the files read"

    def narrow(self, scan: Scan, left: Left) -> tuple[Left, Step | None]:
        """Count the bytes; what they are of stays as it is."""
        step = self._step(
            scan.snapshot.metadata, [file for part in left.parts for file in part.files], scan.read
        )
        return replace(left, bytes=step.kept), step

    def unread(self, step: Step) -> Step:
        """Return the step of a scan whose files all stayed closed."""
        return replace(step, kept=0, of=0, by=())

    def _step(self, metadata: TableMetadata, files: Sequence[DataFile], read: Sequence[str] | None) -> Step:
        of = sum(file.bytes for file in files)
        wanted = None if read is None else {name.lower() for name in read}
        kept = [column for column in metadata.data_columns if wanted is None or column.name.lower() in wanted]
        if len(kept) == len(metadata.data_columns):
            return Step(self.name, of, of, unit=self.unit)
        physical = {column.physical.lower() for column in kept}
        spelled: dict[tuple[str, ...], list[str]] = {}  # most files have the same columns
        size = 0
        for file in files:
            present = tuple(file.columns or ())
            names = spelled.get(present)
            if names is None:
                names = spelled[present] = [name for name in present if name.lower() in physical]
            size += _size(file, names)
        by = tuple(column.name for column in kept) if size < of else ()
        return Step(self.name, size, of, by, unit=self.unit)


def _size(file: DataFile, names: Sequence[str]) -> int:
    if not file.columns:
        return file.bytes
    sizes = [file.columns[name].size for name in names]
    if None in sizes:
        return file.bytes
    return min(sum(cast(list[int], sizes)), file.bytes)
