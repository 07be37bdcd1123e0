"""Collect the values that a query's conditions list for the bucket columns of a table.

`buckets` hashes them to the buckets that are read.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from parquetry.predicate import Filter, Row, allowed_values
from parquetry.prune.condition import Condition
from parquetry.types import order_key

MAX_HASHED_ROWS = 10_000
"""Combinations of values that are hashed to buckets; more are likely to be in all buckets."""

_Key: TypeAlias = tuple[Any, ...]


class BucketValues:
    """The combinations of values that some bucket columns must have for all conditions to be TRUE.

    Args:
        conditions: the conditions, joined by AND.
        names: the names of the bucket columns.
        partition_by: the partition columns.

    Attributes:
        listing: the conditions that list values of at least one of the columns; empty if a column's values
            are not known.
        positions: the positions of the partition columns on whose values the combinations depend.
        of_partitions: the combinations by the order keys of these partition values.
    """

    def __init__(
        self, conditions: Sequence[Condition], names: Sequence[str], partition_by: Sequence[str]
    ) -> None:
        self._names = names
        self._condition = Filter.all_of(each.filter for each in conditions).node
        own = set(names)
        about = {name for each in conditions if each.about & own for name in each.about}
        self.positions = [position for position, name in enumerate(partition_by) if name in about]
        by = [partition_by[position] for position in self.positions]
        allowed = allowed_values(self._condition, (*by, *names), MAX_HASHED_ROWS) if by else None
        if allowed is None:
            self.positions = []
            allowed = allowed_values(self._condition, names, MAX_HASHED_ROWS)
        self._is_listed = allowed is not None
        self.of_partitions: Mapping[_Key, Collection[Row]] = _grouped(allowed or (), len(self.positions))
        self.listing = [each for each in conditions if self._is_listed and self._lists(each)]

    def rows(self, key: _Key) -> Collection[Row] | None:
        """Return the combinations for partitions, by the order keys of their values, or None for any."""
        return self.of_partitions.get(key, ()) if self._is_listed else None

    def _lists(self, condition: Condition) -> bool:
        return any(
            allowed_values(condition.predicate, (name,), MAX_HASHED_ROWS) is not None for name in self._names
        )

    def reason(self, condition: Condition) -> str | None:
        """Return why a condition cannot choose buckets, or None if it can."""
        if condition in self.listing:
            return None
        about = [name for name in self._names if name in condition.about]
        if not self._lists(condition):
            many = [name for name in about if _listed(condition, name)]
            if many:
                return f"it allows for more than {MAX_HASHED_ROWS:,} values of {', '.join(many)}"
            return f"it does not list the values of {', '.join(about)}, by whose hash rows are in buckets"
        missing = [
            name for name in self._names if allowed_values(self._condition, (name,), sys.maxsize) is None
        ]
        if missing:
            return f"buckets are by {', '.join(self._names)} together, and no condition lists values of {', '.join(missing)}"
        return (
            f"the conditions allow for more than {MAX_HASHED_ROWS:,} combinations of {', '.join(self._names)}"
        )


def _listed(condition: Condition, name: str) -> bool:
    return allowed_values(condition.predicate, (name,), sys.maxsize) is not None


def _grouped(rows: Collection[Row], width: int) -> dict[_Key, list[Row]]:
    """Group rows by their first values."""
    groups: dict[_Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(map(order_key, row[:width])), []).append(row[width:])
    return groups
