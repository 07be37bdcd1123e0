"""A condition of a scan: its filter, its origin, and its text in the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from parquetry.predicate import Filter, Predicate, columns_of, opaque_parts

_MAX_TEXT_CHARACTERS = 300

Origin = Literal["query", "join", "known", "table", "result", "run"]
"""The origin of a condition: the query, runtime values, plan-time values of a join, the table, or the result.

The result is what a LIMIT or an aggregate makes of the rows. The last origin is the run, which ends before
all files are opened if the query needs no more rows."""


@dataclass(frozen=True)
class BucketMembership:
    """One of some buckets by a hash: the meaning of a condition such as `hive_bucket(2, 8, id) = 3`.

    Attributes:
        columns: the hashed columns, in the order of the hash.
        version: of the hash.
        count: the number of buckets.
        numbers: of the buckets.
    """

    columns: tuple[str, ...]
    version: int | str
    count: int
    numbers: Sequence[int]

    def agreeing(self, count: int) -> set[int]:
        """Return the buckets of a table that can have such rows, where the table has `count` of them.

        A hash modulo both numbers is the same modulo their greatest common divisor.

        >>> BucketMembership(("id",), 2, 4, (1,)).agreeing(8), BucketMembership(("id",), 2, 6, (1,)).agreeing(4)
        ({1, 5}, {1, 3})
        """
        divisor = math.gcd(self.count, count)
        remainders = {bucket % divisor for bucket in self.numbers if 0 <= bucket < self.count}
        return {bucket for bucket in range(count) if bucket % divisor in remainders}


@dataclass(frozen=True, eq=False)
class Condition:
    """One of the conditions of a scan, which are joined by AND.

    Two conditions with the same text are different: each is counted on its own.

    Attributes:
        filter: the condition as a filter.
        about: the columns of the condition. If Spark evaluated it (`substr(ds, 1, 7) = '2026-10'`), the
            filter may have become TRUE for the remaining partitions; its columns are still named here.
        written: its original text, or None to use the filter's text.
        origin: where it comes from.
        membership: the buckets that it says rows are in, or None.
    """

    filter: Filter
    about: frozenset[str]
    written: str | None = None
    origin: Origin = "query"
    membership: BucketMembership | None = None

    @classmethod
    def from_filter(cls, filter: Filter, origin: Origin = "query") -> Condition:
        """Return the condition for a filter."""
        return cls(filter, frozenset(columns_of(filter.node)), origin=origin)

    @property
    def predicate(self) -> Predicate:
        """Return the node of the filter."""
        return self.filter.node

    @cached_property
    def text(self) -> str:
        """Return its text in the report: SQL, truncated where it is too long for a line."""
        text = str(self.predicate) if self.written is None else self.written
        return text if len(text) <= _MAX_TEXT_CHARACTERS else f"{text[: _MAX_TEXT_CHARACTERS - 1]}…"

    @cached_property
    def not_understood(self) -> str | None:
        """Return why some part of it is not understood, or None if all of it is understood."""
        opaque = opaque_parts(self.predicate)
        return opaque[0].reason if opaque else None

    @cached_property
    def not_judged(self) -> str | None:
        """Return why bounds cannot judge some part of it, or None if they can."""
        parts = [part for part in opaque_parts(self.predicate) if part.formula is None]
        return parts[0].reason if parts else None

    def within(self, names: frozenset[str]) -> bool:
        """Return whether it is about partition columns alone; `names` are the table's partition columns."""
        return bool(names) and self.about <= names

    def decided_by(self, names: frozenset[str]) -> bool:
        """Return whether the values of these partition columns decide it, without a look at any row."""
        return self.within(names) and self.not_understood is None
