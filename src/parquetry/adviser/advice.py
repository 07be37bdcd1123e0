"""Advice on a table's layout: what its queries read now, and would read under a few others.

`advise_on` draws the sample, binds the queries, and ranks layouts by the bad end of each forecast. A layout
is advised only if it gains more than forecasts err by. Of layouts that are equal within that error, the
simplest is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from parquetry.adviser.candidates import CandidateSearch
from parquetry.adviser.forecast import Forecaster, LayoutForecast, QueryCost
from parquetry.adviser.hints import make_hints
from parquetry.adviser.input.bound_queries import (
    BoundQuery,
    Others,
    QuerySet,
    bind_questions,
    columns_asked,
    reads_of,
)
from parquetry.adviser.input.sampling import (
    SAMPLE_BYTES,
    SAMPLE_ROWS,
    Sample,
    SamplePlan,
    draw_sample,
    plan_sample,
)
from parquetry.adviser.input.sources import TableSource, require_rows
from parquetry.adviser.results import Advice, Alternative, QueryForecast
from parquetry.adviser.statements import is_change, statements
from parquetry.errors import UnsupportedError
from parquetry.progress import Progress, silent
from parquetry.workload import QueryRecord, TableRead

MIN_GAIN = 0.1
"""The least part of the present cost that a layout has to save, at the bad end of its forecast."""
MIN_RESIZING_GAIN = 0.5
"""The same for a layout that differs in the size of files alone, which compaction takes care of, too."""
MAX_NAMED_TABLES = 5
"""Tables of other queries that an error names."""
MAX_ALTERNATIVES = 5
"""Layouts that are shown."""
_REWRITE_FACTOR = 2
"""Bytes read and written for each byte that is rewritten."""


@dataclass(frozen=True, slots=True)
class AdviceRequest:
    """A request for advice.

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


def advise_on(source: TableSource, request: AdviceRequest) -> Advice:
    """Advise on a table's layout.

    Raises:
        UnsupportedError: no query reads the table, or the table has no rows; or Spark alone reads its rows.
        FileMissingError, FileCorruptError: a file cannot be read.
    """
    require_rows(source)
    reads = reads_of(request.records, [source.name, *request.names])
    if not reads:
        others = dict.fromkeys(read.table for record in request.records for read in record.reads)
        read = f" (they read {', '.join(list(others)[:MAX_NAMED_TABLES])})" if others else ""
        raise UnsupportedError(
            f"No query of {source.name} is known{read}, so there is nothing to advise by: give queries, such as a file "
            "with a condition on each line or with SQL, or let the warehouse keep a history "
            "('pruning-history' = 'on')."
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
    hints = make_hints(source, sample, questions.questions, named or now, request.catalog)
    return _advice(source, request, (now, named, ranked, equals), (plan, questions, hints), sample.count)


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
    sample: Sample,
    questions: QuerySet,
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


def _min_gain(source: TableSource, forecast: LayoutForecast) -> float:
    """Return the least gain of a layout that is advised."""
    is_resized = forecast.layout.order_text == source.layout.order_text
    return MIN_RESIZING_GAIN if is_resized else MIN_GAIN


def _choose(
    source: TableSource, now: LayoutForecast, ranked: Sequence[LayoutForecast]
) -> tuple[LayoutForecast | None, list[LayoutForecast]]:
    """Return the layout to advise, if any, and its equals within the forecast's error."""
    most = now.mean("cost")
    worthwhile = [each for each in ranked if each.pessimistic_cost <= (1 - _min_gain(source, each)) * most]
    if not worthwhile:
        return None, []
    equal = _equals(worthwhile[0], worthwhile)
    named = min(equal, key=partial(_parts, source))
    return named, [each for each in equal if each is not named]


def _advice(
    source: TableSource,
    request: AdviceRequest,
    choice: tuple[LayoutForecast, LayoutForecast | None, Sequence[LayoutForecast], Sequence[LayoutForecast]],
    inputs: tuple[SamplePlan, QuerySet, list[str]],
    sample_rows: int,
) -> Advice:
    now, named, ranked, equals = choice
    plan, questions, hints = inputs

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
        notes=(*hints, *_notes(questions, plan)),
    )


def _alternative(
    source: TableSource,
    request: AdviceRequest,
    questions: Sequence[BoundQuery],
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


def _query(question: BoundQuery, before: QueryCost, after: QueryCost, spread: float) -> QueryForecast:
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


def _notes(questions: QuerySet, plan: SamplePlan) -> list[str]:
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
