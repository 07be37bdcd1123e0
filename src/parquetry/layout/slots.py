"""Number the slots of a write: the rows of a slot go to files of their own, in the slot's directory.

Partitions of one table may have different arrangements, so slots of several arrangements get numbers, each
arrangement's in one run. The slots of one directory are consecutive. Example: a table has a directory for
`x = 10`, and 4 buckets by `id`.

| slots | rows |
|---|---|
| 0 | without a slot |
| 1 to 4 | buckets 0 to 3 of all other values of `x` |
| 5 to 8 | buckets 0 to 3 of `x = 10` |

`spark.write.slots` gives rows their slots. This module knows no kind of part: see `part`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from parquetry.data_files import FileRecord
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.part import ArrangementPart, SortColumn
from parquetry.types import ColumnType

P = TypeVar("P", bound=ArrangementPart)

NO_SLOT = 0
"""The number for rows without a slot. Their files record nothing of where the rows are."""


@dataclass(frozen=True, slots=True)
class SlotLayout:
    """The parts of an arrangement that divide rows into slots, parts with directories first.

    Its slots have numbers from 0 on. The last part's number changes first.

    >>> from parquetry.layout import BucketSpec, SkewMap
    >>> skew, buckets = SkewMap(("x",), ((10,),), directories=True), BucketSpec(("id",), 4)
    >>> layout = SlotLayout.from_arrangement(ArrangementSpec(skew, buckets))
    >>> layout.count, layout.slots_of_parts(6), layout.record(FileRecord("f", 1), 6).bucket
    (8, (1, 2), 2)
    """

    parts: tuple[ArrangementPart, ...]

    @classmethod
    def from_arrangement(cls, arrangement: ArrangementSpec) -> SlotLayout | None:
        """Return the layout of an arrangement, or None if no part divides rows."""
        parts = [part for part in arrangement.parts if part.slots]
        return cls(tuple(sorted(parts, key=lambda part: not part.directories))) if parts else None

    def part(self, kind: type[P]) -> P | None:
        """Return the part of a kind, or None if it has none."""
        return next((part for part in self.parts if isinstance(part, kind)), None)

    @property
    def count(self) -> int:
        """Return the number of slots."""
        return math.prod(part.slots for part in self.parts)

    @property
    def slots_of_directory(self) -> int:
        """Return the number of slots in each directory."""
        return math.prod(part.slots for part in self.parts if not part.directories)

    @property
    def sort(self) -> tuple[SortColumn, ...]:
        """Return the columns that each slot is sorted by."""
        return next((part.sort for part in reversed(self.parts) if part.sort), ())

    @property
    def one_file_per_slot(self) -> bool:
        """Return whether the rows of a slot are to be in one file."""
        return any(part.one_file_per_slot for part in self.parts)

    @property
    def files_for_empty_slots(self) -> bool:
        """Return whether slots without rows have files, if no setting says otherwise."""
        return any(part.files_for_empty_slots for part in self.parts)

    def slots_of_parts(self, slot: int) -> tuple[int, ...]:
        """Return the slot of each part that a slot of the layout stands for."""
        numbers: list[int] = []
        for part in reversed(self.parts):
            slot, own = divmod(slot, part.slots)
            numbers.insert(0, own)
        return tuple(numbers)

    def directory(self, slot: int, types: Mapping[str, ColumnType]) -> str:
        """Return a slot's directory, below its partition or absolute; empty if slots have none."""
        pairs = zip(self.parts, self.slots_of_parts(slot), strict=True)
        return "/".join(name for part, own in pairs if (name := part.slot_directory(own, types)))

    def record(self, file: FileRecord, slot: int) -> FileRecord:
        """Return a file's record with what its slot says of it."""
        for part, own in zip(self.parts, self.slots_of_parts(slot), strict=True):
            file = part.record_slot(file, own)
        return file

    def slot_of(self, file: FileRecord) -> int | None:
        """Return the slot that a file's record names, or None if a part of it is unknown."""
        slot = 0
        for part in self.parts:
            own = part.slot_of(file)
            if own is None:
                return None
            slot = slot * part.slots + own
        return slot


@dataclass(frozen=True, slots=True)
class SlotDirectory:
    """A directory, and the consecutive numbers of its slots.

    Attributes:
        first: the number of the first slot.
        directory: below the partition, or absolute.
        layout: the layout of the slots, or None for rows without a slot.
    """

    first: int
    directory: str
    layout: SlotLayout | None = None

    @property
    def slots(self) -> range:
        """Return the numbers of the slots."""
        return range(self.first, self.first + (1 if self.layout is None else self.layout.slots_of_directory))

    @property
    def one_file_per_slot(self) -> bool:
        """Return whether the rows of a slot are to be in one file, as a bucket's are."""
        return self.layout is not None and self.layout.one_file_per_slot


class SlotNumbers:
    """The numbers of the slots of one write.

    Args:
        types: the types of the table's columns, by physical names.

    Attributes:
        directories: the directories, in the order of their slots. The first is for rows without a slot.
        firsts: the number of the first slot of each layout.
    """

    def __init__(self, types: Mapping[str, ColumnType]) -> None:
        self._types = types
        self.directories = [SlotDirectory(NO_SLOT, "")]
        self.firsts: dict[SlotLayout, int] = {}
        self._starts = [NO_SLOT]

    def add(self, arrangement: ArrangementSpec | None) -> SlotLayout | None:
        """Number the slots of an arrangement. Return its layout, or None if rows have no slots there."""
        layout = None if arrangement is None else SlotLayout.from_arrangement(arrangement)
        if layout is not None and layout not in self.firsts:
            start = self.directories[-1].slots.stop
            self.firsts[layout] = start
            for slot in range(0, layout.count, layout.slots_of_directory):
                self.directories.append(
                    SlotDirectory(start + slot, layout.directory(slot, self._types), layout)
                )
                self._starts.append(start + slot)
        return layout

    def directory(self, number: int) -> SlotDirectory:
        """Return the directory of a slot."""
        return self.directories[bisect_right(self._starts, number) - 1]

    def record(self, file: FileRecord, number: int, arrangement: ArrangementSpec | None) -> FileRecord:
        """Return a file's record with its slot, if the slot is one of its partition's arrangement.

        Args:
            file: the file's record.
            number: the number of its slot.
            arrangement: its partition's, or None if it is unknown.
        """
        layout = self.directory(number).layout
        if layout is None or arrangement is None or SlotLayout.from_arrangement(arrangement) != layout:
            return file
        return layout.record(file, number - self.firsts[layout])

    def numbers_of(self, files: Iterable[FileRecord], directory: SlotDirectory) -> set[int]:
        """Return the numbers of the slots that files of a directory's layout name."""
        layout = directory.layout
        if layout is None:
            return set()
        slots = (layout.slot_of(file) for file in files)
        return {self.firsts[layout] + slot for slot in slots if slot is not None}
