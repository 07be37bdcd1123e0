"""Texts that are not UTF-8. Spark keeps their bytes, as Arrow does; Polars crashes on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from parquetry.errors import UnsupportedError


def require_valid_texts(batches: Iterable[pa.RecordBatch], reader: str) -> Iterator[pa.RecordBatch]:
    """Yield batches whose texts are UTF-8.

    Args:
        batches: of rows.
        reader: what takes them, for the message.

    Raises:
        UnsupportedError: a text is not UTF-8; the message names the column.
    """
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if not all(map(_is_valid, _texts(column))):
                raise UnsupportedError(
                    f"Column {name} has a text that is not UTF-8, which {reader} cannot have: select other columns, "
                    "or read the column by to_arrow() and cast it to binary."
                )
        yield batch


def _texts(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the arrays of texts within an array."""
    kind = array.type
    if pa.types.is_string(kind):
        yield array
    elif pa.types.is_struct(kind):
        for child in array.flatten():
            yield from _texts(child)
    elif pa.types.is_map(kind):
        yield from _texts(array.keys)
        yield from _texts(array.items)
    elif pa.types.is_list(kind):
        yield from _texts(array.flatten())


def _is_valid(array: pa.Array) -> bool:
    """Return whether all texts of an array are UTF-8."""
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return True
    first, last = np.frombuffer(offsets, np.int32)[[array.offset, array.offset + len(array)]]
    if first == last or np.frombuffer(data, np.int8)[first:last].min() >= 0:  # ASCII, the quick answer
        return True
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
