"""Evaluate open conditions over directories, by their skewed tuples and their partitions.

`directories` finds the directories and keeps their files. `directory_knowledge` has their statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import Flags, Numbers
from parquetry.metastore import PartitionSnapshot
from parquetry.predicate import (
    MAX_ALLOWED_TUPLES,
    And,
    Filter,
    Knowledge,
    Like,
    Match,
    Not,
    Opaque,
    Or,
    Predicate,
    allowed_values,
    match,
)
from parquetry.prune.condition import Condition
from parquetry.prune.rule import PruningRequest
from parquetry.prune.rules.directory_knowledge import (
    CellKnowledge,
    HeavyTuples,
    RestKnowledge,
    WithinPartitions,
)


class DirectoryAnswers:
    """The answers of conditions for directories of partitions that are skewed by the same columns.

    A condition is evaluated once for each skewed tuple, unless it is also about partition columns.

    Attributes:
        heavy: the skewed tuples.
    """

    def __init__(
        self,
        scan: PruningRequest,
        partitions: Sequence[PartitionSnapshot],
        heavy: HeavyTuples,
        conditions: Sequence[Condition],
    ) -> None:
        self._metadata = scan.snapshot.metadata
        self._partitions = partitions
        self.heavy = heavy
        self._conditions = [
            condition if condition.about & set(heavy.names) and not _on_sign(condition.predicate) else None
            for condition in conditions
        ]
        self._mixed = [each is not None and bool(each.about & scan.partition_by) for each in self._conditions]
        self._all = Filter.all_of(each.filter for each in self._conditions if each is not None)

    @cached_property
    def guarantors(self) -> list[Condition]:
        """The conditions that allow only a few values of a skewed column."""
        return [
            condition
            for condition in self._conditions
            if condition is not None
            and any(
                allowed_values(condition.predicate, (name,), MAX_ALLOWED_TUPLES) is not None
                for name in self.heavy.names
            )
        ]

    def cell_answers(self, parts: Numbers, numbers: Numbers) -> NDArray[np.uint8]:
        """Return for each condition its answers for some cells.

        Args:
            parts: the position of each cell's partition.
            numbers: the position of each cell's tuple in `heavy.rows`.
        """
        answers = np.full((len(self._conditions), len(parts)), Match.MIGHT, np.uint8)
        knowledge = CellKnowledge(self.heavy, numbers, self._within(parts)) if any(self._mixed) else None
        for position, (condition, alone) in enumerate(
            zip(self._conditions, self._tuple_answers, strict=True)
        ):
            if alone is not None:
                answers[position] = alone[numbers]
            elif condition is not None and knowledge is not None:
                answers[position] = match(condition.filter, knowledge)
        return answers

    @cached_property
    def _tuple_answers(self) -> list[NDArray[np.uint8] | None]:
        """The answers for all tuples, for each condition that is not about partitions."""
        knowledge = CellKnowledge(self.heavy, np.arange(len(self.heavy.rows)))
        return [
            None if condition is None or mixed else match(condition.filter, knowledge)
            for condition, mixed in zip(self._conditions, self._mixed, strict=True)
        ]

    def rest_answers(self, parts: Numbers, maps: Numbers, firsts: Numbers) -> Flags:
        """Return whether a row of each rest may satisfy all conditions, which may allow few tuples together.

        Args:
            parts: the position of each rest's partition.
            maps: the number of its map.
            firsts: the number of the map's first cells whose rows are not in this rest.
        """
        if any(self._mixed):
            return _may_hold(self._all, RestKnowledge(self.heavy, maps, self._within(parts), firsts))
        answers = self._map_answers[maps]
        earlier = firsts < self.heavy.sizes[maps]
        if earlier.any():
            knowledge = RestKnowledge(self.heavy, maps[earlier], None, firsts[earlier])
            answers[earlier] = _may_hold(self._all, knowledge)
        return answers

    @cached_property
    def _map_answers(self) -> Flags:
        """The answers of `rest_answers` for each map, if no condition is about partitions."""
        return _may_hold(self._all, RestKnowledge(self.heavy, np.arange(len(self.heavy.sizes))))

    def _within(self, parts: Numbers) -> WithinPartitions:
        return WithinPartitions(self._metadata, self._partitions, parts)


def _may_hold(filter: Filter, knowledge: Knowledge) -> Flags:
    answers: Flags = match(filter, knowledge) != Match.CANNOT
    return answers


def _on_sign(node: Predicate) -> bool:
    """Return whether a condition is about a float's text: the cell of zero has rows with 0.0 and -0.0."""
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
