"""Judge which values that a join finds at run time are worth waiting for, and say of each why not.

Spark has a filter of its own where a dimension has a selective condition, its broadcast is there anyway, and the join takes no row
of the big table that has no match. There are more places where the answer is the same:

    f JOIN d ON f.k = d.k                 d has no condition, and is broadcast      shared: the broadcast's values
    d LEFT JOIN f ON d.k = f.k            d is never broadcast here, but small      collected: d runs once more
    f JOIN g ON f.id = g.id               a date leaves few partitions of g         ends: from the least to the greatest id of their files
    f LEFT JOIN d ON f.k = d.k            rows of f without a match are asked for   refused
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from parquetry.prune.runtime.build_costs import (
    KeyFilesOf,
    SpreadOf,
    affordable,
    cost_verdict,
    key_range_part,
    refuse_scattered,
)
from parquetry.prune.runtime.candidates import Candidate, Verdict
from parquetry.prune.runtime.tuples import PlacementColumns, group_tuples

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
    ("EXISTENCE", "right"),
    ("RIGHT OUTER", "left"),
}
"""Types of joins with the side of which rows without a match are left out or make no difference; `inner` is any table among
several that inner joins bring together."""
TRANSPARENT_JOINS = {
    ("INNER", "left"),
    ("INNER", "right"),
    ("CROSS", "left"),
    ("CROSS", "right"),
    ("LEFT SEMI", "left"),
    ("LEFT ANTI", "left"),
    ("LEFT OUTER", "left"),
    ("EXISTENCE", "left"),
    ("RIGHT OUTER", "right"),
}
"""Types of joins with the side whose rows they pass on without others: a condition above the join may be asked of them below it, and
no values are added to their columns."""
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
"""Nodes below which a condition holds if it is on a key by which they put rows together."""
_LIMITING_NODES = {"GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"}


def decide(
    candidates: Sequence[Candidate],
    limits: Sequence[int | None],
    spread: SpreadOf = lambda _: None,
    dense_key_count: Callable[[int], int | None] = lambda _: None,
    key_files: KeyFilesOf = lambda _: None,
    placing: Callable[[int], PlacementColumns] = lambda _: PlacementColumns(),
) -> list[Verdict]:
    """Return what is to become of the candidates of a query, one for one.

    Args:
        candidates: those for the tables of a catalog.
        limits: for each, how many bytes a side may have that runs only for its values; None: run-time pruning is off.
        spread: for a candidate by its place, how far the values of its column lie apart.
        nearly_all: for a candidate by its place, of which all rows of a table are broadcast, how many values these have, if
            they are many and nearly every file of the scan has some.
        key_files: for a candidate by its place, how the values of its key lie in the files that they come from.
        placing: for a candidate by its place, the columns that place the rows of its table.
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
        if by_cost[position].used and not alone[position].used:  # it is no use, whatever it costs
            continue
        if _barred(candidate) is not None:
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
    """Return the verdicts without the use of values in whose place others are used."""
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
    """Take for a column of a scan the ends of one key alone, of that of which the least part of the files is left: few leave out the most."""
    columns_taken: set[tuple[int, str]] = set()
    for position in sorted(parts, key=lambda position: parts[position]):
        column = candidates[position].scan, candidates[position].column
        if verdicts[position].how == "ends":
            if column in columns_taken:
                verdicts[position] = Verdict("replaced")
            columns_taken.add(column)
    return verdicts


def _replace_duplicates(candidates: Sequence[Candidate], verdicts: list[Verdict]) -> list[Verdict]:
    """Take the same values for the same column only once: of one source, or of two that read the same for them."""
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
    """Return whether the first of two candidates, of both sides of a join, is the better one: its values cost less."""
    return (not one.serves_itself, one.build.cost or 0, one.side) < (
        not other.serves_itself,
        other.build.cost or 0,
        other.side,
    )


def _own_verdict(candidate: Candidate, limit: int | None) -> Verdict:
    if limit is None:
        return Verdict("refused", "runtime-pruning is false")
    barred = _barred(candidate)
    if barred is not None:
        return Verdict("refused", barred)
    known = candidate.known
    if known is not None and (known.useful or known.complete):
        return Verdict("known")
    widened = candidate.form == "widened"  # of which Spark's own filter does not reach a scan
    if candidate.placed is not None and not widened and (candidate.shared or candidate.placed == "always"):
        return Verdict("spark")
    return cost_verdict(candidate, limit)


def _barred(candidate: Candidate) -> str | None:
    """Say why a candidate is of no use, whatever it costs."""
    reasons = (
        refusal(candidate)
        for refusal in (_join_refusal, _path_refusal, _scan_refusal, _column_refusal, _values_refusal)
    )
    return next((reason for reason in reasons if reason is not None), None)


def _join_refusal(candidate: Candidate) -> str | None:
    """Say why rows of the scan that have no match must be read all the same."""
    if candidate.null_aware:
        return "NOT IN: one NULL among the rows decides"
    if not candidate.equality and candidate.form != "ranges":
        return f"{candidate.build.key} says nothing of {candidate.column} without the other side's row"
    if (candidate.type, candidate.side) not in _PRUNABLE_JOINS:
        return f"rows without a match are part of a {candidate.type} JOIN"
    return None


def _column_refusal(candidate: Candidate) -> str | None:
    if candidate.form == "computed":
        return f"{candidate.column} is computed of more than partition columns"
    if not candidate.filterable:
        return f"nothing is known of the values of {candidate.column}"
    return None


def _path_refusal(candidate: Candidate) -> str | None:
    """Say which node between join and scan needs the rows that have no match."""
    for step in candidate.steps:
        if not step.deterministic:
            return f"{step.node} computes something else each time"
        if step.side:
            if (step.node, step.side) not in TRANSPARENT_JOINS:
                return f"below a {step.node} JOIN"
        elif step.node in _LIMITING_NODES:
            return f"below a {step.node}"
        elif step.node in _KEYED_NODES:
            if not step.keyed:
                return f"{step.node} does not go by {candidate.column}"
        elif step.node not in _TRANSPARENT_NODES:
            return f"below {step.node}"
    return None


def _values_refusal(candidate: Candidate) -> str | None:
    """Say why values would not be those that the join will use."""
    if candidate.build.python:
        return f"a Python function computes {candidate.build.key}"
    if not candidate.build.deterministic:
        return f"{candidate.build.name} is computed anew each time"
    return None


def _serves_several(candidate: Candidate) -> str:
    return f"what is read of {candidate.table} serves several places of the query"


def _scan_refusal(candidate: Candidate) -> str | None:
    """Say why no values could leave anything out, or would have more read."""
    if candidate.read_once:
        return _serves_several(candidate)
    if candidate.remaining_files is not None and candidate.remaining_files < 2:
        return f"{candidate.remaining_files} {'file' if candidate.remaining_files == 1 else 'files'} of {candidate.table} left"
    return None
