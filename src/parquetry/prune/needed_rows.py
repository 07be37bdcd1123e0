"""The rows of a scan that a query needs, where these are not all rows that satisfy its conditions.

The bridge finds a LIMIT, an order or aggregates above a scan, and says what it found. The rules in
`rules.results` decide which files the scan can leave out for it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from parquetry.identifiers import field_path

AggregateCall = tuple[Literal["count", "min", "max", "count_distinct"], str | None]
"""A function and its column. `("count", None)` is COUNT(*), `count_distinct` COUNT(DISTINCT column)."""


class SortKey(msgspec.Struct, frozen=True):
    """The first key of an ORDER BY.

    Attributes:
        column: the column, or None if the key is an expression.
        text: the key as SQL.
        descending: whether the greatest values come first.
        nulls_first: whether NULL comes before all values.
        padded: whether the key is a char with blanks up to its length.
        tree: the expression (see `predicate.reading.operand_trees`), or None if the key is a column, or no
            expression of the table's columns.
    """

    column: str | None
    text: str
    descending: bool = False
    nulls_first: bool = True
    padded: bool = False
    tree: dict[str, Any] | None = None


class AggregateFunction(msgspec.Struct, frozen=True):
    """A function of an aggregate, and its column, or None for COUNT(*)."""

    function: Literal["count", "min", "max", "count_distinct"]
    column: str | None


class Hindrance(msgspec.Struct, frozen=True):
    """A fact of the plan that keeps a query from needing fewer files.

    Attributes:
        unknown: the conditions above the scan that the scan was not planned with, as SQL.
        skipping: the setting that has readers skip damaged files, or None if they raise errors.
    """

    unknown: list[str] = []
    skipping: str | None = None

    @property
    def reason(self) -> str | None:
        """Return the first reason why all files are needed, or None if there is none."""
        if self.skipping is not None:
            return f"{self.skipping} lets readers skip files"
        if self.unknown:
            return f"a row may fail {self.unknown[0]}, which statistics do not decide"
        return None


class FirstRows(msgspec.Struct, frozen=True):
    """A LIMIT above a scan: any rows, or the first ones in an order.

    Attributes:
        count: the number of rows, at least one.
        key: the first sort key, or None if any rows are wanted.
        ties: whether all rows are needed that equal the last one in the key, because further keys or ranks
            decide among them.
        distinct: whether `count` counts distinct values of the key, in place of rows; then all rows with
            these values are needed.
        hindrance: a fact against it.
        written: its text in the query if it is not a LIMIT, such as `max(v)`.
    """

    count: int
    key: SortKey | None = None
    ties: bool = False
    distinct: bool = False
    hindrance: Hindrance = Hindrance()
    written: str | None = None

    @property
    def text(self) -> str:
        """Return it as a reader of the report knows it.

        >>> FirstRows(10, SortKey("v", "v", descending=True)).text
        'ORDER BY v DESC LIMIT 10'
        """
        if self.written is not None:
            return self.written
        if self.key is None:
            return f"LIMIT {self.count:,}"
        return f"ORDER BY {self.key.text}{' DESC' * self.key.descending} LIMIT {self.count:,}"


class WholeAggregate(msgspec.Struct, frozen=True):
    """COUNT, MIN and MAX of all rows that satisfy a scan's conditions, without groups.

    Attributes:
        functions: each with its `function` and its `column`, or None for `count(*)`.
        hindrance: a fact against it.
        explained: whether all files are read for it, and the report only has to say why.
    """

    functions: list[AggregateFunction]
    hindrance: Hindrance = Hindrance()
    explained: bool = False

    @property
    def calls(self) -> list[AggregateCall]:
        """Return the functions and their columns."""
        return [(each.function, each.column) for each in self.functions]

    @property
    def text(self) -> str:
        """Return the functions as SQL.

        >>> WholeAggregate([AggregateFunction("count", None), AggregateFunction("max", "v")]).text
        'count(*), max(v)'
        """
        names = [".".join(field_path(each.column or "*")) for each in self.functions]
        return ", ".join(f"{each.function}({name})" for each, name in zip(self.functions, names, strict=True))
