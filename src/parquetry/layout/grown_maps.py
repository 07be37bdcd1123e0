"""How the map of a partition grows: heavy values are added to it, and its files keep what is known of their cells.

New cells stand behind the old ones, so that a file's cell keeps its number. Rows with a new heavy value that were
written before stay in the default directory: its files are an earlier rest (`FileRecord.rest_of`) from then on, unless
their statistics exclude the value. Example: rows with 20 and 7 are added to a partition with a directory for 10:

    file        x            before: map (10)    after: map (10) (20)
    x=10/a      10           cell 0              cell 0
    …DEFAULT/b  11 to 30     the rest            the rest of the first cell: may have rows with 20
    …DEFAULT/c  11 to 15     the rest            the rest
    x=20/d      20           (written now)       cell 1
    …DEFAULT/e  7            (written now)       the rest

Two writers may add different values to one map. Then the second one's come behind the first one's, and its files of the
rest may have rows with the first one's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

import msgspec

from parquetry.data_files import FileRecord, StatedTuples
from parquetry.layout.arrangement import REST, ArrangementSpec, SkewMap, cell_key
from parquetry.types import ColumnType


@dataclass(frozen=True, slots=True)
class Grown:
    """A partition whose map has grown.

    Attributes:
        skew: the map.
        before: the older files, or None if all are as they were.
        files: that are added.
    """

    skew: SkewMap
    before: tuple[FileRecord, ...] | None
    files: tuple[FileRecord, ...]


def can_grow(own: ArrangementSpec, other: ArrangementSpec) -> bool:
    """Return whether files that were written for one arrangement can be added to a partition of another one, whose map grows.

    Both have directories for values of the same columns, and are otherwise alike.
    """
    one, two = own.skew, other.skew
    return (
        one is not None
        and two is not None
        and one.directories
        and two.directories
        and one.columns == two.columns
        and one.auto is None
        and two.auto is None
        and (own.buckets, own.sort) == (other.buckets, other.sort)
    )


def grown(
    own: SkewMap,
    before: Callable[[], Sequence[FileRecord]],
    written: SkewMap,
    files: Sequence[FileRecord],
    types: Sequence[ColumnType],
    stated: StatedTuples,
    most: int,
) -> Grown:
    """Return what becomes of a partition that takes in files written for another map.

    Args:
        own: the partition's map.
        before: returns the partition's files; it is called if cells are added.
        written: the map that the files were written for.
        files: to add.
        types: of the columns.
        stated: what statistics say of the columns.
        most: greatest number of cells; what is too many is of the rest, in a directory of its own.
    """
    there_are, theirs = own.numbers(), written.numbers()
    used = {file.cell for file in files}  # others may have taken out a cell that none of these is of
    cells = [cell for i, cell in enumerate(written.cells) if i in used and cell_key(cell) not in there_are]
    cells = cells[: max(0, most - len(own.cells))]
    skew = own.with_cells(cells)
    there = None
    if cells:
        values = skew.values(types)[len(own.cells) :]
        old = before()
        there = tuple(
            earlier_rest(file, len(own.cells))
            if file.cell == REST and stated.possible(file, values)
            else file
            for file in old
        )
        if all(one is other for one, other in zip(old, there, strict=True)):
            there = None
    numbers = skew.numbers()
    known = [key in theirs for key in numbers]
    first = len(list(takewhile(bool, known)))
    others = [row for row, is_known in zip(skew.values(types), known, strict=True) if not is_known]

    def in_new_map(file: FileRecord) -> FileRecord:
        match file.cell:
            case None:
                return file
            case -1:
                return earlier_rest(file, first) if stated.possible(file, others) else file
            case cell:
                number = numbers.get(cell_key(written.cells[cell]), REST)
                return msgspec.structs.replace(file, cell=number)

    return Grown(skew, there, tuple(map(in_new_map, files)))


def earlier_rest(file: FileRecord, cells: int) -> FileRecord:
    """Return a file whose rows are of none of a map's first cells, and may be of others."""
    return msgspec.structs.replace(file, cell=None, rest_of=cells or None)
