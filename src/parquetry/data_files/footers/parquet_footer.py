"""A Parquet footer as the file states it: the schema's tree, and what each row group says of each column.

This module judges nothing: `parquet_statistics` decides what is believed. The numbers of fields are in
`parquet.thrift`, in the repository apache/parquet-format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from parquetry.data_files.footers.parquet_schema import SchemaNode, find_schema, number, read_schema, text
from parquetry.data_files.footers.thrift import Struct, decode_struct

MAGIC, ENCRYPTED_MAGIC = b"PAR1", b"PARE"
LENGTH_AND_MAGIC_BYTES = 8
"""The end of a file: the footer's length in four bytes, and a magic number."""


class Dictionary(NamedTuple):
    """The dictionary of a column of values in one row group, which lists each value once.

    Attributes:
        size: compressed bytes of the dictionary and its header.
        chunk_size: compressed bytes of the dictionary and the data.
        plain_bytes: the same bytes before they were compressed.
        values: number of values, NULLs included.
        nulls: number of NULLs; 0 if it is not stated.
        bound_length: the mean bytes of the least and the greatest value, or None.
        codec: see `Chunk`.
    """

    size: int
    chunk_size: int
    plain_bytes: int
    values: int
    nulls: int
    bound_length: float | None
    codec: int | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One column of values in one row group, as the footer describes it.

    Attributes:
        values: number of values, NULLs included, or None if it is not stated.
        size: compressed bytes, or None.
        nulls: number of NULLs, or None.
        min: the least value as bytes, or None. From the deprecated fields if `deprecated`.
        max: the greatest value, likewise.
        deprecated: whether `min` and `max` are the fields of before 2017, whose order depends on the writer.
        min_exact: whether `min` occurs, or None if the file does not say.
        max_exact: whether `max` occurs, likewise.
        encrypted: whether the column is encrypted.
        codec: Parquet's number of the codec, or None if it is not stated.
    """

    values: int | None
    size: int | None
    nulls: int | None
    min: bytes | None
    max: bytes | None
    deprecated: bool
    min_exact: bool | None
    max_exact: bool | None
    encrypted: bool
    codec: int | None


@dataclass(frozen=True)
class ParquetFooter:
    """A Parquet file's footer.

    Attributes:
        columns: the top-level columns.
        created_by: the writer's name and version; empty if it is not stated.
        metadata: the file's own keys and values.
        encrypted: whether the footer itself is encrypted. Nothing else is known then.
    """

    columns: tuple[SchemaNode, ...]
    created_by: str
    metadata: Mapping[bytes, bytes]
    encrypted: bool
    _stated_rows: int | None
    _groups: Sequence[Struct]
    _orders: Sequence[Any] | None

    @classmethod
    def parse(cls, data: bytes) -> ParquetFooter:
        """Read a footer.

        Args:
            data: the footer's Thrift, without the length and the magic number.

        Raises:
            ValueError: the bytes are no footer.
        """
        known = find_schema(data)
        footer, _ = decode_struct(data, None if known is None else known.beginning)
        try:
            return cls(
                columns=(
                    known.columns
                    if known is not None and footer[2] is known.elements
                    else read_schema(footer[2])
                ),
                created_by=text(footer.get(6, b"")),
                metadata={pair[1]: pair.get(2, b"") for pair in _structs(footer.get(5, ()))},
                encrypted=False,
                _stated_rows=number(footer.get(3)),
                _groups=_structs(footer.get(4, ())),
                _orders=footer.get(7),
            )
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"the footer is not that of a Parquet file ({error!r})") from error

    @classmethod
    def of_encrypted(cls) -> ParquetFooter:
        """Return what is known of a file whose footer is encrypted: nothing."""
        return cls((), "", {}, True, None, (), None)

    @property
    def has_encrypted_columns(self) -> bool:
        """Whether readers need keys for the file, or for some of its columns."""
        chunks = (group.get(1, ()) for group in self._groups)
        return self.encrypted or any(
            isinstance(chunk, dict) and (8 in chunk or 9 in chunk)
            for some in chunks
            if isinstance(some, (list, tuple))
            for chunk in some
        )

    @property
    def row_groups(self) -> int:
        """Return the number of row groups."""
        return len(self._groups)

    @cached_property
    def group_rows(self) -> list[int | None]:
        """Return the number of rows of each row group, or None where it is not stated."""
        return [number(group.get(3)) for group in self._groups]

    @cached_property
    def rows(self) -> int | None:
        """Return the number of rows, or None if the footer contradicts itself.

        Spark reads the rows of the row groups. Some writers state another number for the file.
        """
        counts = self.group_rows
        if self.encrypted or any(count is None or count < 0 for count in counts):
            return None
        total = sum(count for count in counts if count is not None)
        return total if total == self._stated_rows else None

    def by_row_group(self) -> list[ParquetFooter]:
        """Return a footer for each row group, as if the group were a file."""
        return [
            replace(self, _stated_rows=rows, _groups=[group])
            for group, rows in zip(self._groups, self.group_rows, strict=True)
        ]

    @property
    def leaves(self) -> int:
        """Return the number of columns of values."""
        return sum(column.leaves for column in self.columns)

    def is_ordered(self, leaf: int) -> bool:
        """Whether the bounds of a column of values follow the order that its type defines.

        Files without the list of orders are old. Their readers decide by the kind of the statistics.
        """
        if self._orders is None:
            return True
        order = self._orders[leaf] if isinstance(self._orders, list) and leaf < len(self._orders) else None
        return isinstance(order, dict) and 1 in order

    def chunks(self, leaf: int) -> Iterator[Chunk | None]:
        """Yield what each row group says of a column of values, or None for a group that lacks it."""
        for group in self._groups:
            chunks = group.get(1, ())
            yield _chunk(chunks[leaf]) if leaf < len(chunks) and isinstance(chunks[leaf], dict) else None

    def dictionaries(self, leaf: int) -> Iterator[Dictionary | None]:
        """Yield the dictionary of a column in each row group, or None if it does not have all values."""
        for group in self._groups:
            chunks = group.get(1, ())
            yield _dictionary(chunks[leaf]) if leaf < len(chunks) and isinstance(chunks[leaf], dict) else None


def _chunk(column: Struct) -> Chunk:
    about = column.get(3)
    about = about if isinstance(about, dict) else {}
    stated = about.get(12)
    stated = stated if isinstance(stated, dict) else {}
    deprecated = not (5 in stated and 6 in stated)
    least, greatest = (stated.get(2), stated.get(1)) if deprecated else (stated.get(6), stated.get(5))
    known = isinstance(least, bytes) and isinstance(greatest, bytes)
    return Chunk(
        values=number(about.get(5)),
        size=number(about.get(7)),
        nulls=number(stated.get(3)),
        min=least if known else None,
        max=greatest if known else None,
        deprecated=deprecated,
        min_exact=_flag(stated.get(8)) if not deprecated else None,
        max_exact=_flag(stated.get(7)) if not deprecated else None,
        encrypted=8 in column or 9 in column,
        codec=number(about.get(4)),
    )


_PLAIN, _PLAIN_DICTIONARY, _RLE_DICTIONARY = 0, 2, 8
"""Parquet's numbers of encodings. An older dictionary and its data have the same number."""
_DATA_PAGES = (0, 3)
"""Parquet's numbers of pages with data."""


def _dictionary(column: Struct) -> Dictionary | None:
    """Return the dictionary of a chunk, or None if it has none, or some of its data may be without."""
    about = column.get(3)
    if not isinstance(about, dict):
        return None
    start, data = number(about.get(11)), number(about.get(9))
    if start is None or data is None or not 0 < start < data:
        return None
    pages, encodings = about.get(13), about.get(2)
    if isinstance(pages, (list, tuple)) and pages:
        used = [page.get(2) for page in _structs(pages) if page.get(1) in _DATA_PAGES]
        if any(encoding not in (_PLAIN_DICTIONARY, _RLE_DICTIONARY) for encoding in used):
            return None
    elif not isinstance(encodings, (list, tuple)) or _PLAIN in encodings:
        return None
    chunk_size, plain, values = number(about.get(7)), number(about.get(6)), number(about.get(5))
    if chunk_size is None or plain is None or values is None:
        return None
    stated = about.get(12)
    stated = stated if isinstance(stated, dict) else {}
    least, greatest = stated.get(6, stated.get(2)), stated.get(5, stated.get(1))
    length = (
        (len(least) + len(greatest)) / 2 if isinstance(least, bytes) and isinstance(greatest, bytes) else None
    )
    nulls = number(stated.get(3)) or 0
    return Dictionary(data - start, chunk_size, plain, values, nulls, length, number(about.get(4)))


def _flag(value: Any) -> bool | None:
    """Return a flag, or None if it is not stated. One of another type is damaged, and false."""
    return value if value is None or isinstance(value, bool) else False


def _structs(values: Any) -> Sequence[Struct]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, dict) for value in values):
        raise ValueError("the footer has a list of other values than expected")
    return values
