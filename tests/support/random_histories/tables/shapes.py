"""The columns of tables: their names and types, and random ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tests.support.random_histories.tables.values import NESTED, SCALARS, Draw

ODD_NAMES = [
    "a b",
    "ü.x",
    "p=/%",
    "Sélect",
    "from",
    "0",
    "rows",
    "sum(x)",
    "😀",
    "y" * 60,
    "a,b",
    "it's",
]
"""None has a backtick: of such a column Spark's reader of ORC gives NULL, in its own tables, too."""

KEY_TYPES = ["INT", "BIGINT", "STRING", "DATE"]
"""Types of the key that rows are merged by: their literals are as many values."""


class RandomColumn(NamedTuple):
    """A column of a table: its name, its type, and the expression that is its default, or None."""

    name: str
    type: str
    default: str | None = None

    @property
    def scalar(self) -> bool:
        """Whether its values hold no others."""
        return self.type in SCALARS


def identifier(name: str) -> str:
    """Write a name as SQL's identifier, in backticks where it is no plain word."""
    plain = re.fullmatch(r"[a-z]\w*", name, re.ASCII) and name not in ODD_NAMES
    return name if plain else f"`{name.replace('`', '``')}`"


@dataclass(frozen=True)
class TableShape:
    """The columns of a table; its partition columns stand behind all others.

    Attributes:
        columns: columns of the files. The first is the key that rows are merged by.
        parts: the partition columns.
    """

    columns: tuple[RandomColumn, ...]
    parts: tuple[RandomColumn, ...] = ()

    @property
    def all(self) -> tuple[RandomColumn, ...]:
        """All of them, as SELECT * gives them."""
        return self.columns + self.parts

    def scalars(self, without: Collection[str] = ()) -> list[str]:
        """Return the SQL names of the files' columns with scalar values, without some types."""
        return [identifier(c.name) for c in self.columns if c.scalar and c.type not in without]

    def names(self, alias: str = "") -> str:
        """Return all names as a list of SQL's, each by an alias."""
        return ", ".join(f"{alias}{identifier(column.name)}" for column in self.all)

    def with_column(self, name: str, new: RandomColumn) -> TableShape:
        """Return the shape with one column in the place of another."""

        def swapped(columns: Iterable[RandomColumn]) -> tuple[RandomColumn, ...]:
            return tuple(new if column.name == name else column for column in columns)

        return TableShape(swapped(self.columns), swapped(self.parts))


def drawn_shape(draw: Draw) -> TableShape:
    """Return random columns: a key and up to five more, and up to three partition columns."""
    odd = draw.sample(ODD_NAMES, 2) if draw.often(0.25) else []

    def name(usual: str) -> str:
        return odd.pop() if odd and draw.often(0.3) else usual

    columns = [RandomColumn("k", draw.choice(KEY_TYPES))]
    for number in range(draw.randint(2, 5)):
        types = list(SCALARS if draw.often(0.85) else NESTED)
        columns.append(RandomColumn(name(f"c{number}"), draw.choice(types)))
    parts = []
    for number in range(draw.choice([0, 1, 1, 2, 3])):
        types = ["INT", "STRING", "DATE"] if draw.often(0.4) else list(SCALARS)
        parts.append(RandomColumn(name(f"p{number}"), draw.choice(types)))
    return TableShape(tuple(columns), tuple(parts))
