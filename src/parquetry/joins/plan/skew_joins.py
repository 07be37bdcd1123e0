"""Decide whether the heavy keys of a join are joined apart from all others.

A key with half of a table's rows makes one task do half of a join. The plan becomes

    rest of L joined with R, as usual    UNION ALL    heavy rows of L joined with a broadcast of R's rows for them

which is equal for each join type that needs no row of R without a match. A row of L is in exactly one branch,
and its matches are in the same one. The heavy rows are not shuffled and not sorted; R is read twice.

| join        | side with heavy keys |
|-------------|----------------------|
| INNER       | either               |
| LEFT OUTER, LEFT SEMI, LEFT ANTI, EXISTS | left |
| RIGHT OUTER | right                |
| FULL OUTER  | none: Spark broadcasts neither side |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from parquetry.joins.plan.cost import READ_AGAIN, SHUFFLE
from parquetry.joins.runtime.candidates import Build
from parquetry.joins.scans.heavy_keys import HeavyKeys
from parquetry.texts import quantity, size_text


class SkewLimits(NamedTuple):
    """Limits of joins of heavy keys.

    Attributes:
        values: the greatest number of heavy keys; each is part of a condition.
        key_share: the least share of a scan's rows that makes a key heavy. A key with fewer rows is no
            burden for its task.
        share: the least share of the scan's rows that all heavy keys must have.
        declared_share: the assumed share of keys that a table's owner declares.
        bytes: the least bytes of heavy rows: below, a second branch costs more than their shuffle.
        gain: how many times the saved cost must be the cost of reading twice. On two cores, where no task
            waits for another machine, 40 MB read twice to save a shuffle of 20 MB took 1.1 times as long.
        broadcast_bytes: the most bytes of the other side's rows for the heavy keys, which each executor
            keeps in memory.
    """

    values: int = 100
    key_share: float = 0.02
    share: float = 0.2
    declared_share: float = 0.5
    bytes: int = 8 << 20
    gain: float = 3.0
    broadcast_bytes: int = 64 << 20


SKEW_LIMITS = SkewLimits()


class SkewFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A join, and the side whose keys may be heavy.

    Attributes:
        type: the type of the join.
        side: that side, `left` or `right`.
        own: that side; it is read twice, each time without some of its rows.
        other: the other side.
        bytes: the bytes that the scan of the heavy keys reads.
        broadcast: whether Spark broadcasts a side of the join anyway.
        hinted: whether the query has a hint for the join.
        bucketed: whether both sides report buckets by the keys, so that no row is shuffled.
    """

    type: str
    side: str
    own: Build
    other: Build
    bytes: int
    broadcast: bool = False
    hinted: bool = False
    bucketed: bool = False


def refuse_shape(facts: SkewFacts, mode: str) -> str | None:
    """Return why a join stays as it is with any heavy keys, or None.

    Args:
        facts: about the join.
        mode: the setting `skew-join`.
    """
    if mode == "off":
        return "skew-join is off"
    if facts.type == "FULL OUTER":
        return "Spark broadcasts neither side of a FULL OUTER JOIN"
    if facts.hinted:
        return "the query has a hint for the join"
    if facts.broadcast:
        return "Spark broadcasts a side, so nothing is shuffled"
    if facts.bucketed and mode == "auto":
        return "both sides are in buckets by the keys, so nothing is shuffled"
    for side in (facts.own, facts.other):
        if side.unrepeatable is not None or not side.deterministic or side.python:
            what = side.unrepeatable or "what it computes"
            return f"{side.name} is read twice, and {what} may give other rows the second time"
    return None


def refuse_cost(facts: SkewFacts, keys: HeavyKeys, matching_rows: int | None, mode: str) -> str | None:
    """Return why heavy keys are not joined apart, or None if it pays clearly.

    Args:
        facts: about the join.
        keys: its heavy keys.
        matching_rows: the estimated rows of the other side with one of the keys, or None if not known.
        mode: the setting `skew-join`.
    """
    if mode == "always":
        return None
    share = SKEW_LIMITS.declared_share if keys.share is None else keys.share
    if share < SKEW_LIMITS.share:
        these = f"{quantity(len(keys.values), 'heavy key')} of {facts.own.name}"
        return f"{these} have {share:.0%} of its rows, less than {SKEW_LIMITS.share:.0%}"
    heavy = int(facts.bytes * share)
    if heavy < SKEW_LIMITS.bytes:
        return (
            f"the heavy rows of {facts.own.name} have {size_text(heavy)}, "
            f"less than {size_text(SKEW_LIMITS.bytes)}"
        )
    return _refuse_other(facts, keys, matching_rows, heavy)


def _refuse_other(facts: SkewFacts, keys: HeavyKeys, matching_rows: int | None, heavy: int) -> str | None:
    other = facts.other
    if other.size is None or other.cost is None:
        return f"the size of {other.name} is not known"
    broadcast = other.size
    if matching_rows is not None and other.rows:
        broadcast = int(other.size * min(1.0, matching_rows / other.rows))
    if broadcast > SKEW_LIMITS.broadcast_bytes:
        what = "the rows" if matching_rows is not None else "as their rows are not counted, all rows"
        return (
            f"{what} of {other.name} for the heavy keys have {size_text(broadcast)}, too much for a broadcast"
        )
    # Declared keys have no files of their own, so both branches read all files.
    again = other.cost + (facts.bytes if keys.rows is None else 0)
    if SHUFFLE * heavy < SKEW_LIMITS.gain * READ_AGAIN * again:
        return f"to read {size_text(again)} twice costs as much as to shuffle the {size_text(heavy)} of heavy rows"
    return None


class SkewSplit(msgspec.Struct, frozen=True):
    """The decision on a join: its heavy keys, which are joined apart, or the reason against.

    Attributes:
        columns: the columns of the keys, of the side's table.
        values: the keys as text; none if the join stays as it is.
        share: the share of the scan's rows that have one of them, or None if not known.
        reason: why the join stays as it is; empty if it does not, and if there are no heavy keys at all.
    """

    columns: list[str] = []
    values: list[list[str | None]] = []
    share: float | None = None
    reason: str = ""


def choose_sides(joins: Sequence[int], splits: Sequence[SkewSplit]) -> list[SkewSplit]:
    """Return the decisions, with heavy keys of one side at most for each join.

    If both sides have heavy keys, the side is taken whose keys have the greater share of its rows. Keys
    without a known share come last, and the first one of equal sides is taken.

    Args:
        joins: for each decision a number of its join.
        splits: the decision on each candidate.

    >>> few, many = SkewSplit(["k"], [["1"]], 0.25), SkewSplit(["k"], [["7"]], 0.5)
    >>> [split.share for split in choose_sides([0, 0, 1], [few, many, few])]
    [None, 0.5, 0.25]
    """
    best: dict[int, int] = {}
    for position, (join, split) in enumerate(zip(joins, splits, strict=True)):
        if split.values and (join not in best or (split.share or 0.0) > (splits[best[join]].share or 0.0)):
            best[join] = position
    return [
        split if not split.values or best[join] == position else SkewSplit()
        for position, (join, split) in enumerate(zip(joins, splits, strict=True))
    ]
