"""The reports of joins: whether their sides are shuffled, and why, and on which buckets they may rely.

If a table has heavy keys, the report says whether their rows are joined apart, or why not.

A join needs each row to be in a known bucket, by one hash of the same columns. `rules.bucket_reasons` finds
the reason if they are not.
"""

from __future__ import annotations

from parquetry.prune.report.part import ReportPart
from parquetry.prune.report.sql_words import join_words, node_words
from parquetry.texts import quantity


class JoinReport(ReportPart, frozen=True):
    """A join with one of our tables on at least one side.

    Attributes:
        type: the type of the join in SQL: `INNER`, `LEFT OUTER` and so on; `EXISTS` for a subquery of EXISTS
            or IN beside OR, which has no JOIN in SQL.
        left: the table on the left side, or Spark's name for another source.
        right: the table on the right side, or Spark's name for another source.
        on: the equalities of the join keys, each `left = right` or `left <=> right`; none if no keys
            are compared.
        shuffled: whether rows of a side are sent to other tasks for the join.
        reason: why a side is shuffled, or why none is.
        sides: the sides that are shuffled: `left`, `right`, or both.
        parts: the sides that are shuffled in part, to the buckets of their other rows.
        sorts: how many sides are sorted for the join.
        incremental_sorts: how many other sides are sorted only among rows that the order of files leaves
            equal.

    >>> print(JoinReport("INNER", "lake.db.a", "lake.db.b", ("id = key",), False, "8 buckets by id", sorts=1))
    lake.db.a INNER JOIN lake.db.b ON id = key: no shuffle, 1 sort (8 buckets by id)
    >>> print(JoinReport("INNER", "a", "b", ("id = key",), True, "b is not in buckets", ("right",)))
    a INNER JOIN b ON id = key: one side shuffled, the right (b is not in buckets)
    >>> print(JoinReport("INNER", "a", "b", ("id = key",), False, "a: partition p=1 is not in buckets", parts=("left",)))
    a INNER JOIN b ON id = key: a part of the left side shuffled (a: partition p=1 is not in buckets)
    >>> print(JoinReport("CROSS", "a", "b", (), False, "b is broadcast"))
    a CROSS JOIN b: no shuffle (b is broadcast)
    """

    type: str
    left: str
    right: str
    on: tuple[str, ...]
    shuffled: bool
    reason: str
    sides: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    sorts: int = 0
    incremental_sorts: int = 0

    @property
    def shuffles(self) -> int:
        """Return the number of shuffles for the join: 0, 1 or 2."""
        return len(self.sides) + len(self.parts)

    @property
    def title(self) -> str:
        """Return the sides and the keys of the join."""
        on = f" ON {' AND '.join(self.on)}" if self.on else ""
        if self.type == "EXISTS":
            return f"{self.left} with {join_words(self.type)} of {self.right}{on}"
        return f"{self.left} {join_words(self.type)} {self.right}{on}"

    @property
    def outcome(self) -> str:
        """Return whether the join shuffles, on which side if on one alone, and why."""
        parts = [f"a part of the {name} side" for name in self.parts]
        if len(self.sides) == 1:
            what = " and ".join([f"one side shuffled, the {self.sides[0]}", *parts])
        elif parts:
            what = f"{' and '.join(parts)} shuffled"
        else:
            what = "shuffled" if self.shuffled else "no shuffle"
        sorts = {"sort": self.sorts, "incremental sort": self.incremental_sorts}
        counts = [quantity(count, name) for name, count in sorts.items() if count]
        return f"{', '.join([what, *counts])} ({self.reason})"

    def __str__(self) -> str:
        return f"{self.title}: {self.outcome}"


_MAX_KEYS_CHARACTERS = 200
"""Characters of the keys that a line of text shows; the dict has all of them."""


class HeavyKeysReport(ReportPart, frozen=True):
    """The heavy keys of a join: joined apart, or not.

    Attributes:
        table: the table with heavy keys.
        other: the first leaf of the join's other side.
        type: the type of the join in SQL.
        keys: the condition that a row has a heavy key, as SQL, or None if the join stays as it is.
        count: the number of heavy keys that are joined apart.
        share: the share of the scan's rows that have one of them, or None if they are not counted.
        reason: why the join stays as it is.

    >>> print(HeavyKeysReport("lake.db.f", "lake.db.d", "INNER", "k IN (1, 2)", 2, 0.525))
    lake.db.f INNER JOIN lake.db.d: heavy keys joined apart by broadcast (k IN (1, 2): 52 % of the rows)
    >>> print(HeavyKeysReport("lake.db.f", "d", "LEFT OUTER", reason="the query has a hint for the join"))
    lake.db.f LEFT OUTER JOIN d: heavy keys not joined apart: the query has a hint for the join
    """

    table: str
    other: str
    type: str
    keys: str | None = None
    count: int = 0
    share: float | None = None
    reason: str = ""

    @property
    def title(self) -> str:
        """Return the join: its tables and its type."""
        return f"{self.table} {join_words(self.type)} {node_words(self.other)}"

    @property
    def outcome(self) -> str:
        """Return what became of the heavy keys."""
        if self.keys is None:
            return f"heavy keys not joined apart: {self.reason}"
        keys = self.keys
        shown = keys if len(keys) <= _MAX_KEYS_CHARACTERS else f"{keys[: _MAX_KEYS_CHARACTERS - 1]}…"
        share = "as the table declares" if self.share is None else f"{self.share * 100:.0f} % of the rows"
        return f"heavy keys joined apart by broadcast ({shown}: {share})"

    def __str__(self) -> str:
        return f"{self.title}: {self.outcome}"


class BucketReport(ReportPart, frozen=True):
    """The buckets of a scan of a bucketed table.

    Attributes:
        columns: the bucket columns.
        types: their types in the table, as SQL writes them.
        version: the version of the hash: `1`, `2` or `spark`.
        count: the number of buckets.
        reason: why no join can rely on them, or None if joins can. If there is a reason, the attributes above
            describe only some of the rows.
        unread: the bucket columns that the query does not read, so no join can use them.
        again: the bytes that are read more than once, to have as many buckets as the table on the other side.
        split: the hot buckets that several tasks of a join read, or why one task reads each; None if there is
            none.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    version: str
    count: int
    reason: str | None = None
    unread: tuple[str, ...] = ()
    again: int = 0
    split: str | None = None
