"""Estimate how many distinct values a column of a Parquet file has, from the bytes of its dictionaries.

A dictionary lists each value of a row group once. The footer says where it begins and ends, so its
compressed bytes are known. Its plain bytes, divided by the bytes of a value, are the number of values:

| column                  | compressed | plain | values              |
|-------------------------|------------|-------|---------------------|
| 517 brands, of 16 bytes | 3,617      | 10,352 | 10,352 / 20 = 518  |
| 201 years, BIGINT       | 841        | 1,595  | 1,595 / 8 = 199    |
| 5 letters               | 45         | 25     | 25 / 5 = 5         |

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

from parquetry.data_files.footers.parquet_footer import Dictionary, ParquetFooter
from parquetry.data_files.footers.parquet_schema import SchemaNode
from parquetry.data_files.records import ColumnStatistics

_HEADER_BYTES = 20
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
    described, position = dict(columns), 0
    for node in footer.columns:
        statistics = columns.get(node.name)
        # of two columns of one name, no type is recorded
        if not node.nested and statistics is not None and statistics.stored is not None:
            distinct = _distinct(footer, node, position)
            if distinct is not None:
                described[node.name] = msgspec.structs.replace(statistics, distinct=distinct)
        position += node.leaves
    return described


def _distinct(footer: ParquetFooter, node: SchemaNode, position: int) -> int | None:
    """Return about how many distinct values a column has, or None if a row group has no dictionary of all."""
    numbers, rows = [], 0
    for dictionary in footer.dictionaries(position):
        number = None if dictionary is None else _listed_values(node, dictionary)
        if dictionary is None or number is None:
            return None
        values = dictionary.values - dictionary.nulls
        numbers.append(min(number, values))
        rows += values
    if not numbers or not rows:
        return None
    return max(numbers) if rows >= _MANY_ROWS_PER_VALUE * sum(numbers) else sum(numbers)


def _listed_values(node: SchemaNode, dictionary: Dictionary) -> int | None:
    """Return about how many values a dictionary lists, or None if the bytes of a value are unknown."""
    each: float | None = _BYTES_OF_VALUES.get(node.physical or "")
    if each is None and node.physical == "BYTE_ARRAY" and dictionary.bound_length is not None:
        each = _LENGTH_BYTES + dictionary.bound_length
    if each is None:
        return None
    size, data_size = dictionary.size, dictionary.chunk_size - dictionary.size
    shortest = size - _HEADER_BYTES
    longest = dictionary.plain_bytes - data_size - _HEADER_BYTES
    packed = _packed_values(dictionary, each)
    if packed is not None and packed * each >= _MIN_SHORTEST * shortest:
        return packed
    has_long_data = data_size > _LONG_DATA * size
    if has_long_data and dictionary.codec in _ENTROPY_CODECS:
        plain = shortest if shortest < _MIN_ENTROPY_BYTES else 2 * shortest
    elif has_long_data and shortest < _MIN_COMPRESSED_BYTES:
        plain = shortest
    else:
        plain = longest if shortest <= longest <= _MAX_COMPRESSION * shortest else shortest
    return max(1, round(plain / each))


def _packed_values(dictionary: Dictionary, each: float) -> int | None:
    """Return the number of values that fits plain bytes if data are packed; None if none fits, or many do.

    Many do if the dictionary has few of the bytes.
    """
    of_nulls = dictionary.values / _BITS_PER_BYTE if dictionary.nulls else 0.0
    rest = dictionary.plain_bytes - _PAGE_BYTES - of_nulls
    for bits in range(1, _MAX_BITS):
        in_dictionary = rest - dictionary.values * bits / _BITS_PER_BYTE
        if in_dictionary < _MIN_PART * dictionary.plain_bytes:
            return None
        values = round(in_dictionary / each)
        if 1 << (bits - 1) < values <= 1 << bits:
            return values
    return None
