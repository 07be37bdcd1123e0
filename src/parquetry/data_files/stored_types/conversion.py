"""How a column's type in a file relates to its type in the table: what a reader makes of the file's values.

A table may name another type than a file has: after ALTER TABLE, or because others wrote the file. Spark's
readers then convert values, refuse them, or read other values. The statistics of the file are about the
stored values. They hold for a query only if the reader keeps each value.
"""

from __future__ import annotations

from enum import Enum


class Conversion(Enum):
    """Conversion of a stored type to the type of a table's column by Spark's reader.

    | conversion | bounds | NULL counts | example                                   |
    |------------|--------|-------------|-------------------------------------------|
    | SAME       | hold   | hold        | INT32 read as BIGINT                      |
    | CHANGED    | none   | none        | ORC's STRING read as INT: 'abc' is a NULL |
    | REFUSED    | none   | none        | Parquet's DATE read as TIMESTAMP: an error |
    """

    SAME = "same"
    """Each value and each NULL is read as it is stored, possibly in a wider type."""
    CHANGED = "changed"
    """Values may be read as other values, or as NULL. The statistics say nothing."""
    REFUSED = "refused"
    """Spark's reader fails. `sync` calls the file unfit, and no query is answered without reading."""
