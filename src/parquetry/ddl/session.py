"""Find the catalog of a table that a statement names; tables of other catalogs are left to Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parquetry.config import SPARK_SERIES, series_of
from parquetry.identifiers import SPARK_CATALOG, parse_name
from parquetry.sqltext import TokenCursor


@dataclass(frozen=True, slots=True)
class SessionTable:
    """A table of a Parquetry catalog.

    Attributes:
        catalog: its name in the session.
        table: the parts of the table's name within the catalog.
    """

    catalog: str
    table: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """The catalogs of a Spark session.

    Attributes:
        catalogs: names of the Parquetry catalogs.
        others: names of the other configured catalogs, without Spark's own, which always exists.
        current: name of the current catalog.
        namespace: the current namespace.
        spark: the version of Spark, if it lacks what a newer one has; else nothing.
    """

    catalogs: frozenset[str]
    others: frozenset[str]
    current: str
    namespace: tuple[str, ...]
    spark: str = ""

    def lacking(self, feature: str) -> str | None:
        """Return the words for a feature that Spark lacks, or None if it has the feature.

        >>> Session(frozenset(), frozenset(), "", (), "4.1.4").lacking("views")
        'on Spark 4.1.4, a catalog of Parquetry has no views: Spark keeps views in its session catalog alone'
        """
        for missing in SPARK_SERIES.get(series_of(self.spark) or "", ()):
            if missing.feature == feature:
                return f"on Spark {self.spark}, {missing.words}"
        return None

    def resolve(self, parts: Sequence[str]) -> SessionTable | None:
        """Return the table that Spark finds for a name, or None if it is not in a Parquetry catalog.

        >>> session = Session(frozenset({"lake"}), frozenset(), "lake", ("db",))
        >>> session.resolve(["t"]).table, session.resolve(["lake", "a", "t"]).table, session.resolve(["a", "t"]).table
        (('db', 't'), ('a', 't'), ('a', 't'))
        >>> session.resolve(["spark_catalog", "a", "t"]) is None
        True
        """
        if len(parts) > 1 and parts[0] in self.catalogs:
            return SessionTable(parts[0], tuple(parts[1:]))
        if len(parts) > 1 and (parts[0] in self.others or parts[0].lower() == SPARK_CATALOG):
            return None
        if self.current not in self.catalogs:
            return None
        return SessionTable(self.current, (*self.namespace, *parts) if len(parts) == 1 else tuple(parts))


def read_table(cursor: TokenCursor, session: Session) -> SessionTable | None:
    """Take the name of a table, or return None if it is not one of a Parquetry catalog."""
    parts = _identifier(cursor) if cursor.take("identifier", "(") else _parts(cursor)
    return None if parts is None else session.resolve(parts)


def _parts(cursor: TokenCursor) -> list[str] | None:
    parts = []
    while True:
        part = cursor.name()
        if part is None:
            return None
        parts.append(part)
        if not cursor.take("."):
            return parts


def _identifier(cursor: TokenCursor) -> list[str] | None:
    """Take the rest of `IDENTIFIER('…')`; return None if its argument is more than a text."""
    text = cursor.advance()
    if not text.quoted or not cursor.take(")"):
        return None
    try:
        return parse_name(text.text)
    except ValueError:
        return None
