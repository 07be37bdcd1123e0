"""Files projected to what is still needed: paths, sizes, and the statistics of some columns.

A million files are read, pruned and projected block by block, and only the projection stays in memory.
`project_files` makes it from any `FileColumns`, however they are stored or decoded.

Several sorted parts are interleaved by partition: all items of the first partition, then all of the second.

    part 0   partitions 0 0 0 1 1     a b c f g
    part 1   partitions 0 1 1         d h i          together: a b c d f g h i

A turn is a part's items of one partition, such as `a b c`. Long manifests have few turns, with hundreds of
files each. Arrays are then put together from whole slices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files.many_files.file_batch import FileColumns, RecordedFiles
from parquetry.data_files.many_files.statistics_batch import (
    Flags,
    Indices,
    Numbers,
    StatisticsColumn,
    numbers,
)
from parquetry.data_files.nested_fields import with_owners

MAX_FILES_AS_RECORDS = 256
"""Up to this many files stay records: a projection of so few saves no memory worth its time."""


def project_files(
    files: FileColumns, positions: Indices | None, names: Collection[str] | None
) -> FileColumns:
    """Return some files with the statistics that are still needed, and keep nothing else in memory.

    Args:
        files: to select from.
        positions: of the selected files, or None for all.
        names: the columns whose statistics are still needed, as the table spells them for its files, or None
            for all.
    """
    if files.count <= MAX_FILES_AS_RECORDS and isinstance(files, RecordedFiles):
        return files if positions is None else files.take(positions)
    selected = files if positions is None else files.narrow(positions, names)
    return RecordedFiles(selected.records()) if names is None else ProjectedFiles.project(selected, names)


def interleave_files(
    parts: Sequence[FileColumns], names: Collection[str] | None, turns: Interleaving
) -> FileColumns:
    """Return the files of several parts as one, with the columns that are still needed.

    Args:
        parts: of the files.
        names: as in `project_files`.
        turns: the order of the files.
    """
    if len(parts) == 1:
        return parts[0]
    if names is None or not parts:
        return RecordedFiles(turns.list([part.records() for part in parts]))
    return ProjectedFiles.interleave([ProjectedFiles.project(part, names) for part in parts], turns)


def in_all_spellings(files: FileColumns, names: Collection[str]) -> dict[str, StatisticsColumn]:
    """Return the statistics of some columns, by each spelling that the files have.

    The other columns of `files` are decoded only if a file lacks a column of these, or spells it otherwise.

    Args:
        files: with statistics.
        names: the columns, as the table spells them for its files.
    """
    names = with_owners(names)
    are_records = isinstance(files, RecordedFiles)
    columns = {} if are_records else {name: files.statistics(name) for name in names}
    if are_records or any(
        column is None or not np.array_equal(column.there, files.described) for column in columns.values()
    ):
        wanted = {name.lower() for name in names}
        columns = {name: files.statistics(name) for name in files.names if name.lower() in wanted}
    return {name: column for name, column in columns.items() if column is not None}


class ProjectedFiles(FileColumns):
    """Files in arrays and lists of their own, independent of the files that they were made from.

    `described` is True only for files that have statistics of some column, even of one that is not projected.
    """

    def __init__(
        self,
        paths: Callable[[], Sequence[str]],
        sizes: tuple[Numbers, Numbers, Numbers, Numbers],
        described: Flags,
        columns: dict[str, StatisticsColumn],
        arranged: tuple[Numbers, Numbers, Flags] | None,
    ) -> None:
        """Store the columns.

        `sizes` are bytes, rows, times of change and field ids; `paths` is called on first use.
        """
        self.count = len(sizes[0])
        self._make_paths = paths
        self.bytes, self.rows, self.modified, self._field_ids = sizes
        self.described = described
        self.names = tuple(columns)
        self._columns = columns
        self._arranged = arranged

    @classmethod
    def project(cls, files: FileColumns, names: Collection[str]) -> ProjectedFiles:
        """Return the projection of files, with a column under each of its spellings."""
        if isinstance(files, ProjectedFiles):
            return files
        columns = in_all_spellings(files, names)
        described = files.with_entries() if names else files.described
        paths = files.paths  # now, because the files are not kept in memory
        sizes = (files.bytes, files.rows, files.modified, files.field_ids)
        return cls(lambda: paths, sizes, described, columns, files.arranged)

    @classmethod
    def interleave(cls, parts: Sequence[ProjectedFiles], turns: Interleaving) -> ProjectedFiles:
        """Return the files of one or more parts as one; see `interleave_files`."""

        def column(name: str) -> StatisticsColumn:
            statistics = StatisticsColumn.concatenate(
                [part.statistics(name) or StatisticsColumn.nothing(part.count) for part in parts]
            )
            return statistics if turns.in_order else statistics.take(turns.positions)

        arranged = None
        if any(part.arranged is not None for part in parts):
            arrangements = [part.arranged or _not_arranged(part.count) for part in parts]
            cells, buckets, in_order = zip(*arrangements, strict=True)
            arranged = (turns.array(cells), turns.array(buckets), turns.array(in_order))
        paths = [part.paths for part in parts]  # not the parts, which would then stay in memory
        return cls(
            lambda: turns.list(paths),
            (
                turns.array([part.bytes for part in parts]),
                turns.array([part.rows for part in parts]),
                turns.array([part.modified for part in parts]),
                turns.array([part.field_ids for part in parts]),
            ),
            turns.array([part.described for part in parts]),
            {name: column(name) for name in dict.fromkeys(name for part in parts for name in part.names)},
            arranged,
        )

    @cached_property
    def paths(self) -> Sequence[str]:
        """Return the paths."""
        return self._make_paths()

    @property
    def arranged(self) -> tuple[Numbers, Numbers, Flags] | None:
        """Return cells, buckets, and which files are sorted."""
        return self._arranged

    @property
    def field_ids(self) -> Numbers:
        """Return what is known of the field ids in each file."""
        return self._field_ids

    def statistics(self, name: str) -> StatisticsColumn | None:
        """Return the statistics of a projected column."""
        return self._columns.get(name)

    def with_entries(self) -> Flags:
        """Return which files have statistics of any column."""
        return self.described


def _not_arranged(count: int) -> tuple[Numbers, Numbers, Flags]:
    return numbers([None] * count), numbers([None] * count), np.zeros(count, np.bool_)


_T = TypeVar("_T")
_N = TypeVar("_N", bound=np.generic)

_MIN_SLICE_LENGTH = 8
"""Turns of at least this many items on average are copied as slices: it is faster than single positions."""


class Interleaving:
    """The order of the items of several parts when they are interleaved.

    Args:
        numbers: for each part, the partition numbers of its items, ascending. Within a partition, the items
            of the first part come first.

    >>> turns = Interleaving([np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1])])
    >>> turns.array([np.array([1, 2, 3, 6, 7]), np.array([4, 8, 9])]).tolist()
    [1, 2, 3, 4, 6, 7, 8, 9]
    >>> "".join(turns.list(["abcfg", "dhi"]))
    'abcdfghi'
    """

    def __init__(self, numbers: Sequence[NDArray[np.int32]]) -> None:
        self._numbers = numbers

    @cached_property
    def in_order(self) -> bool:
        """Return whether the parts already are in order, one after the other."""
        some = [part for part in self._numbers if len(part)]
        return all(part[-1] <= following[0] for part, following in pairwise(some))

    @cached_property
    def positions(self) -> Indices:
        """Return, in the interleaved order, each item's index in the concatenation of all parts."""
        return np.argsort(np.concatenate(self._numbers), kind="stable")

    @cached_property
    def _slices(self) -> list[tuple[int, slice]] | None:
        """Return each turn's part and its slice of that part, or None if the turns are short."""
        starts = [np.flatnonzero(np.append(True, part[1:] != part[:-1])) for part in self._numbers]
        if _MIN_SLICE_LENGTH * sum(map(len, starts)) > sum(map(len, self._numbers)):
            return None
        turns = sorted(
            (number, position, first, stop)
            for position, (part, firsts) in enumerate(zip(self._numbers, starts, strict=True))
            if len(part)
            for number, first, stop in zip(
                part[firsts].tolist(), firsts.tolist(), [*firsts[1:].tolist(), len(part)], strict=True
            )
        )
        slices: list[tuple[int, slice]] = []
        for _, position, first, stop in turns:
            if slices and slices[-1][0] == position and slices[-1][1].stop == first:
                first = slices.pop()[1].start  # no item of another part comes between them
            slices.append((position, slice(first, stop)))
        return slices

    def array(self, parts: Sequence[NDArray[_N]]) -> NDArray[_N]:
        """Return one interleaved array, given an array for each part."""
        if self.in_order:
            return np.concatenate(parts)
        if self._slices is None:
            return np.concatenate(parts)[self.positions]
        return np.concatenate([parts[position][some] for position, some in self._slices])

    def list(self, parts: Sequence[Sequence[_T]]) -> list[_T]:
        """Return one interleaved list, given a list for each part."""
        if self.in_order:
            return list(chain.from_iterable(parts))
        if self._slices is None:
            whole = list(chain.from_iterable(parts))
            return [whole[position] for position in self.positions.tolist()]
        return list(chain.from_iterable([parts[position][some] for position, some in self._slices]))
