"""The next step of a table whose layout follows its queries (`layout` = `auto`), or why there is none.

A step sets what new files are sorted by, and names the old files to sort anew. Partitions and buckets stay:
they are what statements and joins rely on. Layouts must not flap, so a step is taken only

- if another layout is better by more than forecasts err (`advice`), and
- if rewriting pays within the number of queries that have come since the last step: each rewrite is earned
  by queries of its own, and
- if no rollback has undone the same layout before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from parquetry.adviser.advice import advise_by
from parquetry.adviser.boundaries import Resorting, plan_resorting
from parquetry.adviser.layouts import TableLayout
from parquetry.adviser.study import TableStudy
from parquetry.texts import quantity, size_text
from parquetry.workload import LayoutPromise


@dataclass(frozen=True, slots=True)
class LayoutStep:
    """A step, or the reason to do nothing.

    Attributes:
        reason: for people and for the table's history.
        layout: what new files are to have; None to leave it.
        resorting: the files to sort anew, if any.
        promise: what queries will read.
    """

    reason: str
    layout: TableLayout | None = None
    resorting: Resorting | None = None
    promise: LayoutPromise | None = None

    @property
    def is_due(self) -> bool:
        """Return whether there is something to do."""
        return self.layout is not None or self.resorting is not None


def next_step(
    study: TableStudy,
    queries: float,
    most_bytes: int | None = None,
    undone: Collection[str] = (),
) -> LayoutStep:
    """Return the next step of a table.

    Args:
        study: of the table, for orders of rows only.
        queries: how many queries have come since the last step. They have to pay for this one.
        most_bytes: of files that may be rewritten.
        undone: orders of layouts that somebody has undone (`TableLayout.order_text`).
    """
    best, now = advise_by(study).best, study.source.layout
    why = "no other layout gains more than its forecast may err"
    if best is not None and best.spec is not None and best.spec.order_text != now.order_text:
        if best.spec.order_text in undone:
            why = f"the layout '{best.spec.order_text}' was undone by a rollback, so it is not taken again"
        elif (step := _change(study, best.spec, queries, most_bytes)) is not None:
            return step
        else:
            why = f"the layout '{best.spec.order_text}' does not pay within {_queries(queries)}"
    is_sorted = bool(now.sort) and now.order_text not in undone
    resorting = plan_resorting(study, now, queries, most_bytes) if is_sorted else None
    if resorting is None:
        return LayoutStep(why)
    return _step(study, resorting, None)


def _change(
    study: TableStudy, layout: TableLayout, queries: float, most_bytes: int | None
) -> LayoutStep | None:
    """Return the step to another layout, or None if it does not pay."""
    if plan_resorting(study, layout, queries) is None:
        return None
    resorting = plan_resorting(study, layout, queries, most_bytes)
    if resorting is None:  # the budget has no room for a set that pays: new files begin
        return LayoutStep(f"new files are {layout.order_text}; no old ones, for want of budget", layout)
    return _step(study, resorting, layout)


def _step(study: TableStudy, resorting: Resorting, layout: TableLayout | None) -> LayoutStep:
    order = resorting.layout.order_text
    promise = LayoutPromise(
        order,
        round(resorting.bytes_now),
        round(resorting.bytes_then),
        round(resorting.spread),
        round(resorting.files_then, 2),
        tuple(study.asked),
    )
    rewritten = (
        f"; {len(resorting.files):,} of {quantity(len(study.source.files), 'file')}, {size_text(resorting.bytes)}, "
        f"are written anew, which pays after {_queries(resorting.pays_after)}"
    )
    return LayoutStep(_reason(study, promise, order, rewritten), layout, resorting, promise)


def _reason(study: TableStudy, promise: LayoutPromise, order: str, more: str) -> str:
    return (
        f"{_queries(study.questions.queries)} read {size_text(promise.bytes_now)} each, and would read "
        f"{size_text(promise.bytes)} ± {size_text(promise.spread)} {order}{more}"
    )


def _queries(number: float) -> str:
    return quantity(round(number), "query", "queries")
