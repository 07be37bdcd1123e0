"""Estimate how many distinct values a column of a Parquet file has, from the bytes of its dictionaries.

A dictionary lists each value of a row group once. The footer says where it begins and ends, so its
compressed bytes are known. Its plain bytes, divided by the bytes of a value, are the number of values:

| column                  | compressed | plain | values              |
|-------------------------|------------|-------|---------------------|
| 517 brands, of 16 bytes | 3,617      | 10,355 | 10,355 / 20 = 518  |
| 201 years, BIGINT       | 841        | 1,598  | 1,598 / 8 = 200    |
| 5 letters               | 45         | 28     | 28 / 5 = 6         |

The footer states the plain bytes of dictionary and data together. Data are numbers of values in the
dictionary: of 10,000 rows and 517 values, 10 bits a row. So the bytes tell the values if many of them are
the dictionary's. Equal numbers that follow each other take less room, and then no number of values fits.

Data of few bits compress little. So what compression has saved, it has saved of the dictionary. If this
would shrink a dictionary to less than a quarter, the data were compressed, too, and the dictionary counts as
not compressed. So does a dictionary of few bytes. Gzip and Zstandard always save something of the data. If
data are long, a dictionary counts as compressed by half.

A writer abandons a dictionary that grows too large. The number is unknown then, and large.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from parquetry.data_files.footers.parquet_footer import Chunk, ParquetFooter
from parquetry.data_files.footers.parquet_leaves import Leaf, top_level
from parquetry.data_files.records import ColumnStatistics

_HEADER_BYTES = 17
"""Bytes of a dictionary page before its values: Thrift's header of the page, and the codec's own."""
_MIN_COMPRESSED_BYTES = 200
"""Snappy and LZ4 save little of dictionaries with fewer bytes."""
_MIN_ENTROPY_BYTES = 60
"""Gzip and Zstandard save little of dictionaries with fewer bytes."""
_MAX_COMPRESSION = 4
"""How many times as long a dictionary is at most before it is compressed."""
_ENTROPY_CODECS = (2, 4, 6)
"""Parquet's numbers of gzip, Brotli and Zstandard, which compress numbers of few bits, too."""
_LONG_DATA = 4
"""How many times as long as the dictionary the data are, so that what they save counts."""
_BYTES_OF_VALUES = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_LENGTH_BYTES = 4
"""Bytes of a text's length, before the text."""
_BITS_PER_BYTE = 8
_MAX_BITS = 32
"""Bits of a number of a value in a dictionary."""
_PAGE_BYTES = 60
"""Bytes of the headers of a dictionary and of a page of data."""
_MIN_PART = 0.2
"""The least part of the plain bytes that is a dictionary's, so that the rest may be off by some per cent."""
_MIN_SHORTEST = 0.9
"""A dictionary is no shorter than its compressed bytes, but for some of the headers."""
_MANY_ROWS_PER_VALUE = 100
"""If a value has so many rows in a row group, the other row groups have the same values."""


def with_distinct_values(
    footer: ParquetFooter, columns: Mapping[str, ColumnStatistics]
) -> dict[str, ColumnStatistics]:
    """Return statistics of a file's columns with the numbers of distinct values that dictionaries tell."""
    numbers = {leaf.node.name: _distinct(footer, leaf) for leaf in top_level(footer) if not leaf.node.nested}
    return {
        name: statistics
        if (distinct := numbers.get(name)) is None or statistics.stored is None  # two columns of one name
        else msgspec.structs.replace(statistics, distinct=distinct)
        for name, statistics in columns.items()
    }


def _distinct(footer: ParquetFooter, leaf: Leaf) -> int | None:
    """Return about how many distinct values a column has, or None if a row group has no dictionary of all."""
    numbers, rows = [], 0
    for chunk in footer.chunks(leaf.position):
        number = None if chunk is None else _in_dictionary(leaf, chunk)
        if chunk is None or number is None:
            return None
        values = (chunk.values or 0) - (chunk.nulls or 0)
        numbers.append(min(number, values))
        rows += values
    if not numbers or not rows:
        return None
    return max(numbers) if rows >= _MANY_ROWS_PER_VALUE * sum(numbers) else sum(numbers)


def _in_dictionary(leaf: Leaf, chunk: Chunk) -> int | None:
    """Return about how many values a dictionary lists, or None if there is none, or other values exist."""
    dictionary = chunk.dictionary
    each = _BYTES_OF_VALUES.get(leaf.node.physical or "") or _text_bytes(leaf, chunk)
    if dictionary is None or each is None or dictionary.plain_bytes is None or chunk.size is None:
        return None
    shortest = dictionary.size - _HEADER_BYTES
    longest = dictionary.plain_bytes - (chunk.size - dictionary.size) - _HEADER_BYTES
    packed = _packed_values(chunk, dictionary.plain_bytes, each)
    if packed is not None and packed * each >= _MIN_SHORTEST * shortest:
        return packed
    has_long_data = chunk.size - dictionary.size > _LONG_DATA * dictionary.size
    if has_long_data and chunk.codec in _ENTROPY_CODECS:
        plain = shortest if shortest < _MIN_ENTROPY_BYTES else 2 * shortest
    elif has_long_data and shortest < _MIN_COMPRESSED_BYTES:
        plain = shortest
    else:
        plain = longest if shortest <= longest <= _MAX_COMPRESSION * shortest else shortest
    return max(1, round(plain / each))


def _packed_values(chunk: Chunk, plain_bytes: int, each: float) -> int | None:
    """Return the number of values that fits plain bytes if data are packed; None if none fits, or many do.

    Many do if the dictionary has few of the bytes.
    """
    rows = chunk.values or 0
    of_nulls = rows / _BITS_PER_BYTE if chunk.nulls else 0.0
    for bits in range(1, _MAX_BITS):
        in_dictionary = plain_bytes - _PAGE_BYTES - of_nulls - rows * bits / _BITS_PER_BYTE
        if in_dictionary < _MIN_PART * plain_bytes:
            return None
        values = round(in_dictionary / each)
        if 1 << (bits - 1) < values <= 1 << bits:
            return values
    return None


def _text_bytes(leaf: Leaf, chunk: Chunk) -> float | None:
    """Return the mean bytes of a text in a dictionary, by the lengths of the least and the greatest one."""
    if leaf.node.physical != "BYTE_ARRAY" or chunk.min is None or chunk.max is None:
        return None
    return _LENGTH_BYTES + (len(chunk.min) + len(chunk.max)) / 2
