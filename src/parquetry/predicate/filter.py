"""A condition that is ready for use: bound to its columns, and in normal form (`Filter`).

Three functions make filters: `reading.parse.parse_filter` from text, `reading.spark_json.filter_from_json`
from Spark's trees, and `Filter.bind` from nodes. Other code makes filters from filters only: it joins them by
AND (`Filter.all_of`), weakens them to partition columns (`prune.partition_plans`), or keeps the residual of a
key range (`scan.generate`).
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
    """A condition that is bound to a table's columns and in normal form.

    ## What it is

    A condition as users write it has names in any case, literals of any type, and NOT anywhere. First `bind`
    settles names and types, then `normalise` settles the form. The type `Filter` says that both are done.
    Planning, pruning and tests of keys take a `Filter`, never a bare node. They rely on four properties:

    - Each column has the table's spelling, and each literal has its column's type.
    - No literal is NULL: `c = NULL` has become NULL, and `c <=> NULL` has become `c IS NULL`.
    - NOT stands only before IS NULL, IN without NULL, tuple IN, LIKE and conditions that are not understood.
    - No AND contains an AND, no OR contains an OR. TRUE and FALSE stand alone.

    ## Example

    A table has the columns `a int` and `b string`:

    | condition                      | filter                     | reason                                      |
    |--------------------------------|----------------------------|---------------------------------------------|
    | `A < 2.5`                      | `a <= 2`                   | no int is between 2 and 2.5                 |
    | `a = 2.5`                      | `a IS NULL AND NULL`       | FALSE for each value, NULL for NULL         |
    | `NOT (a IS NULL OR a = 5)`     | `a IS NOT NULL AND a != 5` | NOT is pushed to the leaves                 |
    | `a = 1 OR b <=> NULL OR a = 2` | `a IN (1, 2) OR b IS NULL` | equalities of one column become one IN      |

    >>> from parquetry.predicate import parse_filter
    >>> print(parse_filter('a = 1 OR b <=> NULL OR a = 2', {'a': ColumnType('int'), 'b': ColumnType('string')}))
    a IN (1, 2) OR b IS NULL

    ## What it is not

    A filter is neither weaker nor stronger than its condition: for each row it is TRUE, FALSE or NULL exactly
    where the condition is. It is not minimal: `a > 3 AND a > 5` keeps both parts. It is not a plan: `scan`
    makes key ranges from it, and `predicate.pruning` judges containers by it.

    The constructor checks nothing. Conditions from elsewhere go through `bind`.

    ## Why not otherwise

    Binding at each use would repeat the hard cases (an int column and the literal 2.5, a padded char) in
    every rule, and a rule that forgets one loses rows. A disjunctive normal form would make ranges simpler,
    but twenty factors of two alternatives each, `(a = 1 OR b = 1) AND (a = 2 OR b = 2) AND …`, have 2^20
    terms. A flat tree never grows.

    References: PyIceberg's unbound and bound expressions; sqlglot's `optimizer.normalize`, which estimates
    the cost of a normal form before it computes one.

    Attributes:
        node: the condition.
    """

    node: Predicate

    @classmethod
    def bind(cls, node: Predicate, columns: Mapping[str, ColumnType], zone: str = "UTC") -> Filter:
        """Make a filter of any condition.

        Args:
            node: the condition; its columns may be named in any case, its literals may have other types.
            columns: the columns' types by name.
            zone: the time zone for quoted timestamps, and for comparing a date with a timestamp.

        Raises:
            ColumnNotFoundError: there is no such column.
            ValueTypeError: a literal cannot be compared with its column at all.
            UnsupportedError: AND and OR are nested too deep.

        >>> from parquetry.predicate.nodes import IsNull, Not, Or, equal
        >>> int_ = ColumnType('int')
        >>> print(Filter.bind(Not(Or((IsNull('A'), equal('a', 5, int_)))), {'a': int_}))
        a IS NOT NULL AND a != 5
        """
        return cls(normalise(bind(node, columns, zone)))

    @classmethod
    def all_of(cls, filters: Iterable[Filter]) -> Filter:
        """Join filters with AND; no filters give `EVERY_ROW`."""
        several = tuple(filters)
        return several[0] if len(several) == 1 else cls(conjoin(each.node for each in several))

    def __str__(self) -> str:
        return str(self.node)


EVERY_ROW = Filter(TRUE)
"""The filter that is TRUE for every row."""
