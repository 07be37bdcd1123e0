"""The record of how the rows of a partition are arranged: its parts, and what they say together.

`ArrangementSpec` is the whole record, and explains the idea. `part` says what its parts answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec

from parquetry.data_files import FileRecord, TableColumn
from parquetry.errors import ArrangementError
from parquetry.layout.bucket_spec import BucketSpec, require_bucket
from parquetry.layout.part import ArrangementPart, FileOrder, SortColumn, require_distinct
from parquetry.layout.skew_map import SkewMap, require_cell


class ArrangementSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the rows of a partition are arranged in files.

    ## What it is

    An arrangement has up to three parts: heavy values (`skew`), buckets (`buckets`) and a sort order
    (`sort`). A table has one, for new partitions. Each partition keeps the arrangement that its files were
    written in. A file's record says which cell and bucket all its rows belong to, and whether they are sorted
    (`data_files.records.FileRecord`).

    ## Example

    A partition has 6,000,000 rows. `x` is 10 in half of them and 20 in a third; the rest has 1,000 other
    values. Each of the two heavy values gets a directory, and the rest shares one. Within each directory, the
    hash of `id` spreads rows over 8 buckets, a file each:

    >>> arrangement = ArrangementSpec(
    ...     skew=SkewMap(("x",), ((10,), (20,)), directories=True), buckets=BucketSpec(("id",), 8)
    ... )
    >>> arrangement.columns
    ('x', 'id')

    | directory                              | cell | rows      | files | rows in a file |
    |----------------------------------------|------|-----------|-------|----------------|
    | `x=10`                                 | 0    | 3,000,000 | 8     | 375,000        |
    | `x=20`                                 | 1    | 2,000,000 | 8     | 250,000        |
    | `HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME` | -1   | 1,000,000 | 8     | 125,000        |

    The hash of `id = 7` is 3 modulo 8. So a query reads of these 24 files:

    | condition           | cells | buckets | files | rows read |
    |---------------------|-------|---------|-------|-----------|
    | `x = 10 AND id = 7` | 0     | 3       | 1     | 375,000   |
    | `x = 10`            | 0     | all     | 8     | 3,000,000 |
    | `x = 33`            | -1    | all     | 8     | 1,000,000 |
    | `id = 7`            | all   | 3       | 3     | 750,000   |

    A join or an aggregate by `id` needs no shuffle: equal values of `id` are in equal buckets.

    ## What it is not

    It is no plan: `prune.rules` decides what a query skips, and `spark.write` how rows get to their files. It
    is no promise about a file: a file that another program wrote may be in an unknown cell and bucket, and a
    reader then relies on its statistics. It is no list of paths either: NULL and `''` are two cells that
    share a directory, so a file's cell is in its record and not in its path. Hive's design excludes buckets
    together with directories: a table needs `list-bucketing-rules` = `relaxed` for both.

    ## Why not otherwise

    One arrangement for the whole table would be wrong for older files as soon as ALTER TABLE changes it,
    unless all partitions were rewritten. A copy in each file's record would repeat the map a thousand times.
    Columns go by their physical names (`data_files.records.TableColumn.physical`): RENAME COLUMN does not
    change these, so a million partitions' records stay valid.

    References: Hive's design document *List Bucketing*, and *Bucketed Tables* in Hive's language manual.

    Attributes:
        skew: the heavy values, or None.
        buckets: the buckets, or None.
        sort: the columns that each file is sorted by, apart from buckets.

    Raises:
        ArrangementError: a column is named twice in `sort`.
    """

    skew: SkewMap | None = None
    buckets: BucketSpec | None = None
    sort: tuple[SortColumn, ...] = ()

    def __post_init__(self) -> None:
        require_distinct("A sort order", [each.column for each in self.sort])

    @property
    def parts(self) -> tuple[ArrangementPart, ...]:
        """Return the parts that it has, the outermost first: their slots are divided by the next ones."""
        values = (getattr(self, name) for name in self.__struct_fields__)
        return tuple(
            FileOrder(value) if isinstance(value, tuple) else cast(ArrangementPart, value)
            for value in values
            if value
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the physical names of all its columns, each once."""
        names = (
            name for part in self.parts for name in (*part.columns, *(each.column for each in part.sort))
        )
        return tuple(dict.fromkeys(names))

    @property
    def order(self) -> tuple[SortColumn, ...]:
        """Return the columns that each file is sorted by: the order of the innermost part that has one."""
        return next((part.sort for part in reversed(self.parts) if part.sort), ())

    @property
    def locations(self) -> frozenset[str]:
        """Return the absolute locations of its directories that are not below the partition."""
        return frozenset(
            location for part in self.parts for location in part.locations if location is not None
        )

    @property
    def divides(self) -> bool:
        """Return whether the rows' values decide about their files."""
        return any(part.columns for part in self.parts)

    def require(self, file: FileRecord) -> None:
        """Make sure that what a file's record says of its rows exists in this arrangement.

        Raises:
            ArrangementError: the file's record does not fit.
        """
        for part in self.parts:
            part.require(file)
        if self.skew is None:
            require_cell(file, None)
        if self.buckets is None:
            require_bucket(file, 0)
        if file.sorted and not self.order:
            raise ArrangementError(f"File {file.path} is sorted, and no sort order is known.")

    def describe(self, columns: Sequence[TableColumn], location: str | None = None) -> list[tuple[str, str]]:
        """Return the rows of DESCRIBE FORMATTED, the innermost part's first, as Hive has them.

        Args:
            columns: the columns in the table's files.
            location: the partition's path from its table's folder on, such as `/t/ds=1`, or None for a table.
        """
        return [row for part in reversed(self.parts) for row in part.describe(columns, location)]

    def properties(self, columns: Sequence[TableColumn]) -> dict[str, str]:
        """Return the table properties that define it, given the columns in the table's files."""
        return {
            name: text for part in reversed(self.parts) for name, text in part.properties(columns).items()
        }


PLAIN = ArrangementSpec()
"""The arrangement without any part: rows are in files as they were written."""
