"""Columns of random types, with few values of each, and conditions on these values, to test pruning."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from parquetry.metastore import TableColumn, TableMetadata
from parquetry.predicate.nodes import (
    OPERATORS,
    And,
    BooleanConstant,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    TupleIn,
)
from parquetry.types import ColumnType, Value
from tests.support.tables.generated_tables import PATTERNS, POOLS, TYPES

Row = tuple[Value, ...]
# a time in the first half hour of 1970 looks like a date from before the column was widened
VALUES = POOLS | {
    "timestamp_ntz": [None if value is None else value + (1 << 40) for value in POOLS["timestamp_ntz"]]
}
_JSON = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
}


class RandomTable:
    """The columns of a table: its rows are arranged by `a`, `b`, `c` or fewer; beside them are `v` and `p`.

    `p` is a partition column.

    Attributes:
        columns: names and types.
        names: of the columns.
        pools: of each column three values and NULL, so that rows, records and literals meet.
        metadata: of a table of these columns.
    """

    def __init__(self, chance: Random) -> None:
        arranged = [(name, chance.choice(TYPES)) for name in "abc"[: chance.randint(1, 3)]]
        parts = [
            type for type in TYPES if not type.floating and type.name not in ("string", "char", "binary")
        ]
        self.columns: list[tuple[str, ColumnType]] = [*arranged, ("v", TYPES[3]), ("p", chance.choice(parts))]
        self.names = [name for name, _ in self.columns]
        self.pools: list[list[Value]] = [
            [None, *chance.sample(VALUES[str(type)], min(3, len(VALUES[str(type)])))]
            for _, type in self.columns
        ]
        columns = tuple(TableColumn(name, _JSON.get(str(type), str(type))) for name, type in self.columns)
        self.metadata = TableMetadata(columns, ("p",), "parquet", "/lake/db.db/t")

    def partitions(self, chance: Random) -> list[Value]:
        """Return values of the partition column, each once."""
        values = [value for value in self.pools[-1] if value not in ("", b"")]
        return chance.sample(values, chance.randint(1, len(values)))

    @staticmethod
    def tuples(chance: Random, pools: Sequence[Sequence[Value]], count: int) -> list[Row]:
        """Return combinations of one value of each of some pools."""
        return [tuple(chance.choice(pool) for pool in pools) for _ in range(count)]

    def condition(self, chance: Random, depth: int) -> Predicate:
        """Return a condition on all columns, mostly on skewed ones."""
        kind = chance.random()
        if depth and kind < 0.65:
            children = tuple(self.condition(chance, depth - 1) for _ in range(chance.randint(2, 3)))
            return And(children) if kind < 0.25 else Or(children) if kind < 0.5 else Not(children[0])
        skewed = len(self.columns) - 2
        place = chance.choices(range(skewed + 2), weights=[6] * skewed + [1, 1])[0]
        name, type = self.columns[place]
        pool = self.pools[place] if chance.random() < 0.9 else [None, *VALUES[str(type)]]
        known = [value for value in pool if value is not None]
        match chance.randrange(12):
            case 0:
                return IsNull(name)
            case 1 if type.name != "binary":
                return Like(name, chance.choice(PATTERNS), "\\", type)
            case 2 | 3:
                values = tuple(chance.choices(known, k=chance.randint(0, 3)))
                return In(name, values, type, chance.random() < 0.1)
            case 4 | 5:
                places = chance.sample(range(len(self.columns)), chance.randint(1, len(self.columns)))
                rows = self.tuples(chance, [self.pools[each] for each in places], chance.randint(0, 4))
                names, types = zip(*(self.columns[each] for each in places), strict=True)
                return TupleIn(names, tuple(rows), types)
            case 6 if chance.random() < 0.2:
                return BooleanConstant(chance.choice((True, False, None)))
        return Compare(chance.choice(("=", "=", "=", *OPERATORS)), name, chance.choice(pool), type)
