"""Advice on a table's layout: what its queries read now, and would read under a few others.

`advise_on` draws the sample, binds the queries, and ranks layouts by the bad end of each forecast. A layout is
advised only if it gains more than forecasts err by. Of layouts that are equal within that error, the simplest
is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from parquetry.adviser.candidates import CandidateSearch
from parquetry.adviser.forecast import Forecaster, LayoutForecast, QueryCost
from parquetry.adviser.layouts import Layout
from parquetry.adviser.questions import Others, Question, QuestionSet, bind_questions, columns_asked, reads_of
from parquetry.adviser.sampling import SAMPLE_BYTES, SAMPLE_ROWS, SamplePlan, draw_sample, plan_sample
from parquetry.adviser.sources import TableSource, require_rows
from parquetry.adviser.statements import is_change, statements
from parquetry.errors import UnsupportedError
from parquetry.progress import Progress, silent
from parquetry.workload import QueryRecord, TableRead

MIN_GAIN = 0.1
"""The least part of the present cost that a layout has to save, at the bad end of its forecast."""
MAX_ALTERNATIVES = 5
"""Layouts that are shown."""
WORSE = 1.1
"""A query gets worse if it would read more than this times what it reads now."""
_REWRITE_FACTOR = 2
"""Bytes read and written for each byte that is rewritten."""


@dataclass(frozen=True, slots=True)
class Request:
    """What advice is asked for.

    Attributes:
        records: the queries.
        names: how queries name the table.
        catalog: its catalog's name, for statements.
        others: finds other tables of joins.
        sample_rows: rows to draw.
        sample_bytes: bytes of columns that may be read for it.
        progress: called with the work that is done.
        plan_made: called with what the sample would read, before it is read.
    """

    records: Sequence[QueryRecord]
    names: Sequence[str]
    catalog: str = "lake"
    others: Others = lambda _: None
    sample_rows: int = SAMPLE_ROWS
    sample_bytes: int = SAMPLE_BYTES
    progress: Progress = silent
    plan_made: Callable[[SamplePlan], None] = lambda _: None


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
    spec: Layout | None = field(default=None, repr=False)
    is_change: bool = False
    file_bytes: int | None = None

    @property
    def worse(self) -> tuple[QueryForecast, ...]:
        """Return the queries that get worse."""
        return tuple(query for query in self.queries if query.is_worse)


@dataclass(frozen=True)
class Advice:
    """What a table's layout should be, and why.

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
        from parquetry.adviser.words import advice_text

        return advice_text(self)


def _alternative_dict(each: Alternative) -> dict[str, Any]:
    result = {name: getattr(each, name) for name in each.__dataclass_fields__ if name != "spec"}
    result["statements"] = list(each.statements)
    result["queries"] = [
        {name: getattr(query, name) for name in query.__dataclass_fields__} for query in each.queries
    ]
    result["worse"] = [query.query for query in each.worse]
    return result


def advise_on(source: TableSource, request: Request) -> Advice:
    """Advise on a table's layout.

    Raises:
        UnsupportedError: no query reads the table, or the table has no rows; or Spark alone reads its rows.
        FileMissingError, FileCorruptError: a file cannot be read.
    """
    require_rows(source)
    reads = reads_of(request.records, [source.name, *request.names])
    if not reads:
        raise UnsupportedError(
            f"No query of {source.name} is known, so there is nothing to advise by: give queries, "
            "such as a file with a condition on each line."
        )
    asked = columns_asked(source, reads)
    plan = plan_sample(source, _sampled(source, reads, asked), request.sample_rows, request.sample_bytes)
    request.plan_made(plan)
    sample = draw_sample(source, plan, request.progress)
    questions = bind_questions(source, reads, sample, request.others)
    request.progress("Cutting rows into files", 0, None)
    forecaster = Forecaster(source, sample, questions.questions, _other_tables(reads, request.others))
    now = forecaster.now()
    candidates = _candidates(source, sample, questions, asked, forecaster)
    ranked = sorted(candidates, key=lambda each: each.pessimistic_cost)
    named, equals = _choose(source, now, ranked)
    return _advice(source, request, (now, named, ranked, equals), (plan, questions), sample.count)


def _sampled(
    source: TableSource, reads: Sequence[tuple[QueryRecord, TableRead]], asked: Sequence[str]
) -> list[str]:
    """Return the columns to read: what layouts may be made of, and what queries read."""
    spellings = {name.lower(): name for name in source.columns}
    names = dict.fromkeys([*asked, *(grain.column for grain in source.layout.partition)])
    for _, read in reads:
        every = source.columns if read.columns is None else read.columns
        tops = (name.lower().partition(".")[0] for name in every)
        names.update(dict.fromkeys(spellings[top] for top in tops if top in spellings))
    return [name for name in names if source.columns[name].column_type.primitive]


def _other_tables(
    reads: Sequence[tuple[QueryRecord, TableRead]], others: Others
) -> dict[str, tuple[int, tuple[str, ...]]]:
    names = {join.other_table for _, read in reads for join in read.joins if join.other_table is not None}
    known = {name: others(name) for name in names}
    return {name: (other.bytes, other.layout.bucket_by) for name, other in known.items() if other is not None}


def _candidates(
    source: TableSource,
    sample: Any,
    questions: QuestionSet,
    asked: Sequence[str],
    forecaster: Forecaster,
) -> list[LayoutForecast]:
    search = CandidateSearch(source, sample, questions.questions, asked)
    forecasts = [forecaster.then(layout) for layout in search.find(forecaster)]
    if not forecasts:
        return []
    best = min(forecasts, key=lambda each: each.pessimistic_cost)
    simplest = min(_equals(best, forecasts), key=partial(_parts, source))
    resized = [size for each in dict.fromkeys((simplest.layout, best.layout)) for size in search.sizes(each)]
    return forecasts + [forecaster.then(layout) for layout in resized]


def _equals(best: LayoutForecast, forecasts: Iterable[LayoutForecast]) -> list[LayoutForecast]:
    """Return the layouts that are as good as one, within the error of its forecast."""
    return [each for each in forecasts if each.mean("cost") <= best.mean("cost") + best.spread]


def _parts(source: TableSource, forecast: LayoutForecast) -> tuple[bool, int, float]:
    """Return how simple a layout is. One that a table gets without being made anew is simpler."""
    layout = forecast.layout
    is_new = source.is_ours and not is_change(source.layout, layout)
    return is_new, layout.parts, forecast.mean("cost")


def _choose(
    source: TableSource, now: LayoutForecast, ranked: Sequence[LayoutForecast]
) -> tuple[LayoutForecast | None, list[LayoutForecast]]:
    """Return the layout to advise, if any, and those that are equal to it within the forecast's error."""
    most = (1 - MIN_GAIN) * now.mean("cost")
    if not ranked or ranked[0].pessimistic_cost > most:
        return None, []
    equal = [each for each in _equals(ranked[0], ranked) if each.pessimistic_cost <= most]
    named = min(equal, key=partial(_parts, source))
    return named, [each for each in equal if each is not named]


def _advice(
    source: TableSource,
    request: Request,
    choice: tuple[LayoutForecast, LayoutForecast | None, Sequence[LayoutForecast], Sequence[LayoutForecast]],
    inputs: tuple[SamplePlan, QuestionSet],
    sample_rows: int,
) -> Advice:
    now, named, ranked, equals = choice
    plan, questions = inputs

    def show(forecast: LayoutForecast) -> Alternative:
        return _alternative(source, request, questions.questions, now, forecast)

    others = [each for each in ranked if each is not named][:MAX_ALTERNATIVES]
    return Advice(
        table=source.name,
        is_ours=source.is_ours,
        rows=source.rows,
        bytes=source.bytes,
        files=len(source.files),
        layout_now=str(source.layout),
        queries=questions.queries,
        bytes_now=round(now.mean("bytes")),
        files_now=now.mean("files"),
        shuffles_now=now.mean("shuffles"),
        best=None if named is None else show(named),
        alternatives=tuple(map(show, others)),
        equals=tuple(str(each.layout) for each in equals),
        sample_rows=sample_rows,
        sample_bytes=plan.bytes,
        notes=tuple(_notes(questions, plan)),
    )


def _alternative(
    source: TableSource,
    request: Request,
    questions: Sequence[Question],
    now: LayoutForecast,
    then: LayoutForecast,
) -> Alternative:
    saved = now.mean("cost") - then.pessimistic_cost
    moved = _REWRITE_FACTOR * source.bytes
    pairs = zip(questions, now.costs, then.costs, then.spreads, strict=True)
    resized = not source.is_ours or then.layout.file_bytes != source.layout.file_bytes
    return Alternative(
        layout=str(then.layout),
        bytes=round(then.mean("bytes")),
        files=then.mean("files"),
        shuffles=then.mean("shuffles"),
        spread=round(then.spread),
        table_files=then.files,
        table_partitions=then.partitions,
        rewrite_bytes=source.bytes,
        pays_after=math.ceil(moved / saved) if saved > 0 else None,
        gain=round(now.mean("cost") / max(then.pessimistic_cost, 1.0), 2),
        queries=tuple(_query(question, before, after, spread) for question, before, after, spread in pairs),
        statements=tuple(statements(source, then.layout, request.catalog, is_resized=resized)),
        spec=then.layout,
        is_change=source.is_ours and is_change(source.layout, then.layout),
        file_bytes=then.layout.file_bytes if resized else None,
    )


def _query(question: Question, before: QueryCost, after: QueryCost, spread: float) -> QueryForecast:
    return QueryForecast(
        question.label,
        question.weight,
        round(before.bytes),
        round(before.files),
        before.shuffles,
        round(after.bytes),
        round(after.files),
        after.shuffles,
        round(spread),
    )


def _notes(questions: QuestionSet, plan: SamplePlan) -> list[str]:
    notes = []
    if questions.dropped:
        notes.append(f"{questions.dropped} of the different queries, the rarest, were left out.")
    if questions.drawn:
        notes.append(
            "Values of conditions were not kept: values with the recorded share of rows stand for them."
        )
    refused: Mapping[str, str] = questions.not_understood
    notes += [f"The condition {text} counts as reading everything: {why}" for text, why in refused.items()]
    if plan.of_rows and plan.share < 1:
        notes.append(f"The sample has {plan.share:.1%} of the rows.")
    return notes
