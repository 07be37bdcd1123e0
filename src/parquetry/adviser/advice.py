"""Advice on a table's layout: what its queries read now, and would read under a few others.

`advise_on` has a study made, which is a sample and bound queries. It ranks layouts by the bad end of each
forecast. A layout is advised only if it gains more than forecasts err by. Of layouts that are equal within
that error, the simplest is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from parquetry.adviser.candidates import CandidateSearch
from parquetry.adviser.forecast import REWRITE_FACTOR, LayoutForecast, QueryCost
from parquetry.adviser.hints import make_hints
from parquetry.adviser.input.bound_queries import BoundQuery, QuerySet
from parquetry.adviser.input.sampling import SamplePlan
from parquetry.adviser.input.sources import TableSource
from parquetry.adviser.layouts import is_change
from parquetry.adviser.results import Advice, Alternative, QueryForecast
from parquetry.adviser.statements import statements
from parquetry.adviser.study import AdviceRequest, TableStudy

MIN_GAIN = 0.1
"""The least part of the present cost that a layout has to save, at the bad end of its forecast."""
MIN_RESIZING_GAIN = 0.5
"""The same for a layout that differs in the size of files alone, which compaction takes care of, too."""
MAX_ALTERNATIVES = 5
"""Layouts that are shown."""


def advise_on(source: TableSource, request: AdviceRequest) -> Advice:
    """Advise on a table's layout.

    Raises:
        UnsupportedError: no query reads the table, or the table has no rows; or Spark alone reads its rows.
        FileMissingError, FileCorruptError: a file cannot be read.
    """
    return advise_by(TableStudy(source, request))


def advise_by(study: TableStudy) -> Advice:
    """Advise on the layout of a table by its study."""
    now = study.forecaster.now()
    ranked = sorted(_candidates(study), key=lambda each: each.pessimistic_cost)
    named, equals = _choose(study.source, now, ranked)
    return _advice(study, (now, named, ranked, equals))


def _candidates(study: TableStudy) -> list[LayoutForecast]:
    source, forecaster = study.source, study.forecaster
    search = CandidateSearch(source, study.sample, study.questions.questions, study.asked)
    if study.request.order_only:
        return [forecaster.then(layout) for layout in search.find_orders(forecaster)]
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
    study: TableStudy,
    choice: tuple[LayoutForecast, LayoutForecast | None, Sequence[LayoutForecast], Sequence[LayoutForecast]],
) -> Advice:
    source, request, questions = study.source, study.request, study.questions
    now, named, ranked, equals = choice
    hints = make_hints(source, study.sample, questions.questions, named or now, request.catalog)

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
        sample_rows=study.sample.count,
        sample_bytes=study.plan.bytes,
        notes=(*hints, *_notes(questions, study.plan)),
    )


def _alternative(
    source: TableSource,
    request: AdviceRequest,
    questions: Sequence[BoundQuery],
    now: LayoutForecast,
    then: LayoutForecast,
) -> Alternative:
    saved = now.mean("cost") - then.pessimistic_cost
    moved = REWRITE_FACTOR * source.bytes
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
