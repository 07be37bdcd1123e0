"""Divide the rows of many files into parts by a hash, in files of a temporary folder.

Equal rows have equal hashes, so they are in one part, and the parts are compared one by one. Memory then
holds a part instead of all rows. Each row is written and read once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from parquetry.errors import UnsupportedError
from parquetry.hashing import HashType, bucket_ids

_MAX_HASHED_COLUMNS = 8
"""Columns that are hashed, at most: a few tell rows apart as well as all."""


def hashed_positions(schema: pa.Schema, positions: Sequence[int]) -> list[int]:
    """Return the positions of some columns that can be hashed, from given ones."""
    found = []
    for position in positions:
        kind = schema.field(position).type
        try:
            HashType.from_arrow(kind)
        except UnsupportedError:
            continue
        if not pa.types.is_nested(kind):
            found.append(position)
    return found[:_MAX_HASHED_COLUMNS]


def divided(
    sides: Sequence[Iterable[pa.RecordBatch]], schema: pa.Schema, positions: Sequence[int], parts: int
) -> Iterator[list[pa.Table]]:
    """Yield the rows of several sides, part by part.

    Args:
        sides: the rows of each.
        schema: of all rows.
        positions: of the columns to hash, at least one.
        parts: their number.
    """
    with tempfile.TemporaryDirectory(prefix="parquetry-changes-") as folder:
        for number, batches in enumerate(sides):
            _write(batches, schema, positions, [Path(folder) / f"{number}-{part}" for part in range(parts)])
        for part in range(parts):
            yield [_read(Path(folder) / f"{number}-{part}") for number in range(len(sides))]


def _write(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, positions: Sequence[int], paths: Sequence[Path]
) -> None:
    writers = [pa.ipc.new_stream(str(path), schema) for path in paths]
    try:
        for batch in batches:
            hashed = bucket_ids("spark", len(paths), [batch.column(position) for position in positions])
            order = np.argsort(hashed, kind="stable")
            ends = np.searchsorted(hashed[order], np.arange(len(paths) + 1))
            sorted_rows = batch.take(pa.array(order))
            for writer, start, end in zip(writers, ends, ends[1:], strict=False):
                if start < end:
                    writer.write_batch(sorted_rows.slice(start, end - start))
    finally:
        for writer in writers:
            writer.close()


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as source:
        return pa.ipc.open_stream(source).read_all()
