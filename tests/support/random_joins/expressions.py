"""Random joins by expressions, below nodes that use the keys of both sides.

A join that pads rows with NULL, a UNION, or GROUPING SETS make rows that no table has. A claim about the rows
below, such as the buckets that they are in, need not be true of them:

    SELECT coalesce(CASE WHEN c.k IS NULL THEN 0 ELSE c.k END, a.k), count(*)
    FROM c FULL JOIN a ON CASE WHEN c.k IS NULL THEN 0 ELSE c.k END = a.k GROUP BY 1
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

_JOINS = ("FULL", "FULL", "FULL", "FULL", "FULL", "LEFT", "RIGHT", "INNER")
_ABOVE = ("LEFT", "FULL", "INNER", "RIGHT", "LEFT SEMI", "LEFT ANTI")
_NUMBERS = (
    "{k}", "{k}", "{j}", "coalesce({k}, 0)", "coalesce({k}, {j})", "CASE WHEN {k} IS NULL THEN 0 ELSE {k} END",
    "CASE {j} WHEN 1 THEN {k} WHEN 2 THEN 7 END", "if({k} IS NULL, 7, {k})", "if({k} > 7, {k}, -1)", "nullif({k}, 3)",
    "{k} + 1", "{k} % 5", "-{k}", "{k} * {j}", "abs({k})", "least({k}, {j})", "CAST({k} AS INT)", "CAST({k} AS DOUBLE)",
    "CAST({k} AS DECIMAL(12, 3))", "try_cast(CAST({k} AS STRING) AS BIGINT)",
)  # fmt: skip
_TEXTS = (
    "{s}", "{v}", "{c}", "coalesce({s}, '')", "coalesce({s}, {v})", "CASE WHEN {s} = 'a' THEN 'b' ELSE {s} END",
    "if({v} IS NULL, 'a', {v})", "upper({s})", "concat({s}, {v})", "concat_ws('-', {s}, {v})", "trim({c})",
    "CAST({k} AS STRING)", "CAST({d} AS STRING)", "nullif({s}, '')",
)  # fmt: skip
_DECIMALS = (
    "{m}", "{m}", "CAST({m} AS DECIMAL(9, 1))", "CAST({m} AS DECIMAL(12, 3))", "round({m}, 1)", "bround({m}, 1)",
    "CAST({m} AS FLOAT)", "CAST({m} AS DOUBLE)", "CAST({m} AS INT)", "{m} * 0.5BD", "{m} / 3", "floor({m})",
    "coalesce({m}, 0)", "CAST({f} AS DECIMAL(9, 2))",
)  # fmt: skip
_DAYS = (
    "{d}", "{d}", "CAST({t} AS DATE)", "coalesce({d}, DATE'1582-10-15')", "if({d} IS NULL, DATE'0001-01-01', {d})",
    "trunc({d}, 'MM')", "last_day({d})", "CASE WHEN {d} < DATE'1582-10-15' THEN DATE'1582-10-15' ELSE {d} END",
)  # fmt: skip
_TIMES = (
    "{t}", "{t}", "CAST({d} AS TIMESTAMP)", "date_trunc('DAY', {t})", "coalesce({t}, TIMESTAMP'1582-10-15 00:00:00')",
    "CAST({t} AS TIMESTAMP_NTZ)", "date_trunc('YEAR', {d})",
)  # fmt: skip
KINDS = {"number": _NUMBERS, "text": _TEXTS, "decimal": _DECIMALS, "day": _DAYS, "time": _TIMES}
"""Expressions of each kind of type, which can be compared with one another."""
_NEVER_NULL = {
    "number": ("CASE WHEN {k} IS NULL THEN 0 ELSE {k} END", "if({k} IS NULL, 7, {k})", "coalesce({k}, 0)"),
    "text": ("if({v} IS NULL, 'a', {v})", "CASE WHEN {s} IS NULL THEN '' ELSE {s} END", "coalesce({s}, '')"),
    "decimal": ("if({m} IS NULL, 0.05BD, {m})", "CASE WHEN {m} IS NULL THEN 1 ELSE {m} END"),
    "day": ("if({d} IS NULL, DATE'0001-01-01', {d})", "coalesce({d}, DATE'1582-10-15')"),
    "time": ("if({t} IS NULL, TIMESTAMP'1582-10-15 00:00:00', {t})",),
}
"""Expressions of each kind that are not NULL where their columns are, as in rows that a join pads."""
_KINDS_OF = {"k": "number", "j": "number", "m": "decimal", "f": "decimal", "d": "day", "t": "time"}
"""The kind of expressions of a bucket column; of others, `text`."""


class _Key(NamedTuple):
    """A key of a join on each side, and how they are compared."""

    left: str
    right: str
    operator: str

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"

    @property
    def both(self) -> str:
        """Return the key of whichever side has one."""
        return f"coalesce({self.left}, {self.right})"


class ExpressionQuery:
    """A maker of queries.

    Args:
        chance: makes the choices.
        buckets: the bucket columns of most tables: most keys are of them.
    """

    def __init__(self, chance: random.Random, buckets: Sequence[str]) -> None:
        self._chance = chance
        self._buckets = buckets

    def text(self) -> str:
        """Return a query."""
        shapes: list[Callable[[], str]] = [
            self._plain, self._distinct, self._distinct, self._grouped, self._grouped, self._sets, self._below_sets,
            self._joined_above, self._joined_above, self._by_both_sides, self._by_both_sides, self._exists_above,
            self._union, self._union,
        ]  # fmt: skip
        return self._chance.choice(shapes)()

    def _expression(self, kind: str, side: str) -> str:
        """Return an expression of one side: a bucket column itself, or computed."""
        return self._chance.choice(KINDS[kind]).format_map(_Columns(side))

    def _never_null(self, kind: str, side: str) -> str:
        return self._chance.choice(_NEVER_NULL[kind]).format_map(_Columns(side))

    def _bare(self, side: str) -> str:
        return f"{side}.{self._buckets[0]}"

    def _keys(self, left: str = "l", right: str = "r") -> list[_Key]:
        """Return one key, or two. Mostly, one side of the first is the first bucket column itself.

        Often, the other side is never NULL: then a padded row is not where its key says.
        """
        first = _KINDS_OF.get(self._buckets[0], "text")
        kinds = [first if self._chance.random() < 0.8 else self._chance.choice([*KINDS])]
        if self._chance.random() < 0.3:
            kinds.append(self._chance.choice([*KINDS]))
        found = []
        for number, kind in enumerate(kinds):
            one, other = self._expression(kind, left), self._expression(kind, right)
            turn = self._chance.random()
            if not number and kind == first:
                one = self._bare(left) if turn < 0.35 or turn > 0.85 else one
                other = self._bare(right) if turn > 0.45 else other
                if self._chance.random() < 0.4:
                    one, other = self._never_null(kind, left), self._bare(right)
            found.append(_Key(one, other, self._chance.choice(["=", "<=>", "<=>"])))
        return found

    def _pair(self, keys: Sequence[_Key]) -> str:
        """Return a join of two tables as it stands behind FROM."""
        one, other = self._chance.sample(["{a}", "{b}", "{c}"], 2)
        on = " AND ".join(map(str, keys))
        if all(_KINDS_OF.get(name, "text") == "text" for name in self._buckets):
            on += " AND l.k <=> r.k"  # few texts, so many rows
        return f"{one} l {self._chance.choice(_JOINS)} JOIN {other} r ON {on}"

    def _above(self, keys: Sequence[_Key]) -> list[str]:
        """Return expressions above a join, of the keys of either side or of both."""
        return [self._chance.choice([key.both, key.both, key.left, key.right]) for key in keys]

    def _plain(self) -> str:
        keys = self._keys()
        shown = ", ".join(f"CAST({each} AS STRING) AS c{i}" for i, each in enumerate(self._above(keys)))
        return f"SELECT l.n AS ln, r.n AS rn, {shown} FROM {self._pair(keys)}"

    def _distinct(self) -> str:
        keys = self._keys()
        inner = ", ".join(f"{each} AS c{i}" for i, each in enumerate(self._above(keys)))
        return _as_texts(f"SELECT DISTINCT {inner} FROM {self._pair(keys)}", len(keys))

    def _grouped(self) -> str:
        keys = self._keys()
        above = [
            self._chance.choice([[key.both], [key.both], [key.left, key.right], [key.right]]) for key in keys
        ]
        parts = [part for some in above for part in some]
        inner = ", ".join(f"{part} AS c{i}" for i, part in enumerate(parts))
        query = f"SELECT {inner}, count(*) AS n, sum(l.n) AS ln FROM {self._pair(keys)} GROUP BY {', '.join(parts)}"
        return _as_texts(query, len(parts), "n, ln")

    def _sets(self) -> str:
        return _as_texts(self._of_sets(), 2, "n, g")

    def _of_sets(self) -> str:
        """Return GROUPING SETS above a join, whose columns are c0, c1, n and g."""
        keys = self._keys()
        parts = [keys[0].left, keys[-1].right if keys[-1].right != keys[0].left else "r.j"]
        sets = self._chance.choice(
            ["CUBE (c0, c1)", "ROLLUP (c0, c1)", "GROUPING SETS ((c0), (c1), (c0, c1))"]
        )
        inner = f"SELECT {parts[0]} AS c0, {parts[1]} AS c1 FROM {self._pair(keys)}"
        return f"SELECT c0, c1, count(*) AS n, grouping_id() AS g FROM ({inner}) GROUP BY {sets}"

    def _below_sets(self) -> str:
        """Return a join with a bucketed table above GROUPING SETS, which pad keys with NULL."""
        bare, third = self._buckets[0], self._third()
        inner = f"SELECT {bare} AS c0, j AS c1, count(*) AS n FROM {{a}} GROUP BY CUBE ({bare}, j)"
        join, operator = self._chance.choice(_ABOVE), self._chance.choice(["=", "<=>"])
        columns = "x.n" if "LEFT " in join else "x.n, t.n AS tn"
        return f"SELECT {columns} FROM ({inner}) x {join} JOIN {third} t ON x.c0 {operator} t.{bare}"

    def _third(self) -> str:
        return self._chance.choice(["{a}", "{b}", "{c}"])

    def _joined_above(self) -> str:
        """Return a join by keys of either side of a join below."""
        keys = self._keys()
        first, second = keys[0], self._chance.choice(keys)
        inner = (
            f"SELECT {first.left} AS c0, {first.right} AS c1, {second.both} AS c2, l.n AS ln, r.n AS rn "
            f"FROM {self._pair(keys)}"
        )
        join = self._chance.choice(_ABOVE)
        on = [
            f"x.{self._chance.choice(['c0', 'c1'])} {self._chance.choice(['=', '<=>'])} {self._bare('t')}",
        ]
        if self._chance.random() < 0.4:
            on.append(f"x.c1 <=> {self._bare('t')}")
        columns = "x.ln, x.rn" if "LEFT " in join else "x.ln, x.rn, t.n AS tn"
        if _kind(self._buckets[0]) != _kind_of_keys(first, self._buckets[0]):
            on = ["x.ln <=> t.n"]
        return f"SELECT {columns} FROM ({inner}) x {join} JOIN {self._third()} t ON {' AND '.join(on)}"

    def _by_both_sides(self) -> str:
        """Return a join by the keys of both sides of a join below: one of them is NULL in padded rows."""
        bare = self._buckets[0]
        keys = self._keys() if self._chance.random() < 0.4 else [_Key(f"l.{bare}", f"r.{bare}", "<=>")]
        inner = f"SELECT {self._bare('l')} AS c0, {self._bare('r')} AS c1, l.n AS ln, r.n AS rn FROM {self._pair(keys)}"
        padded = [
            f"nullif({bare}, {bare}) AS c0, {bare} AS c1",
            f"{bare} AS c0, nullif({bare}, {bare}) AS c1",
        ]
        third = f"(SELECT {self._chance.choice(padded)}, n FROM {self._third()})"
        join = self._chance.choice(_ABOVE)
        columns = "x.ln, x.rn" if "LEFT " in join else "x.ln, x.rn, t.n AS tn"
        return f"SELECT {columns} FROM ({inner}) x {join} JOIN {third} t ON t.c0 <=> x.c0 AND t.c1 <=> x.c1"

    def _exists_above(self) -> str:
        keys = self._keys()
        inner = f"SELECT {keys[0].both} AS c0, l.n AS ln, r.n AS rn FROM {self._pair(keys)}"
        way = self._chance.choice(["EXISTS", "NOT EXISTS"])
        bare = self._buckets[0]
        same = f"t.{bare} <=> x.c0" if _kind_of_keys(keys[0], bare) == _kind(bare) else "t.n = x.ln"
        return (
            f"SELECT x.ln, x.rn FROM ({inner}) x WHERE {way} (SELECT 1 FROM {self._third()} t WHERE {same})"
        )

    def _union(self) -> str:
        """Return groups, or a join, above a UNION ALL of a join's keys and a table's."""
        bare, keys = self._buckets[0], self._keys()
        same = _kind_of_keys(keys[0], bare) == _kind(bare)
        key = self._chance.choice([keys[0].both, keys[0].left, keys[0].right]) if same else self._bare("r")
        union = (
            f"SELECT {key} AS c0, l.n AS n FROM {self._pair(keys)} UNION ALL "
            f"SELECT {bare}, n FROM {self._third()}"
        )
        if self._chance.random() < 0.5:
            return _as_texts(f"SELECT c0, count(*) AS n FROM ({union}) GROUP BY c0", 1, "n")
        join = self._chance.choice(_ABOVE)
        columns = "x.n" if "LEFT " in join else "x.n, t.n AS tn"
        return f"SELECT {columns} FROM ({union}) x {join} JOIN {self._third()} t ON x.c0 = t.{bare}"


class _Columns(dict[str, str]):
    """The columns of a side, by their names."""

    def __init__(self, side: str) -> None:
        super().__init__()
        self._side = side

    def __missing__(self, name: str) -> str:
        return f"{self._side}.{name}"


def _kind(column: str) -> str:
    return _KINDS_OF.get(column, "text")


def _kind_of_keys(key: _Key, bare: str) -> str:
    """Return the kind of a key: of the first bucket column, or of the expressions on both sides."""
    sides = {key.left, key.right}
    if {f"l.{bare}", f"r.{bare}"} & sides:
        return _kind(bare)
    known = {
        text.format_map(_Columns(side)): kind
        for kinds in (_NEVER_NULL, KINDS)
        for kind, some in kinds.items()
        for text in some
        for side in "lr"
    }
    return known[key.left]


def _as_texts(query: str, count: int, more: str = "") -> str:
    """Return a query of columns c0, c1, …, as texts: Python has no year 10,000, and none before the first."""
    columns = [f"CAST(c{i} AS STRING) AS c{i}" for i in range(count)]
    return f"SELECT {', '.join([*columns, *([more] if more else [])])} FROM ({query})"
