"""Random queries over tables and versions of them: each gives the same rows with any files left unread.

No query depends on an order that it does not state, on the last digits of sums of floats, or on which of
equal rows comes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.random_histories.conditions import Conditions, Others, Term, scalar_terms, terms
from tests.support.random_histories.tables.shapes import RandomColumn
from tests.support.random_histories.tables.tables import Source
from tests.support.random_histories.tables.values import (
    FLOATS,
    INTERVALS,
    NUMBERS,
    SCALARS,
    TEXTS,
    WHOLE,
    Draw,
)

_JOINS = ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
_HINTS = ["", "", "", "/*+ BROADCAST(b) */ ", "/*+ SHUFFLE_MERGE(b) */ ", "/*+ SHUFFLE_HASH(b) */ "]


def token(number: int) -> str:
    """Return what stands in a query for the source of a number."""
    return f"⟦{number}⟧"


def written(query: str, sources: Sequence[Source], ours: bool) -> str:
    """Return a query with the names of tables, or of their models, for its sources."""
    for number, source in enumerate(sources):
        query = query.replace(token(number), source.ours if ours else source.model)
    return query


def others(sources: Sequence[Source]) -> Others:
    """Return the sources as subqueries may read them."""
    return [(token(number), terms(source.shape.all, "z")) for number, source in enumerate(sources)]


class Queries:
    """Makes queries.

    Args:
        draw: the source of chance.
        sources: what they may read.
    """

    def __init__(self, draw: Draw, sources: Sequence[Source]) -> None:
        self.draw = draw
        self.sources = sources
        self.others = others(sources)

    def query(self) -> str:
        """Return a query of any kind; sources stand in it as tokens."""
        kinds = [
            self._rows,
            self._groups,
            self._joined,
            self._windows,
            self._first,
            self._together,
            self._counts,
        ]
        return self.draw.choices(kinds, [4, 2, 4, 1, 2, 1, 1])[0]()

    def _table(self) -> tuple[str, list[Term]]:
        number = self.draw.randrange(len(self.sources))
        return token(number), terms(self.sources[number].shape.all, "a")

    def _where(self, of: Sequence[Term], depth: int) -> str:
        return f"WHERE {Conditions(self.draw, of, self.others).tree(depth)}"

    def _rows(self) -> str:
        name, of = self._table()
        columns = (
            [column for column, _ in of] if self.draw.often(0.6) else [term for term, _ in self._some(of, 2)]
        )
        distinct = "DISTINCT " if self.draw.often(0.15) and all(type in SCALARS for _, type in of) else ""
        return f"SELECT {distinct}{_numbered(columns)} FROM {name} a {self._where(of, 3)}"

    def _some(self, of: Sequence[Term], most: int) -> list[Term]:
        return self.draw.sample(list(of), min(len(of), self.draw.randint(1, most)))

    def _counts(self) -> str:
        """Make a query that the metastore may answer without a file."""
        name, of = self._table()
        scalar = scalar_terms(of)
        asked = [f"{self.draw.choice(['min', 'max', 'count'])}({term})" for term, _ in self._some(scalar, 4)]
        where = f"WHERE {Conditions(self.draw, of).leaf()}" if self.draw.often(0.4) else ""
        keys = [term for term, _ in self._some(scalar[-2:], 2)] if self.draw.often(0.4) else []
        group = f"GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {_numbered([*keys, 'count(*)', *asked])} FROM {name} a {where} {group}"

    def _groups(self) -> str:
        name, of = self._table()
        scalar = scalar_terms(of)
        keys = [term for term, _ in self._some(scalar, 2)] if self.draw.often(0.75) else []
        asked = [
            "count(*)",
            f"min({self._any(scalar)})",
            f"max({self._any(scalar)})",
            f"count({self._any(of)})",
        ]
        if whole := [term for term, type in of if type in WHOLE]:
            asked.append(f"sum(CAST({self.draw.choice(whole)} AS DECIMAL(38,0)))")
        if self.draw.often(0.3):
            asked.append(f"count(DISTINCT {self._any(scalar)})")
        where = self._where(of, 2) if self.draw.often(0.6) else ""
        kind = self.draw.choice(["{}", "{}", "{}", "ROLLUP ({})"])
        group = f"GROUP BY {kind.format(', '.join(keys))}" if keys else ""
        having = "HAVING count(*) > 1" if keys and self.draw.often(0.2) else ""
        return f"SELECT {_numbered([*keys, *asked])} FROM {name} a {where} {group} {having}"

    def _any(self, of: Sequence[Term]) -> str:
        return self.draw.choice(of)[0]

    def _joined(self) -> str:
        name, available = self._table()
        joins, several = "", 0
        for alias in "bcd"[: self.draw.choice([1, 1, 2, 3])]:
            number = self.draw.randrange(len(self.sources))
            columns = self.sources[number].shape.all
            mine = terms(columns, alias)
            on = self._on(available, mine)
            if on is None:
                continue
            kind = self.draw.choice(_JOINS)
            right = token(number) if self.draw.often(0.6) else self._filtered(number, columns)
            joins += f" {kind} {right} {alias} ON {on}"
            several += 1
            if "SEMI" not in kind and "ANTI" not in kind:
                available = [*available, *mine]
        where = f"WHERE {Conditions(self.draw, available).tree(1)}" if self.draw.often(0.5) else ""
        hint = self.draw.choice(_HINTS) if joins else ""
        if several > 1 or self.draw.often(0.4):
            return f"SELECT {hint}{_numbered(self._digest(available))} FROM {name} a{joins} {where}"
        chosen = [term for term, _ in self._some(available, 5)]
        return f"SELECT {hint}{_numbered(chosen)} FROM {name} a{joins} {where}"

    def _digest(self, available: Sequence[Term]) -> list[str]:
        """Return aggregates that differ where rows do: rows of a join of tables may be too many to fetch."""
        hashed = [term for term, type in scalar_terms(available) if type not in (*FLOATS, *INTERVALS)]
        some = ", ".join(self.draw.sample(hashed, min(4, len(hashed)))) or "1"
        counted = [f"count({term})" for term, _ in self._some(available, 3)]
        return ["count(*)", f"sum(CAST(hash({some}) AS DECIMAL(38,0)))", *counted]

    def _on(self, available: Sequence[Term], mine: Sequence[Term]) -> str | None:
        pairs = [
            (left, right)
            for left, type in available
            for right, other in mine
            if type in SCALARS
            and (type == other or any(type in group and other in group for group in (NUMBERS, TEXTS)))
        ]
        if not pairs:
            return None
        keys = [pair for pair in pairs if pair[0].endswith(".k") and pair[1].endswith(".k")]
        chosen = self.draw.sample(pairs, min(len(pairs), self.draw.choice([1, 1, 1, 2])))
        if keys and self.draw.often(0.4):
            chosen = list(dict.fromkeys([self.draw.choice(keys), *chosen[1:]]))
        on = " AND ".join(
            f"{left} {self.draw.choice(['=', '=', '=', '<=>'])} {right}" for left, right in chosen
        )
        if self.draw.often(0.3):
            on += f" AND {Conditions(self.draw, mine if self.draw.often(0.7) else available).leaf()}"
        return on

    def _filtered(self, number: int, columns: Sequence[RandomColumn]) -> str:
        condition = Conditions(self.draw, terms(columns, "z")).tree(1)
        return f"(SELECT * FROM {token(number)} z WHERE {condition})"

    def _windows(self) -> str:
        name, of = self._table()
        scalar = scalar_terms(of)
        key, one, other = self._any(scalar), self._any(scalar), self._any(scalar)
        window = f"PARTITION BY {key}"
        asked = [
            key,
            f"count(*) OVER ({window})",
            f"min({one}) OVER ({window})",
            f"dense_rank() OVER ({window} ORDER BY {other})",
        ]
        return f"SELECT {_numbered(asked)} FROM {name} a {self._where(of, 1)}"

    def _first(self) -> str:
        """Make a query of the first rows of an order, of some rows in no order, or of the greatest in one."""
        name, of = self._table()
        columns = [term for term, _ in self._some(scalar_terms(of), 3)]
        where, few = self._where(of, self.draw.choice([0, 1])), self.draw.choice([0, 1, 3, 7])
        if self.draw.often(0.2):  # which rows these are is not known, and how many is
            return (
                f"SELECT count(*) AS x FROM (SELECT {_numbered(columns)} FROM {name} a {where} LIMIT {few})"
            )
        if self.draw.often(0.2):
            rank = f"{self.draw.choice(['rank', 'dense_rank'])}() OVER (ORDER BY {columns[0]} {self._direction()})"
            ranked = f"SELECT {_numbered(columns)}, {rank} AS place FROM {name} a {where}"
            return f"SELECT * FROM ({ranked}) WHERE place <= {few}"
        if self.draw.often(0.2):
            asked = ", ".join(dict.fromkeys(columns))
            order = f"{columns[0]} {self._direction()}"
            return f"SELECT {_numbered(columns)}, count(*) FROM {name} a {where} GROUP BY {asked} ORDER BY {order}, {asked} LIMIT {few}"
        order = ", ".join(f"{term} {self._direction()}" for term in columns)
        offset = self.draw.choice(["", "", "OFFSET 2"])
        return f"SELECT {_numbered(columns)} FROM {name} a {where} ORDER BY {order} LIMIT {few} {offset}"

    def _direction(self) -> str:
        return self.draw.choice(["", "DESC", "NULLS LAST", "DESC NULLS FIRST"])

    def _together(self) -> str:
        """Make a set operation on columns of one type."""
        name, of = self._table()
        type = self.draw.choice(scalar_terms(of))[1]
        number = self.draw.randrange(len(self.sources))
        theirs = terms(self.sources[number].shape.all, "a")
        if type not in (other for _, other in theirs):
            number, theirs = int(name.strip("⟦⟧")), of
        kind = self.draw.choice(["UNION", "INTERSECT", "EXCEPT", "UNION ALL", "INTERSECT ALL", "EXCEPT ALL"])

        def side(source: str, columns: Sequence[Term]) -> str:
            column = self._any([term for term in columns if term[1] == type])
            return f"SELECT {column} AS x FROM {source} a {self._where(columns, 1)}"

        return f"{side(name, of)} {kind} {side(token(number), theirs)}"


def _numbered(expressions: Sequence[str]) -> str:
    """Return what a query selects, each with a name of its own."""
    return ", ".join(f"{expression} AS x{number}" for number, expression in enumerate(expressions))
