"""Answer which heavy keys of joins are joined apart, by what the metastore knows of both sides."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from parquetry.config import SKEW_JOIN, settle
from parquetry.joins import (
    LIMITS,
    SKEW_LIMITS,
    HeavyKeys,
    SkewSplit,
    choose_sides,
    estimate_rows,
    find_heavy_keys,
    is_skewed,
    refuse_cost,
    refuse_shape,
)
from parquetry.metastore import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.request import ScanRequest
from parquetry.predicate import Filter, In, Predicate
from parquetry.prune import Condition, PruningRequest, Selection, may_have_directories, select_for

_MAX_COUNTED_KEYS = 10_000
"""Keys of the other side that are counted by their files; more are taken for evenly distributed."""


def split_joins(
    lake: Lake, candidates: Sequence[questions.SkewCandidate], session: dict[str, str]
) -> list[SkewSplit]:
    """Return the decision on each candidate. Of the two sides of a join, the keys of one are joined apart.

    Args:
        lake: the catalog.
        candidates: joins, each with one side that may have heavy keys.
        session: its settings.

    Raises:
        ConfigurationError: a setting of the session cannot be used.
        PropertyError: a table property or an option of the read cannot be used.
    """
    splits = [_split(lake, each, session) for each in candidates]
    return choose_sides([each.join for each in candidates], splits)


def _split(lake: Lake, candidate: questions.SkewCandidate, session: dict[str, str]) -> SkewSplit:
    facts = candidate.facts
    own = ScanRequest(lake, lake.snapshot(candidate.table), candidate.predicates)
    metadata = own.snapshot.metadata
    mode = settle(candidate.read_options, session, metadata.properties, names_checked=False)[SKEW_JOIN]
    reason = refuse_shape(facts, mode)
    if mode == "off" or not _may_have_some(own.snapshot, is_candidate=reason is None):
        return SkewSplit()
    keys = find_heavy_keys(
        metadata,
        own.select(about=set(candidate.columns)),
        candidate.columns,
        min_share=SKEW_LIMITS.key_share,
        most=SKEW_LIMITS.values,
    )
    if keys is None:
        return SkewSplit()
    if reason is None:
        matching = None
        if candidate.other is not None:
            other = ScanRequest.from_question(lake, candidate.other)
            matching = _matching_rows(lake, candidate, other, keys)
            rows = _estimate(lake, other, [])
            facts = msgspec.structs.replace(facts, other=msgspec.structs.replace(facts.other, rows=rows))
        reason = refuse_cost(facts, keys, matching, mode)
    if reason is not None:
        return SkewSplit(reason=reason)
    types = [metadata.column(name).column_type for name in keys.columns]
    values = [list(map(to_wire, types, key)) for key in keys.values]
    return SkewSplit(list(keys.columns), values, keys.share)


def _may_have_some(snapshot: TableSnapshot, *, is_candidate: bool) -> bool:
    """Return whether it is worth looking for heavy keys of a table.

    A table that is skewed by some columns is looked at in any case, so that reports can say why its keys are
    not joined apart. The files of any other are looked at only if they are listed in planning.
    """
    if is_skewed(snapshot.metadata) or may_have_directories(snapshot):
        return True
    return is_candidate and snapshot.totals.partitions < LIMITS.listed_partitions


def _matching_rows(
    lake: Lake, candidate: questions.SkewCandidate, other: ScanRequest, keys: HeavyKeys
) -> int | None:
    """Return the estimated rows of the other side's table with one of the keys, or None if not known.

    Its own heavy keys are counted; all others are taken for evenly distributed.
    """
    metadata = other.snapshot.metadata
    names = dict(zip(candidate.columns, candidate.other_columns, strict=True))
    columns = [names[each] for each in keys.columns]
    if any(name is None for name in columns):
        return None
    described = [name for name in columns if name is not None]
    conditions: list[Predicate] = [
        In(name, tuple(key[position] for key in keys.values), metadata.column(name).column_type)
        for position, name in enumerate(described)
    ]
    estimate = _estimate(lake, other, conditions)
    same = find_heavy_keys(
        metadata,
        _select(lake, other, conditions, described),
        described,
        min_share=0.0,
        most=_MAX_COUNTED_KEYS,
    )
    if estimate is None or same is None or same.rows is None or same.columns != tuple(described):
        return estimate
    wanted = set(keys.values)
    counted = sum(rows for key, rows in zip(same.values, same.rows, strict=True) if key in wanted)
    return max(estimate, counted)


def _select(
    lake: Lake, request: ScanRequest, conditions: Sequence[Predicate], about: Sequence[str]
) -> Selection:
    every = (*request.conditions, *(Condition.from_filter(Filter(each)) for each in conditions))
    names = {name for each in every for name in each.about}.union(about)
    partition_by = frozenset(request.snapshot.metadata.partition_by)
    return select_for(
        PruningRequest(request.snapshot, every, (), partition_by, None, lake.recent), about=names
    )


def _estimate(lake: Lake, request: ScanRequest, conditions: Sequence[Predicate]) -> int | None:
    """Return how many rows of a table are likely to satisfy its query's conditions and some more."""
    predicates = [*(each.predicate for each in request.conditions), *conditions]
    return estimate_rows(request.snapshot.metadata, _select(lake, request, conditions, ()), predicates)
