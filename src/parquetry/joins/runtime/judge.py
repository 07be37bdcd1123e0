"""Judge which runtime filters are worth waiting for, and give the reason for each refusal.

Spark's own dynamic filter needs three things: a selective condition on the dimension, a broadcast of it, and
a join that drops rows of the big table without a match. Runtime filters give the same result in more places:

| join                         | situation                                | verdict                                        |
|------------------------------|------------------------------------------|------------------------------------------------|
| `f JOIN d ON f.k = d.k`      | `d` has no condition, and is broadcast   | `shared`: values of the broadcast              |
| `d LEFT JOIN f ON d.k = f.k` | `d` is never broadcast here, but small   | `collected`: `d` runs a second time            |
| `f JOIN g ON f.id = g.id`    | a date selects few partitions of `g`     | `ends`: the range of `id` in their files       |
| `f LEFT JOIN d ON f.k = d.k` | the result has rows of `f` without match | `refused`                                      |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from parquetry.joins.runtime.build_costs import (
    KeyFilesOf,
    SpreadOf,
    affordable,
    cost_verdict,
    key_range_part,
    refuse_scattered,
)
from parquetry.joins.runtime.candidates import Candidate, Verdict
from parquetry.joins.runtime.tuples import PlacementColumns, group_tuples
from parquetry.prune import join_words, node_words

_PRUNABLE_JOINS = {
    ("INNER", "left"),
    ("INNER", "right"),
    ("INNER", "inner"),
    ("CROSS", "left"),
    ("CROSS", "right"),
    ("CROSS", "inner"),
    ("LEFT SEMI", "left"),
    ("LEFT SEMI", "right"),
    ("LEFT OUTER", "right"),
    ("LEFT ANTI", "right"),
    ("EXISTS", "right"),
    ("RIGHT OUTER", "left"),
}
"""Types of joins, each with a side whose rows without a match are dropped or make no difference.

`inner` is any table in a group of inner joins."""
TRANSPARENT_JOINS = {
    ("INNER", "left"),
    ("INNER", "right"),
    ("CROSS", "left"),
    ("CROSS", "right"),
    ("LEFT SEMI", "left"),
    ("LEFT ANTI", "left"),
    ("LEFT OUTER", "left"),
    ("EXISTS", "left"),
    ("RIGHT OUTER", "right"),
}
"""Types of joins, each with a side whose rows they pass on or drop, but never change or fill with NULL.

A condition above the join may be tested below it on that side."""
_TRANSPARENT_NODES = {
    "Project",
    "Filter",
    "Union",
    "Sort",
    "Repartition",
    "RepartitionByExpression",
    "Generate",
}
_KEYED_NODES = {"Aggregate", "Window", "WindowGroupLimit"}
"""Nodes that group rows by keys. A condition may be pushed below them if it is on such a key."""
_LIMITING_NODES = {"GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"}


def decide(
    candidates: Sequence[Candidate],
    limits: Sequence[int | None],
    spread: SpreadOf = lambda _: None,
    dense_key_count: Callable[[int], int | None] = lambda _: None,
    key_files: KeyFilesOf = lambda _: None,
    placing: Callable[[int], PlacementColumns] = lambda _: PlacementColumns(),
) -> list[Verdict]:
    """Return the verdicts on the candidates of a query, one for each.

    Args:
        candidates: the candidates for the tables of a catalog.
        limits: for each candidate the most bytes that a build side may read in a second run, or None if
            runtime pruning is off.
        spread: returns the value clustering of the column of the candidate at a position.
        dense_key_count: returns the number of dense keys of the candidate at a position, or None if they may
            prune files.
        key_files: returns the `KeyFiles` of the candidate at a position.
        placing: returns the columns that place rows in the table of the candidate at a position.
    """
    alone = [_own_verdict(candidate, limit) for candidate, limit in zip(candidates, limits, strict=True)]
    by_cost = alone
    alone = [
        refuse_scattered(candidate, verdict, partial(spread, position), partial(dense_key_count, position))
        for position, (candidate, verdict) in enumerate(zip(candidates, alone, strict=True))
    ]
    verdicts = list(alone)
    parts: dict[int, float] = {}
    for position, (candidate, limit) in enumerate(zip(candidates, limits, strict=True)):
        if limit is None or alone[position].how not in ("refused", "shared") or candidate.form == "ranges":
            continue
        if by_cost[position].used and not alone[position].used:  # ineffective at any cost
            continue
        if reason_against(candidate) is not None:
            continue
        part = (
            key_range_part(candidates, alone, position, spread, key_files)
            if alone[position].how == "refused"
            else None
        )
        if part is not None:
            verdicts[position], parts[position] = Verdict("ends"), part
        elif affordable(candidates, alone, position, limit, spread):
            verdicts[position] = Verdict("collected")
    apart = {one.together for one, verdict in zip(candidates, verdicts, strict=True) if not verdict.used} - {
        None
    }
    verdicts = [
        Verdict("refused", _serves_several(one)) if one.together in apart and verdict.used else verdict
        for one, verdict in zip(candidates, verdicts, strict=True)
    ]
    verdicts = _replaced(candidates, verdicts)
    verdicts = _replace_duplicates(candidates, _narrowest(candidates, verdicts, parts))
    return group_tuples(candidates, verdicts, limits, placing)


def _replaced(candidates: Sequence[Candidate], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts; candidates with a better alternative become `replaced`."""
    verdicts = list(verdicts)
    for position, candidate in enumerate(candidates):
        if verdicts[position].used and candidate.narrowed:
            for other, one in enumerate(candidates):
                same = (one.scan, one.column, one.source) == (
                    candidate.scan,
                    candidate.column,
                    candidate.source,
                )
                if same and one.form != "ranges" and not one.narrowed and verdicts[other].used:
                    verdicts[other] = Verdict("replaced")
    for position, candidate in enumerate(candidates):
        if verdicts[position].how == "collected" and any(
            _opposed(candidate, one)
            and verdicts[other].used
            and verdicts[other].how != "known"
            and _before(one, candidate)
            for other, one in enumerate(candidates)
        ):
            verdicts[position] = Verdict("replaced")
    return verdicts


def _narrowest(
    candidates: Sequence[Candidate], verdicts: list[Verdict], parts: Mapping[int, float]
) -> list[Verdict]:
    """Keep for each column of a scan one key's range: the one from the least share of files."""
    columns_taken: set[tuple[int, str]] = set()
    for position in sorted(parts, key=lambda position: parts[position]):
        column = candidates[position].scan, candidates[position].column
        if verdicts[position].how == "ends":
            if column in columns_taken:
                verdicts[position] = Verdict("replaced")
            columns_taken.add(column)
    return verdicts


def _replace_duplicates(candidates: Sequence[Candidate], verdicts: list[Verdict]) -> list[Verdict]:
    """Use the same values for a column once, if their sources are one or read the same data."""
    seen: set[tuple[object, ...]] = set()
    for position, candidate in enumerate(candidates):
        if not verdicts[position].used:
            continue
        build = candidate.build
        of = (candidate.scan, candidate.column, build.key)
        keys: set[tuple[object, ...]] = {(*of, candidate.source)}
        if verdicts[position].how == "collected" and build.parts and candidate.together is None:
            scans = frozenset(part.scan for part in build.parts)
            keys.add((*of, build.name, scans, frozenset(build.where)))
        if keys & seen:
            verdicts[position] = Verdict("replaced")
        seen |= keys
    return verdicts


def _opposed(one: Candidate, other: Candidate) -> bool:
    return one.join == other.join and {one.side, other.side} == {"left", "right"}


def _before(one: Candidate, other: Candidate) -> bool:
    """Return whether the first of two candidates on opposite sides of a join has values that cost less."""
    return (not one.serves_itself, one.build.cost or 0, one.side) < (
        not other.serves_itself,
        other.build.cost or 0,
        other.side,
    )


def _own_verdict(candidate: Candidate, limit: int | None) -> Verdict:
    if limit is None:
        return Verdict("refused", "runtime-pruning is false")
    barred = reason_against(candidate)
    if barred is not None:
        return Verdict("refused", barred)
    known = candidate.known
    if known is not None and (known.useful or known.complete):
        return Verdict("known")
    widened = candidate.form == "widened"  # Spark's own filter on it does not reach a scan
    if candidate.placed is not None and not widened and (candidate.shared or candidate.placed == "always"):
        return Verdict("spark")
    return cost_verdict(candidate, limit)


def reason_against(candidate: Candidate) -> str | None:
    """Return why a candidate is useless at any cost, or None."""
    reasons = (
        refusal(candidate)
        for refusal in (_join_refusal, _path_refusal, _scan_refusal, _column_refusal, _values_refusal)
    )
    return next((reason for reason in reasons if reason is not None), None)


def _join_refusal(candidate: Candidate) -> str | None:
    """Return why rows of the scan without a match must be read all the same, or None."""
    if candidate.null_aware:
        return "NOT IN: one NULL among the rows decides"
    if not candidate.equality and candidate.form != "ranges":
        return f"{candidate.build.key} says nothing of {candidate.column} without the other side's row"
    if (candidate.type, candidate.side) not in _PRUNABLE_JOINS:
        if candidate.type == "EXISTS":
            return "rows without a match may satisfy what stands beside OR"
        return f"rows without a match are part of a {join_words(candidate.type)}"
    return None


def _column_refusal(candidate: Candidate) -> str | None:
    if candidate.form == "computed":
        return f"{candidate.column} is computed, and its values in a file are not known"
    if not candidate.filterable:
        return f"nothing is known of the values of {candidate.column}"
    return None


def _path_refusal(candidate: Candidate) -> str | None:
    """Return which node between join and scan needs the rows without a match, or None."""
    for step in candidate.steps:
        if not step.deterministic:
            return f"{node_words(step.node)} computes something else each time"
        if step.side:
            if (step.node, step.side) not in TRANSPARENT_JOINS:
                return f"below a {join_words(step.node)}"
        elif step.node in _LIMITING_NODES:
            return f"below {node_words(step.node)}"
        elif step.node in _KEYED_NODES:
            if not step.keyed:
                return f"{node_words(step.node)} is not by {candidate.column}"
        elif step.node not in _TRANSPARENT_NODES:
            return f"below {node_words(step.node)}"
    return None


def _values_refusal(candidate: Candidate) -> str | None:
    """Return why the values could differ from the values that the join will use, or None."""
    if candidate.build.python:
        return f"a Python function computes {candidate.build.key}"
    if not candidate.build.deterministic:
        return f"{candidate.build.name} is computed anew each time"
    return None


def _serves_several(candidate: Candidate) -> str:
    return f"what is read of {candidate.table} serves several places of the query"


def _scan_refusal(candidate: Candidate) -> str | None:
    """Return why no values could prune the scan, or would make Spark read more, or None."""
    if candidate.read_once:
        return _serves_several(candidate)
    if candidate.remaining_files is not None and candidate.remaining_files < 2:
        return f"{candidate.remaining_files} {'file' if candidate.remaining_files == 1 else 'files'} of {candidate.table} left"
    return None
