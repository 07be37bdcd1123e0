"""Judge which values that a join finds at run time are worth waiting for, and say of each why not.

Spark has a filter of its own where a dimension has a selective condition, its broadcast is there anyway, and the join takes no row
of the big table that has no match. `Candidate`s are all places where values of one side of a join could leave out files of a table
on the other; each gets a `Verdict` before the query runs; and as the small side has run, there are `Gathered` values. The bridge
finds the candidates, and puts filters where it is told to. What the values leave out is the business of `select`.

    f JOIN d ON f.k = d.k                 d has no condition, and is broadcast      shared: the broadcast's values
    d LEFT JOIN f ON d.k = f.k            d is never broadcast here, but small      collected: d runs once more
    f LEFT JOIN d ON f.k = d.k            rows of f without a match are asked for   refused
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from parquetry.prune.render_text import size_text
from parquetry.prune.scan_report import ScanReport

_PRUNED = {
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
_PASSED = {
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
"""Types of joins with the side whose columns a condition above the join may be asked of below it."""
_TRANSPARENT = {"Project", "Filter", "Union", "Sort", "Repartition", "RepartitionByExpression", "Generate"}
_KEYED = {"Aggregate", "Window", "WindowGroupLimit"}
"""Nodes below which a condition holds if it is on a key by which they put rows together."""
_LIMITS = {"GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"}
_SHARED_TIMES = 10
"""By how much a broadcast side, which need not be run again, may be larger than one that must be."""
_GAIN = 2
"""How many times as large as a side that is run once more a scan must be that its values may leave something out of."""


class Step(msgspec.Struct, frozen=True):
    """A node between a join and a scan.

    Attributes:
        node: its name; of a join its type.
        side: of a join, that on which the scan is.
        keyed: whether the join's key is one by which the node puts rows together.
        deterministic: whether it computes the same each time.
    """

    node: str
    side: str = ""
    keyed: bool = False
    deterministic: bool = True


class Build(msgspec.Struct, frozen=True):
    """The side of a join that values come from.

    Attributes:
        name: of its first table.
        key: whose values these are, as SQL.
        size: of its rows, in bytes, as Spark estimates it; None: not known.
        cost: how many bytes are read if it runs once more; None: not known.
        deterministic: whether Spark takes it for that.
        python: whether a Python function computes the key.
        unrepeatable: what of it may give other rows if it runs once more; None: nothing.
    """

    name: str
    key: str
    size: int | None = None
    cost: int | None = None
    deterministic: bool = True
    python: bool = False
    unrepeatable: str | None = None


class Candidate(msgspec.Struct, frozen=True):
    """A scan of one of our tables, and a side of a join whose values could leave something out of it.

    Attributes:
        scan: the scan's number among those of the query.
        report: of the scan before any values are known, as `ScanReport.to_dict` gives it.
        bytes: that the scan reads then.
        column: that the values are of, as SQL.
        plain: whether that is a column as it is.
        filterable: whether the scan can make use of its values.
        join: the join's number among those of the query.
        type: of the join.
        side: on which the scan is: `left`, `right`, or, of several inner joins, `inner`.
        steps: from the join down to the scan.
        equality: whether the values must be equal.
        null_aware: whether the join is that of NOT IN.
        build: the other side.
        source: number of what the values come from.
        narrowed: whether of that only those rows are left that have matches in its own neighbours.
        shared: whether Spark is to broadcast the other side.
        placed: Spark's own filter of the same: one that takes the values from a broadcast alone (`shared`), or `always`.
    """

    scan: int
    report: dict[str, Any]
    bytes: int | None
    column: str
    plain: bool
    filterable: bool
    join: int
    type: str
    side: str
    steps: tuple[Step, ...]
    equality: bool
    null_aware: bool
    build: Build
    source: int
    narrowed: bool
    shared: bool
    placed: Literal["shared", "always"] | None = None

    @property
    def table(self) -> str:
        """Return the name of the scan's table."""
        return str(self.report["table"])


How = Literal["shared", "collected", "spark", "refused"]


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of a candidate.

    Attributes:
        how: `shared`, values of the join's broadcast are used; `collected`, the same, but where there is no broadcast the other side
            runs once more; `spark`, Spark itself sees to it; `refused`.
        reason: of a refusal.
    """

    how: How
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What became known of the values as the query ran.

    Attributes:
        values: how many there were; None: the query has not run yet.
        shared: whether they were those of a broadcast.
    """

    values: int | None
    shared: bool


def judge(candidates: Sequence[Candidate], limits: Sequence[int | None]) -> list[Verdict]:
    """Return what is to become of the candidates of a query, one for one.

    Args:
        candidates: those for the tables of a catalog.
        limits: for each, how many bytes a side may have that runs only for its values; None: run-time pruning is off.
    """
    verdicts = [_alone(candidate, limit) for candidate, limit in zip(candidates, limits, strict=True)]
    for place, candidate in enumerate(candidates):
        if _used(verdicts[place]) and candidate.narrowed:
            for other, one in enumerate(candidates):
                same = (one.scan, one.column, one.source) == (
                    candidate.scan,
                    candidate.column,
                    candidate.source,
                )
                if same and not one.narrowed and _used(verdicts[other]):
                    verdicts[other] = Verdict(
                        "refused", f"those of {one.build.name} that its own joins leave are asked for"
                    )
    for place, candidate in enumerate(candidates):
        if verdicts[place].how == "collected" and any(
            _opposed(candidate, one) and _used(verdicts[other]) and _before(one, candidate)
            for other, one in enumerate(candidates)
        ):
            verdicts[place] = Verdict("refused", f"{candidate.build.name} is pruned by this side itself")
    return _once(candidates, verdicts)


def _once(candidates: Sequence[Candidate], verdicts: list[Verdict]) -> list[Verdict]:
    """Take the same values for the same column only once."""
    seen: set[tuple[int, str, int, str]] = set()
    for place, candidate in enumerate(candidates):
        if not _used(verdicts[place]):
            continue
        key = (candidate.scan, candidate.column, candidate.source, candidate.build.key)
        if key in seen:
            verdicts[place] = Verdict("refused", "the same values are asked for already")
        seen.add(key)
    return verdicts


def _used(verdict: Verdict) -> bool:
    return verdict.how != "refused"


def _opposed(one: Candidate, other: Candidate) -> bool:
    return one.join == other.join and {one.side, other.side} == {"left", "right"}


def _before(one: Candidate, other: Candidate) -> bool:
    """Return whether the first of two candidates, of both sides of a join, is the better one: its values cost less."""
    return (not one.shared, one.build.cost or 0, one.side) < (
        not other.shared,
        other.build.cost or 0,
        other.side,
    )


def _alone(candidate: Candidate, limit: int | None) -> Verdict:
    if limit is None:
        return Verdict("refused", "runtime-pruning is false")
    reason = _of_join(candidate) or _of_column(candidate) or _of_way(candidate) or _of_values(candidate)
    if reason is not None:
        return Verdict("refused", reason)
    if candidate.placed is not None and (candidate.shared or candidate.placed == "always"):
        return Verdict("spark")
    reason = _of_scan(candidate)
    if reason is not None:
        return Verdict("refused", reason)
    return _of_cost(candidate, limit)


def _of_join(candidate: Candidate) -> str | None:
    """Say why rows of the scan that have no match must be read all the same."""
    if candidate.null_aware:
        return "NOT IN: one NULL among the rows decides"
    if not candidate.equality:
        return f"{candidate.build.key} is no equality of two columns"
    if (candidate.type, candidate.side) not in _PRUNED:
        return f"rows without a match are part of a {candidate.type} JOIN"
    return None


def _of_column(candidate: Candidate) -> str | None:
    if not candidate.plain:
        return f"{candidate.column} is not a plain column"
    if not candidate.filterable:
        return f"nothing is known of the values of {candidate.column}"
    return None


def _of_way(candidate: Candidate) -> str | None:
    """Say which node between join and scan needs the rows that have no match."""
    for step in candidate.steps:
        if not step.deterministic:
            return f"{step.node} computes something else each time"
        if step.side:
            if (step.node, step.side) not in _PASSED:
                return f"below a {step.node} JOIN"
        elif step.node in _LIMITS:
            return f"below a {step.node}"
        elif step.node in _KEYED:
            if not step.keyed:
                return f"{step.node} does not go by {candidate.column}"
        elif step.node not in _TRANSPARENT:
            return f"below {step.node}"
    return None


def _of_values(candidate: Candidate) -> str | None:
    """Say why values would not be those that the join will use."""
    if candidate.build.python:
        return f"a Python function computes {candidate.build.key}"
    if not candidate.build.deterministic:
        return f"{candidate.build.name} is computed anew each time"
    return None


def _of_scan(candidate: Candidate) -> str | None:
    """Say why no values could leave anything out."""
    report = ScanReport.from_dict(candidate.report)
    for name in ("partitions", "files"):
        step = report.step(name)
        if step is not None and name == "files" and step.kept < 2:
            return f"{step.kept} {'file' if step.kept == 1 else 'files'} of {candidate.table} left"
    return None


def _of_cost(candidate: Candidate, limit: int) -> Verdict:
    """Say whether the values are worth what they cost."""
    build = candidate.build
    if candidate.shared:
        if build.size is not None and build.size > limit * _SHARED_TIMES:
            return Verdict(
                "refused", f"{build.name} has {size_text(build.size)}, too much for a list of values"
            )
        return Verdict("shared" if _too_dear(candidate, limit) else "collected")
    reason = _too_dear(candidate, limit)
    return (
        Verdict("refused", f"{build.name} is not broadcast, and {reason}") if reason else Verdict("collected")
    )


def _too_dear(candidate: Candidate, limit: int) -> str | None:
    """Say why a side is not to run once more for its values."""
    build = candidate.build
    if build.unrepeatable is not None:
        return f"{build.unrepeatable} may give other rows when it runs again"
    if build.cost is None:
        return "its size is not known"
    if build.cost > limit:
        return f"has {size_text(build.cost)}, more than runtime-pruning-max-build-size ({size_text(limit)})"
    if candidate.bytes is not None and build.cost * _GAIN > candidate.bytes:
        return (
            f"reading its {size_text(build.cost)} again is not worth it for {size_text(candidate.bytes)} of "
            f"{candidate.table}"
        )
    return None
