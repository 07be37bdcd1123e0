"""Types that records of files are decoded by where only some columns' statistics are wanted; the rest is skipped.

A file of the type for the columns `id` and `day` has `columns.c0` and `columns.c1`: None, where it has no statistics of
the column, and `columns` is None where it has none at all.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from parquetry.layout.records import ColumnStatistics, DataFile
from parquetry.metastore.model import PartitionEntry
from parquetry.metastore.wire import RecordDecoder, look_at_types

_KEPT = 64
_NO_FIELD = re.compile(r'["\\\x00-\x1f]')
"""What msgspec takes in no field's name."""


def can_narrow(names: Iterable[str]) -> bool:
    """Return whether there can be a type for columns of these names."""
    return not any(map(_NO_FIELD.search, names))


@functools.lru_cache(_KEPT)
def lists_decoder(names: tuple[str, ...]) -> RecordDecoder:
    """Return the decoder of a list of lists of files, with the statistics of some columns, by their names in files."""
    with look_at_types:
        file = _file(names)
        return RecordDecoder(list[list[file]])  # type: ignore[valid-type]


@functools.lru_cache(_KEPT)
def entries_decoder(names: tuple[str, ...]) -> RecordDecoder:
    """Return the decoder of a list of entries of partitions, with such lists in place of `PartitionEntry.inline`."""
    with look_at_types:
        file = _file(names)
        types = [(each.name, each.type) for each in msgspec.structs.fields(PartitionEntry)]
        fields = [(name, list[file] if name == "inline" else type) for name, type in types]  # type: ignore[valid-type]
        entry: Any = msgspec.defstruct("PartitionEntry", fields, array_like=True, gc=False)
        return RecordDecoder(list[entry])


@functools.cache
def names_decoder() -> RecordDecoder:
    """Return the decoder of a list of lists of files, of which `columns` has the names of all, and nothing decoded."""
    with look_at_types:
        file = _file_with(dict[str, msgspec.Raw])
        return RecordDecoder(list[list[file]])  # type: ignore[valid-type]


def _file(names: tuple[str, ...]) -> Any:
    fields = [f"c{place}" for place in range(len(names))]
    columns = msgspec.defstruct(
        "Statistics",
        [(field, ColumnStatistics | None, None) for field in fields],
        rename=dict(zip(fields, names, strict=True)),
        gc=False,
    )
    return _file_with(columns)


def _file_with(columns: Any) -> Any:
    return msgspec.defstruct(
        "DataFile",
        [
            ("path", str),
            ("bytes", int),
            ("rows", int | None, None),
            ("modified", int | None, None),
            ("columns", columns | None, None),
            ("cell", int | None, None),
            ("bucket", int | None, None),
            ("sorted", bool, False),
            ("rest_of", int | None, None),
        ],
        namespace={"cell_number": DataFile.cell_number},
        array_like=True,
        gc=False,
    )
