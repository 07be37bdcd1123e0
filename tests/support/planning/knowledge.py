"""Statistics of containers that a test states; and answers that are the same one by one and all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parquetry.data_files.bounds import FileBounds
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Predicate
from parquetry.predicate.pruning.knowledge import Bounds, Knowledge
from parquetry.predicate.pruning.match import Match, match
from parquetry.predicate.pruning.truth_sets import MAX_LISTED_CONTAINERS
from parquetry.types import ColumnType


class Stated(Knowledge):
    """Containers whose columns have the given bounds."""

    def __init__(self, count: int, columns: Mapping[str, Bounds]) -> None:
        self.count = count
        self._columns = columns

    def bounds(self, column: str) -> Bounds | None:
        return self._columns.get(column)


def stated(types: Mapping[str, ColumnType], containers: Sequence[Mapping[str, FileBounds | None]]) -> Stated:
    """Say what statistics tell of columns of each container; what a container does not name is not known."""
    columns = {}
    for name in {name for known in containers for name in known}:
        found = [known.get(name) or FileBounds() for known in containers]
        columns[name] = Bounds.from_statistics(
            types[name],
            [each.min for each in found],
            [each.max for each in found],
            [each.null_state for each in found],
        )
    return Stated(len(containers), columns)


def answer(node: Predicate, types: Mapping[str, ColumnType], bounds: Mapping[str, FileBounds]) -> Match:
    """Judge one container; it is judged in the same way among many."""
    alone = match(Filter(node), stated(types, [bounds]))
    among = match(Filter(node), stated(types, [bounds, {}] * MAX_LISTED_CONTAINERS))
    assert among[::2].tolist() == alone.tolist() * MAX_LISTED_CONTAINERS
    return Match(int(alone[0]))
