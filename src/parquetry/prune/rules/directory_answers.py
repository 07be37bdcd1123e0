"""What open conditions answer of directories, given which heavy tuples and which partitions these are.

Which directories there are, and what becomes of their files, is `directories`'s; what is known of them, `directory_knowledge` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files.file_batch import Flags, Numbers
from parquetry.metastore.versions.partition import Partition
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import And, Like, Not, Opaque, Or, Predicate
from parquetry.predicate.pruning.guarantees import allowed_values
from parquetry.predicate.pruning.knowledge import Knowledge
from parquetry.predicate.pruning.match import MOST_TUPLES, Match, match
from parquetry.prune.condition import Condition
from parquetry.prune.rule import Scan
from parquetry.prune.rules.directory_knowledge import (
    CellKnowledge,
    HeavyTuples,
    RestKnowledge,
    WithinPartitions,
)


class DirectoryAnswers:
    """The answers of conditions for directories of partitions that are skewed by the same columns.

    A condition is asked once of each heavy tuple, unless it is about the values of partitions, too.

    Attributes:
        heavy: the tuples.
    """

    def __init__(
        self, scan: Scan, partitions: Sequence[Partition], heavy: HeavyTuples, asked: Sequence[Condition]
    ) -> None:
        self._metadata = scan.snapshot.metadata
        self._partitions = partitions
        self.heavy = heavy
        self._asked = [
            condition if condition.about & set(heavy.names) and not _on_sign(condition.predicate) else None
            for condition in asked
        ]
        self._mixed = [each is not None and bool(each.about & scan.partition_by) for each in self._asked]
        self._all = Filter.all_of(each.filter for each in self._asked if each is not None)

    @cached_property
    def guarantors(self) -> list[Condition]:
        """The conditions that allow for a few values of a skewed column."""
        return [
            condition
            for condition in self._asked
            if condition is not None
            and any(
                allowed_values(condition.predicate, (name,), MOST_TUPLES) is not None
                for name in self.heavy.names
            )
        ]

    def of_cells(self, parts: Numbers, numbers: Numbers) -> NDArray[np.uint8]:
        """Return for each condition the answers of some cells, given their partitions and the numbers of their tuples."""
        found = np.full((len(self._asked), len(parts)), Match.MIGHT, np.uint8)
        known = CellKnowledge(self.heavy, numbers, self._within(parts)) if any(self._mixed) else None
        for place, (condition, alone) in enumerate(zip(self._asked, self._of_tuples, strict=True)):
            if alone is not None:
                found[place] = alone[numbers]
            elif condition is not None and known is not None:
                found[place] = match(condition.filter, known)
        return found

    @cached_property
    def _of_tuples(self) -> list[NDArray[np.uint8] | None]:
        """The answers of all tuples, for each condition that is not about partitions."""
        known = CellKnowledge(self.heavy, np.arange(len(self.heavy.rows)))
        return [
            None if condition is None or mixed else match(condition.filter, known)
            for condition, mixed in zip(self._asked, self._mixed, strict=True)
        ]

    def of_rest(self, parts: Numbers, maps: Numbers, firsts: Numbers) -> Flags:
        """Return where a row in none of the cells may satisfy all conditions, which may allow for few tuples together.

        Args:
            parts: of each container the place of its partition.
            maps: the number of its map.
            firsts: of how many of the map's first cells it has no rows.
        """
        if any(self._mixed):
            return _may_hold(self._all, RestKnowledge(self.heavy, maps, self._within(parts), firsts))
        found = self._of_maps[maps]
        earlier = firsts < self.heavy.sizes[maps]
        if earlier.any():
            known = RestKnowledge(self.heavy, maps[earlier], None, firsts[earlier])
            found[earlier] = _may_hold(self._all, known)
        return found

    @cached_property
    def _of_maps(self) -> Flags:
        """The same by maps, where partitions do not matter."""
        return _may_hold(self._all, RestKnowledge(self.heavy, np.arange(len(self.heavy.sizes))))

    def _within(self, parts: Numbers) -> WithinPartitions:
        return WithinPartitions(self._metadata, self._partitions, parts)


def _may_hold(filter: Filter, knowledge: Knowledge) -> Flags:
    found: Flags = match(filter, knowledge) != Match.CANNOT
    return found


def _on_sign(node: Predicate) -> bool:
    """Return whether a condition is about a number's text: the cell of zero has rows of 0.0 and of -0.0."""
    match node:
        case And(children) | Or(children):
            return any(map(_on_sign, children))
        case Not(child):
            return _on_sign(child)
        case Opaque(implied=implied):
            return implied is not None and _on_sign(implied)
        case Like(type=type):
            return type.floating
    return False
