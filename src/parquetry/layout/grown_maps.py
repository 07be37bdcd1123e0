"""Grow the map of a partition: add heavy values to it, and keep what is known about the cells of its files.

New cells come after the old ones, so that a file's cell keeps its number. Older rows with a new heavy value
stay in the default directory. From then on its files are an earlier rest (`FileRecord.rest_of`), unless their
statistics exclude the value.

Example: rows with 20 and 7 are added to a partition that has a directory for 10.

| file         | x        | before: map (10) | after: map (10) (20)                              |
|--------------|----------|------------------|---------------------------------------------------|
| `x=10/a`     | 10       | cell 0           | cell 0                                            |
| `…DEFAULT/b` | 11 to 30 | the rest         | the rest of the first cell: may have rows with 20 |
| `…DEFAULT/c` | 11 to 15 | the rest         | the rest                                          |
| `x=20/d`     | 20       | (written now)    | cell 1                                            |
| `…DEFAULT/e` | 7        | (written now)    | the rest                                          |

Two writers may add different values to one map. Then the second writer's cells come after the first one's,
and its files of the rest may have rows with the first one's values.
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
        before: the older files with their changed records, or None if no record changes.
        files: the added files, with their records.
    """

    skew: SkewMap
    before: tuple[FileRecord, ...] | None
    files: tuple[FileRecord, ...]


def can_grow(own: ArrangementSpec, other: ArrangementSpec) -> bool:
    """Return whether growing the map of one arrangement lets it adopt files of another one.

    Both need directories for values of the same columns, and equal buckets and sort orders.
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


def grow_map(
    own: SkewMap,
    before: Callable[[], Sequence[FileRecord]],
    written: SkewMap,
    files: Sequence[FileRecord],
    types: Sequence[ColumnType],
    stated: StatedTuples,
    most: int,
) -> Grown:
    """Return a partition after it adopts files that were written for another map.

    Args:
        own: the partition's map.
        before: returns the partition's files; called only if cells are added.
        written: the map that the files were written for.
        files: to add.
        types: of the columns.
        stated: the statistics of the columns.
        most: greatest number of cells. Further cells count as the rest, in directories of their own.
    """
    there_are, theirs = own.numbers(), written.numbers()
    used = {file.cell for file in files}  # a cell without files here may have been removed by others
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
    """Return a file that has no rows of a map's first cells, and may have rows of the others."""
    return msgspec.structs.replace(file, cell=None, rest_of=cells or None)
