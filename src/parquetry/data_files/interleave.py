"""Interleave several sorted parts by partition: all items of the first partition, then all of the second.

    part 0   partitions 0 0 0 1 1     a b c f g
    part 1   partitions 0 1 1         d h i          together: a b c d f g h i

A turn is a part's items of one partition, such as `a b c`. Long manifests have few turns, with hundreds of
files each. Arrays are then put together from whole slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files.statistics_batch import Indices

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
