"""The results of the adviser: advice, as values and as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from parquetry.adviser.layouts import TableLayout
from parquetry.texts import count, quantity, size_text

WORSE = 1.1
"""A query gets worse if it would read more than this times what it reads now."""
_MAX_QUERIES = 8
"""Queries that are shown."""
_LABEL_WIDTH = 60


@dataclass(frozen=True, slots=True)
class QueryForecast:
    """A query, with what it reads now and would read.

    Attributes:
        query: its conditions.
        weight: how many queries it stands for.
        bytes_now, files_now, shuffles_now: as recorded.
        bytes, files, shuffles: under the layout.
        spread: how many bytes the forecast may be off.
    """

    query: str
    weight: float
    bytes_now: int
    files_now: int
    shuffles_now: int
    bytes: int
    files: int
    shuffles: int
    spread: int

    @property
    def is_worse(self) -> bool:
        """Return whether it surely reads more than now."""
        return self.bytes - self.spread > WORSE * self.bytes_now


@dataclass(frozen=True)
class Alternative:
    """A layout, and what it would do.

    Attributes:
        layout: in words.
        bytes, files, shuffles: a query's mean.
        spread: how many bytes the mean may be off.
        table_files, table_partitions: of the table.
        rewrite_bytes: bytes to write anew, once.
        pays_after: queries after which reading and writing these bytes has paid; None if it never does.
        gain: how many times less is read, at the bad end of the forecast: 1.0 is none.
        queries: each query now and then.
        statements: what to type.
        spec: the layout itself.
        is_change: whether a table of ours can get it without being made anew.
        file_bytes: the size of files to set, or None to keep it.
    """

    layout: str
    bytes: int
    files: float
    shuffles: float
    spread: int
    table_files: int
    table_partitions: int
    rewrite_bytes: int
    pays_after: int | None
    gain: float
    queries: tuple[QueryForecast, ...] = field(repr=False)
    statements: tuple[str, ...] = ()
    spec: TableLayout | None = field(default=None, repr=False)
    is_change: bool = False
    file_bytes: int | None = None

    @property
    def worse(self) -> tuple[QueryForecast, ...]:
        """Return the queries that get worse."""
        return tuple(query for query in self.queries if query.is_worse)


@dataclass(frozen=True)
class Advice:
    """The layout that a table should have, and why.

    Attributes:
        table: its name.
        is_ours: whether it is a table of Parquetry.
        rows, bytes, files: of the table.
        layout_now: the present layout.
        queries: how many queries it is for.
        bytes_now, files_now, shuffles_now: a query's mean.
        best: the advised layout, or None if the table is as good as it is.
        alternatives: other layouts, the best first.
        equals: layouts that are as good as the advised one, within the forecast's error.
        sample_rows, sample_bytes: rows that were drawn, and bytes of columns read for them.
        notes: what the reader has to know, in sentences.
    """

    table: str
    is_ours: bool
    rows: int
    bytes: int
    files: int
    layout_now: str
    queries: float
    bytes_now: int
    files_now: float
    shuffles_now: float
    best: Alternative | None
    alternatives: tuple[Alternative, ...]
    equals: tuple[str, ...]
    sample_rows: int
    sample_bytes: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain lists and dicts."""
        result = {name: getattr(self, name) for name in self.__dataclass_fields__}
        result["best"] = None if self.best is None else _alternative_dict(self.best)
        result["alternatives"] = [_alternative_dict(each) for each in self.alternatives]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in result.items()}

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _alternative_dict(each: Alternative) -> dict[str, Any]:
    result = {name: getattr(each, name) for name in each.__dataclass_fields__ if name != "spec"}
    result["statements"] = list(each.statements)
    result["queries"] = [
        {name: getattr(query, name) for name in query.__dataclass_fields__} for query in each.queries
    ]
    result["worse"] = [query.query for query in each.worse]
    return result


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
