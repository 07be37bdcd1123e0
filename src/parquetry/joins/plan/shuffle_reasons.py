"""Explain the joins of a plan: whether Spark shuffles their sides, and which requirement is not met.

Spark joins without a shuffle if both sides report buckets by the same hash of corresponding join keys. It
gives no reason if it shuffles. The facts come from its plan. The requirements are from Spark 4.3
(`EnsureRequirements`), in the order of a user's fixes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from parquetry.joins.plan.join_facts import JoinFacts, Key, KeyedSide
from parquetry.prune import BucketReport, JoinReport
from parquetry.texts import size_text
from parquetry.types import Family, facts_of

_V2 = "spark.sql.sources.v2.bucketing."
ENABLED = f"{_V2}enabled"
PUSH_VALUES = f"{_V2}pushPartValues.enabled"
COMPATIBLE = f"{_V2}allowCompatibleTransforms.enabled"
PARTIAL = f"{_V2}partiallyClusteredDistribution.enabled"
SUBSET = f"{_V2}allowKeysSubsetOfPartitionKeys.enabled"
SHUFFLE = f"{_V2}shuffle.enabled"
ALL_KEYS = "spark.sql.requireAllClusterKeysForCoPartition"
SETTINGS = (ENABLED, PUSH_VALUES, COMPATIBLE, PARTIAL, SUBSET, SHUFFLE, ALL_KEYS)
"""Spark's settings that decide whether a join shuffles."""


def explain_joins(facts: Sequence[JoinFacts], settings: Mapping[str, str]) -> tuple[JoinReport, ...]:
    """Return the reports of the joins that have a scan of one of our tables below them.

    Args:
        facts: the joins of a plan.
        settings: the values of `SETTINGS`.
    """
    return tuple(_report(join, settings) for join in facts if any(side.scans for side in join.sides))


def _report(join: JoinFacts, settings: Mapping[str, str]) -> JoinReport:
    left, right = (KeyedSide(side) for side in join.sides)
    named = {"left": left, "right": right}
    sides = tuple(name for name, side in named.items() if join.broadcast is None and side.side.exchanged)
    parts = tuple(name for name, side in named.items() if side.side.rest and name not in sides)
    if join.broadcast is not None:
        reason = f"{(left, right)[join.broadcast].name} is broadcast"
    elif not left.side.keys:
        reason = "no keys are compared: each part of one side meets each part of the other"
    elif sides:
        stays = [side for name, side in named.items() if name not in sides]
        found = _reason(left, right, settings)
        one_side = not stays and (left.in_place or right.in_place)
        if one_side and (found is None or None in (left.buckets, right.buckets)):
            found = "; ".join([*filter(None, [found]), "to shuffle one side alone is estimated to cost more"])
        reason = "; ".join([found or "the rows come from different buckets", *map(_staying, stays)])
    elif parts:
        reasons = [
            f"{side.name}: {side.buckets.reason or 'some files are in other buckets'}"
            for name, side in named.items()
            if name in parts and side.buckets is not None
        ]
        reason = "; ".join(dict.fromkeys(reasons))
    else:
        reason = _common_buckets(left, right)
    return JoinReport(
        join.type,
        left.name,
        right.name,
        join.conditions,
        bool(sides),
        reason,
        sides,
        parts=parts,
        sorts=join.sorts,
        incremental_sorts=join.incremental_sorts,
    )


def _reason(left: KeyedSide, right: KeyedSide, settings: Mapping[str, str]) -> str | None:
    both = (left, right)
    for side in both:
        if side.side.repartitioned:
            return f"the query repartitions {side.name}"
    if left.buckets is None and right.buckets is None and left.name != right.name:
        return "neither side is in buckets"
    for side in both:
        if side.buckets is None:
            return f"{side.name} is not in buckets"
        if side.buckets.unread:
            return _unjoined_reason(side, side.buckets, side.buckets.unread[0])
        if side.buckets.reason is not None:
            return f"{side.name}: {side.buckets.reason}"
    for side, other in ((left, right), (right, left)):
        reason = _keys_reason(side, other)
        if reason is not None:
            return reason
    assert left.buckets is not None
    assert right.buckets is not None
    return (
        _hashes_reason(left, right, left.buckets, right.buckets)
        or _settings_reason(left, left.buckets, right.buckets, settings)
        or _plan_reason(left, right)
    )


def _staying(side: KeyedSide) -> str:
    """Return why a side is not shuffled although the other side is."""
    if side.side.in_buckets and side.usable is not None:
        return f"{side.name} stays in its buckets by {', '.join(side.usable.columns)}"
    return f"rows of {side.name} are together already"


def _keys_reason(side: KeyedSide, other: KeyedSide) -> str | None:
    """Return which bucket column of a side is not a plain join key, or None if all are."""
    assert side.buckets is not None
    for name in side.buckets.columns:
        scan = side.column_keys(name)
        if any(key.plain for _, key in scan):
            continue
        if scan:
            return _computed_key_reason(side, other, name, *scan[0])
        return _unjoined_reason(side, side.buckets, name)
    return None


def _computed_key_reason(side: KeyedSide, other: KeyedSide, name: str, position: int, key: Key) -> str:
    """Return why a key is computed from a bucket column: by the query, or by a rule of Spark."""
    opposite = other.side.keys[position]
    types = [side.type_of(name, key)]
    if len(opposite.columns) == 1:
        types.append(other.type_of(opposite.columns[0].name, opposite))
        if types[0] != types[1]:
            theirs = f"{other.name}.{opposite.columns[0].name}"
            return f"types differ: {side.name}.{name} is {types[0]}, {theirs} is {types[1]}"
    if any(each.sql == f"({name} IS NULL)" for each in side.side.keys):
        how = "compares by <=> what it computes of the columns"
    elif facts_of(types[0]).family is Family.FLOAT and not key.cast:
        how = f"normalises keys of type {types[0]}"
    elif types[0].startswith("char("):
        how = f"pads columns of type {types[0]} as it reads them"
    else:
        return f"the key {key.sql} is not a plain column"
    return f"Spark {how}, so that {name} is no plain column to it"


def _unjoined_reason(side: KeyedSide, buckets: BucketReport, name: str) -> str:
    how = "neither joined on nor read" if name in buckets.unread else "not joined on"
    return f"{side.name} is in buckets by {', '.join(buckets.columns)}, and {name} is {how}"


def _hashes_reason(left: KeyedSide, right: KeyedSide, one: BucketReport, other: BucketReport) -> str | None:
    """Return how the hashes of the sides differ, or None; all bucket columns are join keys."""
    if one.version != other.version:
        return f"versions of the hash differ: {left.name} has {one.version}, {right.name} {other.version}"
    pairs = list(zip(one.columns, other.columns, strict=False))
    apart = [
        (name, opposite)
        for name, opposite in pairs
        if not left.plain_positions(name) & right.plain_positions(opposite)
    ]
    if len(one.columns) != len(other.columns) or apart:
        by = f"{left.name} is in buckets by {', '.join(one.columns)}, {right.name} by {', '.join(other.columns)}"
        return (
            f"columns differ: {by}"
            if not apart
            else f"columns differ: {by}, and {_met(left, right, *apart[0])}"
        )
    for (name, opposite), type, theirs in zip(pairs, one.types, other.types, strict=True):
        if type != theirs:
            return f"types differ: {left.name}.{name} is {type}, {right.name}.{opposite} is {theirs}"
    if one.count != other.count and math.gcd(one.count, other.count) == 1:
        if 1 not in (one.count, other.count):
            return f"numbers of buckets share no divisor: {one.count} and {other.count}"
        few, many = (left, right) if one.count == 1 else (right, left)
        count = max(one.count, other.count)
        return (
            f"{few.name} has 1 bucket and {many.name} {count}: with bucket-join = larger, {few.name} is read "
            f"{count} times instead"
        )
    return None


def _met(left: KeyedSide, right: KeyedSide, name: str, opposite: str) -> str:
    """Return which column a bucket column is joined with, in place of the one at its position."""
    positions = left.plain_positions(name)
    met = [column.name for position in positions for column in right.side.keys[position].columns]
    return f"{left.name}.{name} is joined with {right.name}.{met[0]}, not with {right.name}.{opposite}"


def _plan_reason(left: KeyedSide, right: KeyedSide) -> str | None:
    """Return which node between a side and its scans breaks its buckets, or None."""
    for side in (left, right):
        if side.folded:
            return f"the buckets of {side.name} were folded for the join below, which Spark does not do twice"
        if side.side.through == ("UNION",):
            for scan in side.side.scans:
                if scan.buckets is None:
                    return f"{scan.table}, in a UNION with {side.name}, is not in buckets"
        if side.side.through:
            return f"rows of {side.name} come through {', '.join(side.side.through)}, which leaves them in no buckets"
    return None


def _settings_reason(
    left: KeyedSide, one: BucketReport, other: BucketReport, settings: Mapping[str, str]
) -> str | None:
    """Return which of Spark's settings causes the shuffle, or None."""
    unequal = one.count != other.count
    several = len(one.columns) > 1
    more = len(left.side.keys) != len(one.columns) or any(
        left.plain_positions(name) != {position} for position, name in enumerate(one.columns)
    )
    needed = [(ENABLED, "true"), (PUSH_VALUES, "true")]
    needed += [(COMPATIBLE, "true"), (PARTIAL, "false")] if unequal else []
    needed += [(ALL_KEYS, "false")] if more else []
    needed += [(SUBSET, "false"), (SHUFFLE, "false")] if several else []
    for name, value in needed:
        if settings.get(name, value).lower() != value:
            return f"{name} is {settings[name]}: set it to {value}"
    return None


def _common_buckets(left: KeyedSide, right: KeyedSide) -> str:
    """Return a text that names the common buckets of both sides."""
    one, other = left.usable, right.usable
    if one is None or other is None:
        return "the rows are together already"
    columns = " and ".join(dict.fromkeys(", ".join(side.columns) for side in (one, other)))
    count = math.gcd(one.count, other.count)
    told = f"{count} {'bucket' if count == 1 else 'buckets'} by {columns}"
    again = [
        f"{size_text(buckets.again)} of {side.name} read again"
        for side, buckets in ((left, one), (right, other))
        if buckets.again
    ]
    split = [
        f"{side.name}: {buckets.split}" for side, buckets in ((left, one), (right, other)) if buckets.split
    ]
    return ", ".join([told, *again, *split])
