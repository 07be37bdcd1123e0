"""Advice as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from parquetry.adviser.advice import Advice, Alternative, QueryForecast
from parquetry.texts import count, quantity, size_text

_MAX_QUERIES = 8
"""Queries that are shown."""
_LABEL_WIDTH = 60


def advice_text(advice: Advice) -> str:
    """Return advice in lines."""
    return "\n".join(_lines(advice))


def _lines(advice: Advice) -> Iterator[str]:
    yield (
        f"{advice.table}: {quantity(advice.rows, 'row')} in {quantity(advice.files, 'file')}, "
        f"{size_text(advice.bytes)}"
    )
    yield f"now: {advice.layout_now}"
    yield (
        f"A query reads {size_text(advice.bytes_now)} of {advice.files_now:,.1f} files on average "
        f"({count(round(advice.queries))} queries)."
    )
    yield ""
    if advice.best is None:
        yield "Leave the layout as it is: no other one gains more than its forecast may err."
    else:
        yield f"Advice: {advice.best.layout}"
        yield from _promise(advice, advice.best)
        yield ""
        yield from (f"{statement};" for statement in advice.best.statements)
        yield ""
        yield from _queries(advice.best.queries)
    if advice.equals:
        yield ""
        yield "About as good, so choose by what else is easier:"
        yield from (f"  {each}" for each in advice.equals)
    rest = [each for each in advice.alternatives if each.layout not in advice.equals]
    if rest:
        yield ""
        yield "Other layouts, at the bad end of their forecasts:"
        yield from (
            f"  {size_text(each.bytes + each.spread):>8} a query, {each.files:,.1f} files: {each.layout}"
            for each in rest
        )
    yield ""
    yield (
        f"Forecast from {quantity(advice.sample_rows, 'row')}, for which {size_text(advice.sample_bytes)} of columns were "
        "read."
    )
    yield from advice.notes


def _promise(advice: Advice, best: Alternative) -> Iterator[str]:
    yield (
        f"A query would read {size_text(best.bytes)} ± {size_text(best.spread)} of {best.files:,.1f} files: "
        f"{best.gain:.1f} times less, opening of files counted, at the bad end."
    )
    if advice.shuffles_now or best.shuffles:
        yield f"Exchanges of its joins: {advice.shuffles_now:.1f} a query now, {best.shuffles:.1f} then."
    partitions = f", {quantity(best.table_partitions, 'partition')}" if best.table_partitions > 1 else ""
    yield f"The table would have {quantity(best.table_files, 'file')}{partitions}."
    pays = (
        "which never pays"
        if best.pays_after is None
        else f"which pays after {quantity(best.pays_after, 'query', 'queries')}"
    )
    yield f"It rewrites {size_text(best.rewrite_bytes)}, {pays}."
    if best.worse:
        yield f"{quantity(len(best.worse), 'query reads', 'queries read')} more than now; see below."


def _queries(queries: tuple[QueryForecast, ...]) -> Iterator[str]:
    shown = sorted(queries, key=lambda each: (not each.is_worse, -each.weight * each.bytes_now))[
        :_MAX_QUERIES
    ]
    rows = [("query", "times", "now", "then", "files now", "then")]
    rows += [
        (
            each.query if len(each.query) <= _LABEL_WIDTH else f"{each.query[: _LABEL_WIDTH - 1]}…",
            f"{each.weight:,.10g}",
            size_text(each.bytes_now),
            size_text(each.bytes) + (" worse" if each.is_worse else ""),
            count(each.files_now),
            count(each.files),
        )
        for each in shown
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = zip(row, widths, strict=True)
        yield "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]).rstrip()
    if len(queries) > _MAX_QUERIES:
        yield f"… and {count(len(queries) - _MAX_QUERIES)} more"
