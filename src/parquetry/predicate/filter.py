"""A condition that is ready for use, and whose type says so: bound to its columns, and in normal form.

There are three doors: `reading.parse.parse_filter` for text, `reading.spark_json.filter_from_json` for Spark's trees, `Filter.bind`
for nodes that others built. Behind them nothing is bound or normalised again: whatever plans, prunes or tests keys
takes a `Filter` and may rely on it.

- Each column is named as the table names it, and each literal is of its column's type.
- No literal is NULL: `c = NULL` has become NULL, `c <=> NULL` has become `c IS NULL`.
- NOT stands before IS NULL, IN without NULL, tuple IN, LIKE and what is not understood, and nowhere else.
- AND lies in no AND, OR in no OR; TRUE and FALSE stand alone.

What is made of filters is a filter, too: joined by AND (`Filter.all_of`), weakened to the columns of partitions
(`prune.partition_plans`), or left over where a range of keys has decided the rest (`scan.generate`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from parquetry.predicate.bind import bind
from parquetry.predicate.nodes import TRUE, Predicate
from parquetry.predicate.normalise import conjoin, normalise
from parquetry.types import ColumnType


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition, bound and normal.

    The constructor believes what it is given; conditions from elsewhere come by a door.

    Attributes:
        node: the condition.
    """

    node: Predicate

    @classmethod
    def bind(cls, node: Predicate, columns: Mapping[str, ColumnType], zone: str = "UTC") -> Filter:
        """Make a filter of any condition.

        Args:
            node: its columns may be named in any case, its literals of other types than their columns.
            columns: the columns' types by name.
            zone: where a date and a timestamp are compared, and where quoted timestamps were written.

        Raises:
            ColumnNotFoundError: there is no such column.
            ValueTypeError: a literal cannot be compared with its column at all.
            UnsupportedError: AND and OR lie within each other too deep.

        >>> from parquetry.predicate.nodes import IsNull, Not, Or, equal
        >>> int_ = ColumnType('int')
        >>> print(Filter.bind(Not(Or((IsNull('A'), equal('a', 5, int_)))), {'a': int_}))
        a IS NOT NULL AND a != 5
        """
        return cls(normalise(bind(node, columns, zone)))

    @classmethod
    def all_of(cls, filters: Iterable[Filter]) -> Filter:
        """Join filters with AND; none is `EVERY_ROW`."""
        given = tuple(filters)
        return given[0] if len(given) == 1 else cls(conjoin(each.node for each in given))

    def __str__(self) -> str:
        return str(self.node)


EVERY_ROW = Filter(TRUE)
"""The filter that is TRUE for every row."""
