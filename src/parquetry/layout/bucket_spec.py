"""The buckets of a partition, as a part of its arrangement: a slot for each remainder of a hash.

All partitions of a scan may have buckets in common, even if their numbers of buckets differ.

With n buckets, a row with hash h is in bucket h mod n. If g divides n, then this number modulo g is h mod g.
So with 4 buckets in one partition and 6 in another, equal values are in equal ones of 2 buckets.

`prune` decides which buckets a query skips. Spark decides how joins use them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set as AbstractSet
from typing import Literal

import msgspec

from parquetry.config import BUCKETING_VERSION, CLUSTERED_BY, HIVE_COMPATIBLE
from parquetry.data_files import FileRecord, TableColumn
from parquetry.errors import ArrangementError
from parquetry.identifiers import part_text
from parquetry.layout.part import ArrangementPart, SortColumn, require_columns, require_distinct
from parquetry.types import ColumnType

Version = Literal[1, 2, "spark"]
MAX_BUCKETS = 100_000
"""Most buckets of a partition; Spark's own tables have the same limit."""


class BucketSpec(ArrangementPart, msgspec.Struct, frozen=True, omit_defaults=True):
    """The buckets that rows are spread over by the hash of some columns. A bucket is a slot.

    Attributes:
        columns: physical names.
        count: of the buckets.
        version: of the hash: 1 for Hive 1 and 2, 2 for Hive 3 and later, or ``spark``.
        sort: the columns that each bucket is sorted by.
        unsettled: whether equal values may be in different buckets, because another writer may resolve
            differently what the hash leaves open (`hashing.hash_types`). Then a file's bucket is only part
            of its name.

    Raises:
        ArrangementError: a column is named twice, the count is not from 1 to 100,000, or the version is
            unknown.
    """

    columns: tuple[str, ...]
    count: int
    version: Version = 2
    sort: tuple[SortColumn, ...] = ()
    unsettled: bool = False

    def __post_init__(self) -> None:
        require_columns("A bucket spec", self.columns)
        require_distinct("The sort order of a bucket spec", [each.column for each in self.sort])
        if not 1 <= self.count <= MAX_BUCKETS:
            raise ArrangementError(
                f"A bucket spec has a count of {self.count}: give a number from 1 to {MAX_BUCKETS}."
            )
        if self.version not in (1, 2, "spark"):
            raise ArrangementError(f"A bucket spec has the version {self.version!r}: give 1, 2 or 'spark'.")

    @property
    def slots(self) -> int:
        """Return the number of buckets."""
        return self.count

    @property
    def one_file_per_slot(self) -> bool:
        """Return that the rows of a bucket are to be in one file."""
        return True

    @property
    def files_for_empty_slots(self) -> bool:
        """Return whether empty buckets have files: Hive 1 and 2 expect a file for each bucket."""
        return self.version == 1

    def record_slot(self, file: FileRecord, slot: int) -> FileRecord:
        """Return a file's record with its bucket, sorted if buckets have an order."""
        return msgspec.structs.replace(file, bucket=slot, sorted=bool(self.sort))

    def slot_of(self, file: FileRecord) -> int | None:
        """Return a file's bucket, or None if it is unknown."""
        return file.bucket

    def is_in_slot(self, file: FileRecord, types: Mapping[str, ColumnType], location: str) -> bool:  # noqa: ARG002
        """Return whether a file's bucket is known, and its rows are in the buckets' order."""
        return file.bucket is not None and (file.sorted or not self.sort)

    def require(self, file: FileRecord) -> None:
        """Make sure that a file's bucket exists; see `ArrangementPart.require`."""
        require_bucket(file, self.count)

    def choosing_columns(self, columns: AbstractSet[str]) -> AbstractSet[str]:
        """Return the bucket columns if all are among some: the hash needs a value of each."""
        own = frozenset(self.columns)
        return own if own <= columns else frozenset()

    def describe(self, columns: Sequence[TableColumn], location: str | None = None) -> list[tuple[str, str]]:  # noqa: ARG002
        """Return the rows of DESCRIBE FORMATTED, in Hive's order; see `ArrangementPart.describe`.

        >>> for name, text in BucketSpec(("x",), 8, 1).describe([TableColumn("x", "integer")]): print(f"{name}: {text}")
        Num Buckets: 8
        Bucket Columns: [x]
        Sort Columns: []
        bucketing_version: 1
        """
        names = {column.physical: column.name for column in columns}
        return [
            ("Num Buckets", str(self.count)),
            ("Bucket Columns", f"[{', '.join(names[name] for name in self.columns)}]"),
            ("Sort Columns", f"[{', '.join(self._sort_texts(columns))}]"),
            ("bucketing_version", str(self.version)),
        ]

    def properties(self, columns: Sequence[TableColumn]) -> dict[str, str]:
        """Return the properties `clustered-by`, `bucketing-version` and `hive-compatible`."""
        return {
            CLUSTERED_BY: self.clause(columns),
            BUCKETING_VERSION: str(self.version),
            HIVE_COMPATIBLE: is_hive_compatible(self.version),
        }

    def clause(self, columns: Sequence[TableColumn]) -> str:
        """Return the text after the words `CLUSTERED BY`. Columns have their current names.

        >>> columns = [TableColumn("X", "integer"), TableColumn("a b", "string")]
        >>> BucketSpec(("a b", "X"), 4, sort=(SortColumn("X", True),)).clause(columns)
        '(`a b`, X) SORTED BY (X DESC) INTO 4 BUCKETS'
        """
        names = {column.physical: part_text(column.name) for column in columns}
        order = f" SORTED BY ({', '.join(self._sort_texts(columns))})" if self.sort else ""
        return f"({', '.join(names[name] for name in self.columns)}){order} INTO {self.count} BUCKETS"

    def _sort_texts(self, columns: Sequence[TableColumn]) -> list[str]:
        """Return the sort columns under their current names, with DESC where descending."""
        names = {column.physical: part_text(column.name) for column in columns}
        return [f"{names[each.column]}{' DESC' if each.descending else ''}" for each in self.sort]


def require_bucket(file: FileRecord, count: int) -> None:
    """Make sure that the bucket in a file's record exists.

    Raises:
        ArrangementError: it does not.
    """
    if file.bucket is not None and not 0 <= file.bucket < count:
        raise ArrangementError(f"File {file.path} is of bucket {file.bucket}, and there are {count} buckets.")


def is_hive_compatible(version: Version) -> str:
    """Return the property `hive-compatible`, which says whether Hive computes a version of the hash."""
    return "false" if version == "spark" else "true"


def common(specs: Sequence[BucketSpec]) -> BucketSpec | None:
    """Return the buckets that all partitions have in common, or None if there are none.

    Their number is the greatest common divisor of the partitions' numbers. Their sort order is the longest
    common prefix of the partitions' sort orders.

    Args:
        specs: of the partitions, without repetition.

    >>> four, six = BucketSpec(("id",), 4), BucketSpec(("id",), 6)
    >>> common([four, six]).count
    2
    >>> common([four, BucketSpec(("id",), 9)]) is None
    True
    """
    if not specs or any(spec.unsettled for spec in specs):
        return None
    first = specs[0]
    if any((spec.columns, spec.version) != (first.columns, first.version) for spec in specs):
        return None
    count = math.gcd(*(spec.count for spec in specs))
    if count == 1 and any(spec.count > 1 for spec in specs):
        return None
    return BucketSpec(first.columns, count, first.version, _common_order([spec.sort for spec in specs]))


def _common_order(orders: Sequence[tuple[SortColumn, ...]]) -> tuple[SortColumn, ...]:
    """Return the longest common prefix of sort orders."""
    shared: list[SortColumn] = []
    for columns in zip(*orders, strict=False):
        if any(column != columns[0] for column in columns):
            break
        shared.append(columns[0])
    return tuple(shared)
