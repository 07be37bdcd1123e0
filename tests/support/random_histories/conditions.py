"""Random conditions on columns: what users write in WHERE, and what no pruning may be misled by."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tests.support.random_histories.tables.shapes import RandomColumn, identifier
from tests.support.random_histories.tables.values import (
    FLOATS,
    INTERVALS,
    LONG,
    NESTED,
    SCALARS,
    TEXTS,
    TIMES,
    WHOLE,
    Draw,
    text,
)

Term = tuple[str, str]
"""A column as a query names it, and its type."""
Others = Sequence[tuple[str, Sequence[Term]]]
"""Sources of subqueries: a table as a query names it, and its columns by the alias `z`."""

_PATTERNS = ["a%", "%b", "%a%", "a_b", "a\\%b", "_", "%", "x%", LONG + "%", "é%", "", "A", "ab%"]


def terms(columns: Sequence[RandomColumn], alias: str) -> list[Term]:
    """Return columns as a query names them by an alias."""
    return [(f"{alias}.{identifier(column.name)}", column.type) for column in columns]


def scalar_terms(of: Sequence[Term]) -> list[Term]:
    """Return those whose values hold no others."""
    return [term for term in of if term[1] in SCALARS]


class Conditions:
    """Makes conditions on some columns.

    Args:
        draw: the source of chance.
        of: the columns; at least one of them is of a scalar type.
        others: what subqueries may read.
    """

    def __init__(self, draw: Draw, of: Sequence[Term], others: Others = ()) -> None:
        self.draw = draw
        self.of = of
        self.others = others
        self._kinds: list[Callable[[], str | None]] = [
            *[self._compared] * 6,
            *[self._listed] * 3,
            self._between,
            self._null,
            self._columns,
            self._like,
            *[self._texts] * 2,
            self._times,
            self._whole,
            self._coalesced,
            self._nested,
            self._floats,
            self._tuples,
            self._case,
            self._as_text,
            lambda: f"nullif({(term := self._term())[0]}, {draw.plain(term[1])}) IS NULL",
            lambda: f"NOT ({(term := self._term())[0]} = {draw.plain(term[1])})",
        ]

    def tree(self, depth: int) -> str:
        """Return conditions joined by AND, OR and NOT, in so many levels."""
        kind = self.draw.random()
        if self.others and depth and kind < 0.12 and (found := self._subquery()):
            return found
        if depth == 0 or kind < 0.35:
            return self.leaf()
        if kind < 0.9:
            joint = "AND" if kind < 0.65 else "OR"
            return f"({self.tree(depth - 1)} {joint} {self.tree(depth - 1)})"
        return f"NOT ({self.tree(depth - 1)})"

    def leaf(self) -> str:
        """Return one condition."""
        return self.draw.choice(self._kinds)() or self._compared()

    def _term(self, types: Collection[str] = SCALARS) -> Term:
        return self.draw.choice([term for term in self.of if term[1] in types])

    def _has(self, types: Collection[str]) -> bool:
        return any(type in types for _, type in self.of)

    def _compared(self) -> str:
        column, type = self._term()
        operator = self.draw.choice(["=", "=", "<", "<=", ">", ">=", "<>", "<=>"])
        literal = self.draw.plain(type)
        return f"{column} {operator} {literal}" if self.draw.often(0.8) else f"{literal} {operator} {column}"

    def _listed(self) -> str:
        column, type = self._term()
        values = ", ".join(self.draw.plain(type) for _ in range(self.draw.choice([1, 2, 3, 12])))
        return f"{column} {self.draw.choice(['IN', 'IN', 'NOT IN'])} ({values})"

    def _between(self) -> str:
        column, type = self._term()
        return f"{column} BETWEEN {self.draw.plain(type)} AND {self.draw.plain(type)}"

    def _null(self) -> str:
        return f"{self.draw.choice(self.of)[0]} IS {self.draw.choice(['', 'NOT '])}NULL"

    def _columns(self) -> str:
        column, type = self._term()
        return f"{column} {self.draw.choice(['=', '<', '<=>', '<>', '>='])} {self._term([type])[0]}"

    def _like(self) -> str | None:
        if not self._has(TEXTS):
            return None
        pattern = text(self.draw.choice(_PATTERNS))
        return f"{self._term(TEXTS)[0]} {self.draw.choice(['', 'NOT '])}LIKE {pattern}"

    def _texts(self) -> str | None:
        if not self._has(TEXTS):
            return None
        column, _ = self._term(TEXTS)
        cut = f"substr({column}, 1, {self.draw.randrange(4)}) {self.draw.choice(['=', '>', '<='])}"
        return self.draw.choice(
            [
                f"{cut} {text(self.draw.choice(['a', 'x', '', 'ab', '20']))}",
                f"upper({column}) = 'A'",
                f"length({column}) {self.draw.choice(['=', '>'])} {self.draw.randrange(4)}",
                f"trim({column}) = 'a'",
                f"concat({column}, 'b') = 'ab'",
                f"left({column}, 1) >= 'a'",
                f"startswith({column}, 'a')",
                f"contains({column}, 'b')",
                f"endswith({column}, 'a')",
                f"{column} = 1",
                f"{column} > 5",
                f"try_cast({column} AS INT) = 1",
            ]
        )

    def _times(self) -> str | None:
        if not self._has(TIMES):
            return None
        column, _ = self._term(TIMES)
        year = f"year({column}) {self.draw.choice(['=', '>', '<='])}"
        return self.draw.choice(
            [
                f"{year} {self.draw.choice([1, 1582, 1969, 1970, 2024])}",
                f"month({column}) = 2",
                f"date_trunc('month', {column}) = TIMESTAMP'2024-02-01 00:00:00'",
                f"to_date({column}) = DATE'2024-02-29'",
                f"CAST({column} AS DATE) <= DATE'1970-01-01'",
                f"date_add(CAST({column} AS DATE), 1) > DATE'2024-03-01'",
                f"trunc({column}, 'YEAR') = DATE'2024-01-01'",
                f"CAST({column} AS STRING) LIKE '2024%'",
                f"date_format({column}, 'yyyy-MM') = '2024-02'",
                f"{column} < DATE'2024-02-29'",
                f"{column} >= TIMESTAMP'2024-02-29 00:00:00'",
                f"{column} = TIMESTAMP_NTZ'1970-01-01 00:00:00'",
            ]
        )

    def _whole(self) -> str | None:
        if not self._has(WHOLE):
            return None
        column, _ = self._term(WHOLE)
        return self.draw.choice(
            [
                f"{column} % 2 = {self.draw.randrange(2)}",
                f"try_add({column}, 1) > 1",
                f"abs(CAST({column} AS DECIMAL(38,0))) = 1",
                f"CAST({column} AS STRING) = '1'",
                f"CAST({column} AS DOUBLE) < 1.5",
                f"-CAST({column} AS DECIMAL(20,0)) < 0",
                f"CAST({column} AS BIGINT) IN (1, 2)",
                f"pmod({column}, 3) = 1",
                f"{column} / 2 = 1",
            ]
        )

    def _floats(self) -> str | None:
        if not self._has(FLOATS):
            return None
        column, _ = self._term(FLOATS)
        return self.draw.choice(
            [
                f"isnan({column})",
                f"NOT isnan({column})",
                f"{column} = -0.0D",
                f"{column} > 1e308",
                f"{column} >= CAST('NaN' AS DOUBLE)",
                f"{column} <> 0",
                f"{column} IN (CAST('NaN' AS DOUBLE), 0)",
                f"abs({column}) = 1.5",
                f"NOT ({column} > 0)",
                f"{column} = 0.1",
            ]
        )

    def _nested(self) -> str | None:
        if not self._has(NESTED):
            return None
        column, type = self._term(NESTED)
        return self.draw.choice(
            {
                "ARRAY<INT>": [
                    f"array_contains({column}, 1)",
                    f"size({column}) = 1",
                    f"get({column}, 0) = 1",
                ],
                "MAP<STRING,INT>": [f"try_element_at({column}, 'a') = 1", f"size({column}) > 1"],
                "STRUCT<a:INT,b:STRING>": [
                    f"{column}.a = 1",
                    f"{column}.b IS NULL",
                    f"({column}.a > 1 OR {column}.b = 'x')",
                ],
                "ARRAY<STRUCT<a:INT,b:STRING>>": [f"get({column}, 0).a = 1"],
            }[type]
        )

    def _coalesced(self) -> str:
        column, type = self._term()
        instead = self.draw.literal(type, 0)
        return (
            f"coalesce({column}, {instead}) {self.draw.choice(['=', '<', '>='])} {self.draw.literal(type, 0)}"
        )

    def _tuples(self) -> str:
        (one, type), (other, second) = self._term(), self._term()
        rows = [f"({self.draw.literal(type, 0.1)}, {self.draw.literal(second, 0.1)})" for _ in range(5)]
        return f"({one}, {other}) IN ({', '.join(rows[: self.draw.choice([1, 2, 5])])})"

    def _case(self) -> str:
        column, type = self._term()
        literal = self.draw.plain(type)
        return f"CASE WHEN {column} = {literal} THEN true WHEN {column} IS NULL THEN NULL ELSE false END"

    def _as_text(self) -> str:
        column, type = self._term()
        if type == "BINARY":
            return f"hex({column}) > '5'"
        literal = text(self.draw.choice(["1", "a", "2024", "0.0", "-0.0", "NaN"]))
        return f"CAST({column} AS STRING) {self.draw.choice(['=', '<', '>'])} {literal}"

    def _subquery(self) -> str | None:
        name, columns = self.draw.choice(list(self.others))
        column, type = self._term()
        near = WHOLE if type in WHOLE else [type]
        pairs = [other for other, its in columns if its == type] or [
            other for other, its in columns if its in near
        ]
        if not pairs or type in INTERVALS:
            return None
        other = self.draw.choice(pairs)
        inner = Conditions(self.draw, columns).tree(1)
        found = f"FROM {name} z WHERE {inner}"
        return self.draw.choice(
            [
                f"{column} IN (SELECT {other} {found})",
                f"{column} NOT IN (SELECT {other} {found} AND {other} IS NOT NULL)",
                f"EXISTS (SELECT 1 {found} AND {other} = {column})",
                f"NOT EXISTS (SELECT 1 {found} AND {other} = {column})",
                f"EXISTS (SELECT 1 {found} AND {other} <=> {column})",
                f"{column} {self.draw.choice(['=', '<', '>='])} (SELECT {self.draw.choice(['max', 'min'])}({other}) {found})",
            ]
        )
