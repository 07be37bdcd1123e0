"""The parts of an arrangement, and what the rest of the program asks of each.

A part divides the rows of a partition into slots, orders the rows of each file, or both. Heavy values
(`skew_map`), buckets (`bucket_spec`) and the order of files (`FileOrder`) are parts. Callers ask the parts of
an arrangement in turn, and do not know their kinds:

| who asks                               | asks for                                                     |
|----------------------------------------|--------------------------------------------------------------|
| a write, by `slots.SlotLayout`         | `slots`, `slot_directory`, `record_slot`, `sort`             |
| a commit                               | `require`, `columns`                                         |
| a compaction                           | `slot_of`, `may_hold`, `is_in_slot`, `one_file_per_slot`     |
| runtime filters, estimates from totals | `choosing_columns`, `columns`                                |
| vacuum, claims on folders              | `locations`                                                  |
| DESCRIBE, SHOW CREATE TABLE            | `describe`, `properties`                                     |

A new kind needs a subclass of `ArrangementPart` in this package, a field of `ArrangementSpec`, and one of the
file's record for its slots (`data_files.records`). Four more things depend on its kind: the expression that
gives a row its slot (`spark.write.slots`), and the check of such rows (`spark.write.audit`). The other two
are the rule that skips its slots (`prune.rules`), and its clause in SQL (`ddl`, `definition`). A part with
the defaults of `ArrangementPart` divides and orders nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet

import msgspec

from parquetry.data_files import FileRecord, TableColumn
from parquetry.errors import ArrangementError
from parquetry.types import ColumnType


class SortColumn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column that rows are sorted by: its physical name, and whether its order is descending."""

    column: str
    descending: bool = False


class ArrangementPart:
    """A part of an arrangement. A subclass is an immutable `msgspec.Struct`, because it is stored.

    A slot is a number from 0 to `slots - 1`. A map with two cells has 3 slots, where the rest is slot 0. Four
    buckets have 4 slots. An arrangement of both has 12.
    """

    __slots__ = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the physical names of the columns whose values decide about a row's slot."""
        return ()

    @property
    def sort(self) -> tuple[SortColumn, ...]:
        """Return the columns that each file is sorted by."""
        return ()

    @property
    def locations(self) -> tuple[str | None, ...]:
        """Return the absolute locations of directories that are not below the partition; None is no such."""
        return ()

    @property
    def slots(self) -> int:
        """Return the number of slots that rows are divided into; 0 if the part divides nothing."""
        return 0

    @property
    def directories(self) -> bool:
        """Return whether each slot has a directory of its own."""
        return False

    @property
    def one_file_per_slot(self) -> bool:
        """Return whether the rows of a slot are to be in one file, as it is read and sorted as a whole."""
        return False

    @property
    def files_for_empty_slots(self) -> bool:
        """Return whether a slot without rows has an empty file, if no setting says otherwise."""
        return False

    def slot_directory(self, slot: int, types: Mapping[str, ColumnType]) -> str:  # noqa: ARG002
        """Return a slot's directory below its partition, or absolute; empty if slots have no directories.

        Args:
            slot: the number of the slot.
            types: the types of the table's columns, by physical names.
        """
        return ""

    def record_slot(self, file: FileRecord, slot: int) -> FileRecord:  # noqa: ARG002
        """Return a file's record with the slot that all its rows are in, and with its order."""
        return file

    def slot_of(self, file: FileRecord) -> int | None:  # noqa: ARG002
        """Return the slot that all rows of a file are in, or None if it is unknown."""
        return 0

    def may_hold(self, file: FileRecord, slot: int) -> bool:
        """Return whether a file may have rows of a slot."""
        return self.slot_of(file) in (slot, None)

    def is_in_slot(self, file: FileRecord, types: Mapping[str, ColumnType], location: str) -> bool:  # noqa: ARG002
        """Return whether a file is as a write would make it: of a known slot, in its directory, in order.

        Args:
            file: the file's record.
            types: the types of the table's columns, by physical names.
            location: the partition's location; the file's path is relative to it.
        """
        return True

    def require(self, file: FileRecord) -> None:
        """Make sure that the slot in a file's record exists.

        Raises:
            ArrangementError: it does not.
        """

    def choosing_columns(self, columns: AbstractSet[str]) -> AbstractSet[str]:  # noqa: ARG002
        """Return the columns among some whose values, if they are known, choose slots.

        >>> from parquetry.layout.bucket_spec import BucketSpec
        >>> BucketSpec(("a", "b"), 4).choosing_columns({"a"}), sorted(BucketSpec(("a", "b"), 4).choosing_columns({"a", "b", "c"}))
        (frozenset(), ['a', 'b'])
        """
        return frozenset()

    def describe(self, columns: Sequence[TableColumn], location: str | None = None) -> list[tuple[str, str]]:  # noqa: ARG002
        """Return the rows of DESCRIBE FORMATTED, as names and texts, like Hive's.

        Args:
            columns: the columns in the table's files.
            location: the partition's path from its table's folder on, or None for a table.
        """
        return []

    def properties(self, columns: Sequence[TableColumn]) -> dict[str, str]:  # noqa: ARG002
        """Return the table properties that define the part.

        Args:
            columns: the columns in the table's files.
        """
        return {}


class FileOrder(ArrangementPart, msgspec.Struct, frozen=True):
    """The order of each file, apart from buckets.

    Raises:
        ArrangementError: a column is named twice.
    """

    sort: tuple[SortColumn, ...]

    def __post_init__(self) -> None:
        require_distinct("A sort order", [each.column for each in self.sort])


def require_columns(what: str, columns: Sequence[str]) -> None:
    """Make sure that a part names columns, each once.

    Raises:
        ArrangementError: it names none, or one twice.
    """
    if not columns:
        raise ArrangementError(f"{what} names no column: name one or more.")
    require_distinct(what, columns)


def require_distinct(what: str, columns: Sequence[str]) -> None:
    """Make sure that a part names no column twice.

    Raises:
        ArrangementError: it does.
    """
    seen: set[str] = set()
    for name in columns:
        if name.lower() in seen:
            raise ArrangementError(f"{what} names the column {name!r} twice: name it once.")
        seen.add(name.lower())
