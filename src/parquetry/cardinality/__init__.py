"""Estimate the rows of selected files, and the values of their columns, from what the metastore has of files.

- `columns` has the least and greatest value, the NULLs, the lengths and the distinct values of a column.
- `distinct_values` estimates the number of distinct values.
- `histogram` says how the values of a column are distributed over files.
- `matching_rows` estimates how many rows satisfy conditions.

Estimates feed Spark's optimizer and the cost model of joins. They never leave out a file.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.cardinality.columns import (
        count_distinct as count_distinct,
        estimate_columns as estimate_columns,
    )
    from parquetry.cardinality.histogram import Histogram as Histogram
    from parquetry.cardinality.matching_rows import estimate_matching_rows as estimate_matching_rows

lazy_exports(__name__)
