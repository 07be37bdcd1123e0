"""The report of a join whose table has heavy keys: whether their rows are joined apart, or why not."""

from __future__ import annotations

from parquetry.prune.report.part import ReportPart
from parquetry.prune.report.sql_words import join_words, node_words

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
