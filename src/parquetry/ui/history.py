"""The history of queries of a warehouse, and advice that rests on it, as the page shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parquetry.adviser import Advice, Alternative
from parquetry.catalog import SampleOptions, advise_on_table, find_table
from parquetry.metastore import Metastore
from parquetry.texts import quantity
from parquetry.ui.recorded import MAX_QUERIES, LayoutAdvice, Sources
from parquetry.workload import QueryRecord, kept_promises, read_queries


def kept_queries(metastore: Metastore, table: str | None, most: int) -> Sequence[QueryRecord] | None:
    """Return the last queries of the history, or None if it has none; see `recorded.Recorded`."""
    id = None if table is None else find_table(metastore, table).id
    return list(read_queries(metastore, id, since=0, limit=most)) or None


def layouts_for(metastore: Metastore, table: str) -> Sequence[LayoutAdvice] | None:
    """Return the layouts for a table, or None if the history has no query of it; see `recorded.Adviser`."""
    records = kept_queries(metastore, table, MAX_QUERIES)
    if records is None:
        return None
    return list(_layouts(advise_on_table(metastore, table, records, SampleOptions())))


def _layouts(advice: Advice) -> Iterator[LayoutAdvice]:
    if advice.best is not None:
        yield _layout(advice, advice.best, "advised")
    yield LayoutAdvice(
        layout=advice.layout_now,
        verdict="other" if advice.best is not None else "as it is",
        bytes_now=advice.bytes_now,
        bytes=advice.bytes_now,
        detail=" ".join(advice.notes),
    )
    for each in advice.alternatives:
        if advice.best is None or each.layout != advice.best.layout:
            yield _layout(advice, each, "equal" if each.layout in advice.equals else "other")


def _layout(advice: Advice, each: Alternative, verdict: str) -> LayoutAdvice:
    worse = f"{quantity(len(each.worse), 'query reads', 'queries read')} more than now." if each.worse else ""
    return LayoutAdvice(
        layout=each.layout,
        verdict=verdict,
        bytes_now=advice.bytes_now,
        bytes=each.bytes,
        spread=each.spread,
        rewrite_bytes=each.rewrite_bytes,
        pays_after=each.pays_after,
        statement=";\n".join(each.statements),
        detail=worse,
    )


def promises_of(metastore: Metastore, table: str) -> Sequence[str]:
    """Return the promises of a table beside the truth; see `recorded.Promises`."""
    return [str(each) for each in kept_promises(metastore, find_table(metastore, table))]


OF_WAREHOUSE = Sources(queries=kept_queries, adviser=layouts_for, promises=promises_of)
"""The sources in the metastore of a warehouse."""
