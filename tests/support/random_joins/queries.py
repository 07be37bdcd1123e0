"""Random queries with joins of the tables `{a}`, `{b}` and `{c}`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.support.random_joins.conditions import RandomConditions
from tests.support.random_joins.tables import KEYS

JOINS = ("INNER", "INNER", "LEFT", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
_ONE_SIDED = ("LEFT SEMI", "LEFT ANTI")
_TWO_SIDED = tuple(join for join in JOINS if join not in _ONE_SIDED)
_HINTS = (
    "MERGE(r)",
    "MERGE(l)",
    "SHUFFLE_HASH(r)",
    "SHUFFLE_HASH(l)",
    "BROADCAST(r)",
    "BROADCAST(l)",
    "REPARTITION(3)",
)


class RandomQuery:
    """A maker of queries.

    Args:
        chance: makes the choices.
        buckets: the bucket columns of most tables: most joins are on them.
    """

    def __init__(self, chance: random.Random, buckets: Sequence[str]) -> None:
        self._chance = chance
        self._buckets = buckets
        self._conditions = RandomConditions(chance, buckets)

    def text(self) -> str:
        """Return a query."""
        shapes = [
            *[self._plain] * 6,
            *[self._chain] * 4,
            *[self._grouped] * 2,
            *[self._over_aggregate] * 2,
            *[self._over_union] * 2,
            *[self._not_in, self._exists, self._exists],
            *[self._scalar, self._joined_scalar, self._using, self._window, self._first_rows],
            *[self._common, self._inner_view],
        ]
        return self._chance.choice(shapes)()

    def _tables(self) -> list[str]:
        """Return three tables; two of them may be one."""
        names = ["{a}", "{b}", "{c}"]
        if self._chance.random() < 0.2:
            names[1] = names[0]
        return self._chance.sample(names, 3)

    def _keys(self) -> list[str]:
        """Return the bucket columns of most tables, and a key that leaves few matches."""
        return list(dict.fromkeys([*self._buckets, "k"]))

    def _source(self, table: str) -> str:
        """Return a table, or a part of it, as it stands in FROM."""
        kind = self._chance.random()
        if kind < 0.55:
            return table
        if kind < 0.8:
            return f"(SELECT * FROM {table} WHERE {self._conditions.of_one_side('')})"
        columns = ", ".join([*KEYS, "n", "p"])
        if kind < 0.9:
            return f"(SELECT {columns}, k + 1 AS k1 FROM {table})"
        return f"(SELECT DISTINCT {columns} FROM {table})"

    def _hint(self) -> str:
        return f"/*+ {self._chance.choice(_HINTS)} */ " if self._chance.random() < 0.12 else ""

    def _where(self, join: str) -> str:
        if self._chance.random() < 0.65:
            return ""
        return f" WHERE {self._conditions.of_one_side(f'{self._chance.choice(_sides(join))}.')}"

    def _joined(self) -> tuple[str, str]:
        """Return a join of two tables `l` and `r` as it stands behind FROM, and its type."""
        one, other, _ = self._tables()
        join = self._chance.choice(JOINS)
        return self._pair(one, join, other), join

    def _pair(self, one: str, join: str, other: str) -> str:
        return f"{self._source(one)} l {join} JOIN {self._source(other)} r ON {self._conditions.of_join()}"

    def _columns(self, join: str) -> str:
        if self._chance.random() < 0.3:
            return "*"
        some = [f"{side}.{name}" for side in _sides(join) for name in ("n", *self._chance.sample(KEYS, 2))]
        return ", ".join(f"{column} AS c{position}" for position, column in enumerate(some))

    def _plain(self) -> str:
        source, join = self._joined()
        return f"SELECT {self._hint()}{self._columns(join)} FROM {source}{self._where(join)}"

    def _chain(self) -> str:
        one, other, third = self._tables()
        join, second = self._chance.choice(JOINS), self._chance.choice(JOINS)
        known = "l" if join in _ONE_SIDED else self._chance.choice(_sides(join))
        columns = ["l.n", "l.k"] if join in _ONE_SIDED else ["l.n", "l.k", "r.n", "r.j"]
        if second not in _ONE_SIDED:
            columns.append("t.n")
        return (
            f"SELECT {', '.join(f'{each} AS c{i}' for i, each in enumerate(columns))} FROM {self._pair(one, join, other)} "
            f"{second} JOIN {self._source(third)} t ON {self._conditions.of_join(known, 't')} AND {known}.k <=> t.k"
        )

    def _grouped(self) -> str:
        source, join = self._joined()
        keys = list(dict.fromkeys([*self._buckets, *self._chance.sample(KEYS, self._chance.randint(0, 1))]))
        if self._chance.random() < 0.3:
            keys = self._chance.sample(KEYS, 1)
        named = ", ".join(f"{self._chance.choice(_sides(join))}.{key}" for key in keys)
        counted = "count(*), sum(l.n)" + ("" if join in _ONE_SIDED else ", max(r.n), count(DISTINCT r.j)")
        return f"SELECT {named}, {counted} FROM {source}{self._where(join)} GROUP BY {named}"

    def _over_aggregate(self) -> str:
        one, other, _ = self._tables()
        keys = self._keys()
        grouped = (
            f"(SELECT {', '.join(keys)}, count(*) AS rows, max(n) AS n FROM {one} GROUP BY {', '.join(keys)})"
        )
        sides = [f"{grouped} l", f"{self._source(other)} r"]
        join = self._chance.choice(JOINS)
        if self._chance.random() < 0.5:
            sides = [f"{self._source(other)} l", f"{grouped} r"]
        on = self._conditions.of_keys("l", "r", keys)
        columns = "l.n, l.k" if join in _ONE_SIDED else "l.n AS ln, l.k AS lk, r.n AS rn, r.k AS rk"
        return f"SELECT {columns} FROM {sides[0]} {join} JOIN {sides[1]} ON {on}"

    def _over_union(self) -> str:
        one, other, third = self._tables()
        union = f"(SELECT * FROM {self._source(one)} UNION ALL SELECT * FROM {self._source(other)})"
        if "k1" in union:
            union = f"(SELECT * FROM {one} UNION ALL SELECT * FROM {other})"
        join = self._chance.choice(JOINS)
        sides = [union, self._source(third)]
        if self._chance.random() < 0.3:
            sides.reverse()
        return f"SELECT {self._columns(join)} FROM {sides[0]} l {join} JOIN {sides[1]} r ON {self._conditions.of_join()}"

    def _not_in(self) -> str:
        one, other, _ = self._tables()
        key = self._chance.choice(self._buckets)
        inner = f"SELECT {key} FROM {other} WHERE {self._conditions.of_one_side('')}"
        if self._chance.random() < 0.5:
            inner += f" AND {key} IS NOT NULL"
        if self._chance.random() < 0.3:
            inner = f"SELECT r.{key} FROM {other} r WHERE r.j = l.j AND r.{key} IS NOT NULL"
        return f"SELECT n, {key} FROM {one} l WHERE {key} NOT IN ({inner})"

    def _exists(self) -> str:
        one, other, _ = self._tables()
        way = self._chance.choice(["EXISTS", "NOT EXISTS"])
        beside = f" OR {self._conditions.of_one_side('l.')}" if self._chance.random() < 0.3 else ""
        return (
            f"SELECT l.n, l.k, l.s FROM {self._source(one)} l "
            f"WHERE {way} (SELECT 1 FROM {self._source(other)} r WHERE {self._conditions.of_join()}){beside}"
        )

    def _scalar(self) -> str:
        one, other, _ = self._tables()
        keys = " AND ".join(f"l.{key} = r.{key}" for key in self._keys())
        what = self._chance.choice(["max(r.n)", "count(*)", "sum(r.j)"])
        return f"SELECT l.n, (SELECT {what} FROM {self._source(other)} r WHERE {keys}) AS x FROM {one} l"

    def _joined_scalar(self) -> str:
        source, join = self._joined()
        *_, third = self._tables()
        return (
            f"SELECT n, (SELECT count(*) FROM {source}) AS x FROM {third} "
            f"WHERE n > (SELECT coalesce(max(l.n), 0) % 9 FROM {source}{self._where(join)})"
        )

    def _using(self) -> str:
        one, other, third = self._tables()
        keys = ", ".join(self._keys())
        joins = [self._chance.choice(["FULL", "FULL", "LEFT", "INNER", "RIGHT"]) for _ in range(2)]
        return (
            f"SELECT {keys}, l.n AS ln, r.n AS rn, t.n AS tn FROM {self._source(one)} l "
            f"{joins[0]} JOIN {self._source(other)} r USING ({keys}) {joins[1]} JOIN {third} t USING ({keys})"
        )

    def _window(self) -> str:
        one, other, _ = self._tables()
        by = ", ".join(f"l.{key}" for key in self._buckets)
        return (
            f"SELECT l.n AS ln, r.n AS rn, row_number() OVER (PARTITION BY {by} ORDER BY l.n, r.n) AS x "
            f"FROM {self._pair(one, self._chance.choice(_TWO_SIDED), other)}"
        )

    def _first_rows(self) -> str:
        source, join = self._joined()
        if join in _ONE_SIDED:
            return f"SELECT l.n, l.k FROM {source} ORDER BY l.n, l.p, l.k LIMIT 5"
        return f"SELECT l.n AS ln, r.n AS rn FROM {source} ORDER BY r.n DESC, l.n LIMIT {self._chance.randint(1, 30)}"

    def _common(self) -> str:
        """Return a join with a join that the query names twice."""
        one, other, _ = self._tables()
        made = f"SELECT l.n, l.k, l.j, r.n AS rn FROM {self._pair(one, 'INNER', other)}"
        join = self._chance.choice(_TWO_SIDED)
        return (
            f"WITH both_sides AS ({made}) SELECT x.n AS xn, y.rn AS yn FROM both_sides x "
            f"{join} JOIN both_sides y ON x.n = y.n AND x.rn = y.rn AND x.k = y.k"
        )

    def _inner_view(self) -> str:
        """Return a join with a join below a projection that computes, as a view would be."""
        one, other, third = self._tables()
        keys = self._keys()
        listed = ", ".join(f"l.{key}" for key in keys)
        inner = f"SELECT {listed}, l.n, coalesce(r.n, -1) AS rn FROM {one} l LEFT JOIN {other} r ON {self._conditions.of_join()}"
        join = self._chance.choice(JOINS)
        on = self._conditions.of_keys("x", "t", keys)
        columns = "x.n, x.rn, x.k" if join in _ONE_SIDED else "x.n, x.rn, t.n AS tn"
        return f"SELECT {columns} FROM ({inner}) x {join} JOIN {third} t ON {on}"


def _sides(join: str) -> list[str]:
    """Return the sides whose columns a join gives."""
    return ["l"] if join in _ONE_SIDED else ["l", "r"]
