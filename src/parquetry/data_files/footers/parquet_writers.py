"""How far the statistics of a Parquet file may be believed, by the writer that its footer names.

| trust    | what the statistics may do                                                      |
|----------|---------------------------------------------------------------------------------|
| UNKNOWN  | nothing: the writer is not known, or is known for wrong statistics               |
| BOUNDS   | leave the file out of a query; the bounds themselves may be values of no row     |
| EXACT    | also answer `min`, `max` and `count`, and prove that all rows match a condition  |

Spark's own reader leaves row groups out by the statistics of any writer, with the exceptions of
parquet-java's `CorruptStatistics`. This module believes less: a writer that is not in the list is not
believed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from parquetry.data_files.records import Trust

_VERSION = re.compile(r"version v?(\d+)(?:\.(\d+))?")


class ParquetWriter(NamedTuple):
    """The writer of a file, and how far it is believed.

    Attributes:
        trust: how far its statistics are believed.
        byte_arrays: how far its bounds of texts, binaries, and decimals in bytes are believed. If not at all,
            its NULL counts of such columns are not believed either.
        shortens: whether it may shorten the bounds of texts and binaries without saying so.
        bounds_nan: whether a column of floats has NaN as a bound if one of its values is NaN.
    """

    trust: Trust
    byte_arrays: Trust
    shortens: bool
    bounds_nan: bool = False


_NOT_BELIEVED = ParquetWriter(Trust.UNKNOWN, Trust.UNKNOWN, True)
_BOUNDS = ParquetWriter(Trust.BOUNDS, Trust.BOUNDS, True)
_EXACT = ParquetWriter(Trust.EXACT, Trust.EXACT, True)

_BELIEVED_IN_BOUNDS = (
    "parquet-mr", "parquet-cpp", "parquet-rs", "datafusion", "duckdb", "polars", "impala", "apache impala",
    "fastparquet", "trino", "presto", "parquet-go", "github.com/parquet-go", "cudf", "rapids", "clickhouse",
    "parquetsharp", "snowflake", "photon", "velox", "arrow2", "io.trino", "jvector", "delta-rs", "databricks",
)  # fmt: skip
"""How the names of known writers begin. All of them fill the fields that parquet-format 2.4 defines.

Two known writers are left out on purpose. Parquet.Net (also parquet-dotnet) shifts the bounds of timestamps
by the machine's time zone. Hyparquet shortens a text's maximum to less than the text.
"""


def parquet_writer(created_by: str) -> ParquetWriter:
    """Return how far a writer's statistics are believed.

    Args:
        created_by: the text in the footer.

    >>> parquet_writer("parquet-mr version 1.17.0 (build 0a1b)").trust.name
    'EXACT'
    >>> parquet_writer("parquet-mr version 1.8.2 (build c6)").trust.name
    'BOUNDS'
    >>> parquet_writer("my own writer").trust.name
    'UNKNOWN'
    """
    name = created_by.strip().lower()
    for begin, least, writer in _BY_VERSION:
        if name.startswith(begin):
            match = _VERSION.search(name)
            version = (int(match[1]), int(match[2] or 0)) if match else (0, 0)
            if version >= least:
                return writer
    return _BOUNDS if name.startswith(_BELIEVED_IN_BOUNDS) else _NOT_BELIEVED


_NO_BYTE_ARRAYS = ParquetWriter(Trust.BOUNDS, Trust.UNKNOWN, True)
_BY_VERSION = (
    # Since 1.10 it writes the fields of parquet-format 2.4. It shortens texts where
    # parquet.statistics.truncate.length says so, without a word in the file. It orders floats as Java's
    # `Double.compare` does, so NaN is the greatest.
    ("parquet-mr version ", (1, 10), _EXACT._replace(bounds_nan=True)),
    # Since Arrow 15 its decimals and unsigned numbers are known to be right. It leaves long texts out. From
    # Arrow 21 on it states what is exact, and may shorten.
    ("parquet-cpp-arrow version ", (15, 0), _EXACT._replace(shortens=False)),
    # Before Arrow 12, columns that are dictionaries in memory (a categorical of pandas) have the bounds of
    # their first batch (GH-15042, GH-34106). Before Arrow 6 they have no NULLs (ARROW-12513).
    ("parquet-cpp-arrow version ", (12, 0), _BOUNDS),
    ("parquet-cpp-arrow version ", (0, 0), _NO_BYTE_ARRAYS),
    # Before Arrow had its name in it, it compared decimals and texts as signed bytes (PARQUET-1655).
    ("parquet-cpp version ", (0, 0), _NO_BYTE_ARRAYS),
    # They say which bounds they have shortened.
    ("parquet-rs version ", (50, 0), _EXACT),
    ("duckdb version ", (1, 2), _EXACT),
)
"""How a writer's name begins, a version, and how far the writer is believed from this version on."""
