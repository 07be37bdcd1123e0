"""The report of a runtime filter: how many values came for a column, and from where, or why none came."""

from __future__ import annotations

import re
from typing import Any, Literal

from parquetry.prune.report.part import ReportPart
from parquetry.prune.report.sql_words import join_words

How = Literal["shared", "collected", "ends", "spark", "known", "replaced", "refused"]
_MAX_CONDITION_CHARACTERS = 200
"""Characters of the conditions that a line of text shows; the dict has all of them."""


class ValuesReport(ReportPart, frozen=True, omit_defaults=False):
    """The outcome of a runtime filter, from one side of a join to a column of a table on the other side.

    Attributes:
        table: the table on the probe side, which the values could prune.
        column: its column that is compared with the values.
        type: the type of the join in SQL.
        build: the build side: a table, or Spark's name for another source.
        key: the join key of the build side.
        how: see `Verdict`; `enough` is a refusal of values at run time, as plan-time values left so little.
        reason: the reason of a refusal, or why an arrived filter is ineffective. It is empty if the filter
            pruned something, or has not arrived.
        values: the number of values, or None if the query has not run, did not wait for them, or only Spark
            knows.
        shared: whether they came from a broadcast.
        where: conditions of the query on the build side, as SQL.
        tuples: whether they are tuples of several columns.

    >>> print(ValuesReport("lake.db.f", "k", "INNER", "d", "k", "spark", values=1))
    lake.db.f.k: 1 run-time value of d.k (INNER JOIN, Spark's own filter)
    >>> where = ("year = 2000", "moy = 11")
    >>> print(ValuesReport("lake.db.f", "k", "INNER", "lake.db.d", "k", "shared", values=30, shared=True, where=where))
    lake.db.f.k: 30 run-time values of lake.db.d.k where year = 2000 AND moy = 11 (INNER JOIN, its broadcast)
    >>> print(ValuesReport("lake.db.f", "(a, b)", "INNER", "d", "(a, b)", "collected", values=8, tuples=True))
    lake.db.f.(a, b): 8 run-time tuples of d.(a, b) (INNER JOIN, d is read for them)
    >>> all_of_them = "every partition may hold a match"
    >>> print(ValuesReport("lake.db.f", "k", "INNER", "d", "k", "shared", all_of_them, values=9, shared=True))
    lake.db.f.k: 9 run-time values of d.k (INNER JOIN, its broadcast) leave nothing out: every partition may hold a match
    >>> print(ValuesReport("lake.db.f", "k", "INNER", "d", "k", "refused", "1 file of lake.db.f left"))
    lake.db.f.k: no run-time values of d.k (INNER JOIN: 1 file of lake.db.f left)
    >>> print(ValuesReport("lake.db.f", "day", "INNER", "lake.db.d", "day", "known", values=3))
    lake.db.f.day: 3 values of lake.db.d.day known in planning (INNER JOIN)
    >>> print(ValuesReport("lake.db.f", "day", "INNER", "lake.db.d", "day", "enough", "0 files of lake.db.f left"))
    lake.db.f.day: values known in planning are enough, without any of lake.db.d.day (INNER JOIN: 0 files of lake.db.f left)
    >>> print(ValuesReport("lake.db.f", "id", "INNER", "lake.db.g", "id", "ends", where=("year = 2000",)))
    lake.db.f.id: least and greatest of the run-time values of lake.db.g.id where year = 2000 (INNER JOIN, by its files' statistics)
    """

    table: str
    column: str
    type: str
    build: str
    key: str
    how: How | Literal["enough"]
    reason: str = ""
    values: int | None = None
    shared: bool = False
    where: tuple[str, ...] = ()
    tuples: bool = False

    @property
    def title(self) -> str:
        """Return the column that the values are for."""
        return f"{self.table}.{self.column}"

    @property
    def _source(self) -> str:
        """Return the key with its table, or with words for a source of rows that is no table."""
        return (
            f"{self.key} of {self.build}"
            if re.search(r"[ (]|^[A-Z]+$", self.build)
            else f"{self.build}.{self.key}"
        )

    @property
    def outcome(self) -> str:
        """Return the outcome as text."""
        unit = "tuple" if self.tuples else "value"
        of = f"{unit if self.values == 1 and self.how != 'refused' else f'{unit}s'} of {self._source}"
        if self.how == "refused":
            return f"no run-time {of} ({join_words(self.type)}: {self.reason})"
        if self.how == "enough":
            because = f"({join_words(self.type)}: {self.reason})"
            return f"values known in planning are enough, without any of {self._source} {because}"
        count = "" if self.values is None else f"{self.values:,} "
        if self.where:
            of = f"{of} where {_in_short(' AND '.join(self.where))}"
        nothing = f" leave nothing out: {self.reason}" if self.reason else ""
        if self.how == "known":
            return f"{count}{of} known in planning ({join_words(self.type)}){nothing}"
        if self.how == "ends":
            return f"least and greatest of the run-time {of} ({join_words(self.type)}, by its files' statistics){nothing}"
        if self.how == "spark":
            source = "Spark's own filter"
        elif self.shared:
            source = "its broadcast"
        else:
            source = f"{self.build} is read for them"
        return f"{count}run-time {of} ({join_words(self.type)}, {source}){nothing}"

    def __str__(self) -> str:
        return f"{self.title}: {self.outcome}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as part of `Report.to_dict`."""
        plain = super().to_dict()
        if not self.tuples:
            del plain["tuples"]
        return plain


def _in_short(text: str) -> str:
    return text if len(text) <= _MAX_CONDITION_CHARACTERS else f"{text[: _MAX_CONDITION_CHARACTERS - 1]}…"
