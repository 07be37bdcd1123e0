"""Advice beside the layout: Bloom filters, which readers use within files, and indexes of partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from parquetry.adviser.forecast import LayoutForecast
from parquetry.adviser.input.bound_queries import BoundQuery
from parquetry.adviser.input.sampling import CodedColumn, Sample
from parquetry.adviser.input.sources import TableSource
from parquetry.identifiers import part_text
from parquetry.predicate import allowed_values, columns_of

_MIN_OPENED_FILES = 3
"""The least mean number of files that queries of a column open, for a Bloom filter to be worth its bytes."""
_MIN_SKIPPED = 0.3
"""The least part of these files without the value."""
_MAX_VALUES = 100
"""The most values of a condition that readers look for in Bloom filters."""
_MIN_INDEXED_PARTITIONS = 600
"""The least partitions of a table for an index."""


def make_hints(
    source: TableSource,
    sample: Sample,
    questions: Sequence[BoundQuery],
    forecast: LayoutForecast,
    catalog: str,
) -> list[str]:
    """Return sentences about what else would help the queries under a layout."""
    return [
        *_bloom_filters(sample, questions, forecast),
        *_partition_index(source, questions, forecast, catalog),
    ]


def _bloom_filters(
    sample: Sample, questions: Sequence[BoundQuery], forecast: LayoutForecast
) -> Iterator[str]:
    for name, column in sample.columns.items():
        if not column.type.facts.bloom_filter:
            continue
        opened = skipped = 0.0
        for question, cost in zip(questions, forecast.costs, strict=True):
            rows = allowed_values(question.condition.node, (name,), _MAX_VALUES)
            if rows is not None and cost.files:
                part = _part_without(column, sample, [row[0] for row in rows], cost.files)
                opened += question.weight * cost.files
                skipped += question.weight * cost.files * part
        queries = sum(
            question.weight
            for question in questions
            if allowed_values(question.condition.node, (name,), _MAX_VALUES) is not None
        )
        if queries and opened / queries >= _MIN_OPENED_FILES and skipped / opened >= _MIN_SKIPPED:
            yield (
                f"Bloom filters of {name} ('bloom-filter-columns' = '{part_text(name)}') would let readers skip about "
                f"{skipped / opened:.0%} of the files that queries of its values still open."
            )


def _part_without(column: CodedColumn, sample: Sample, values: Sequence[object], files: float) -> float:
    """Return the part of some files that has none of some values, if rows are in no order of them."""
    wanted = set(values)
    codes = [code for code in range(column.distinct) if column.value(code) in wanted]
    rows = float(np.diff(column.rows_below)[codes].sum()) if codes else 0.5
    return float((1 - 1 / max(files, 1.0)) ** (rows * sample.rows_each))


def _partition_index(
    source: TableSource, questions: Sequence[BoundQuery], forecast: LayoutForecast, catalog: str
) -> Iterator[str]:
    names = [grain.name for grain in forecast.layout.partition]
    if not source.is_ours or len(names) < 2 or forecast.partitions < _MIN_INDEXED_PARTITIONS:
        return
    weights: dict[str, float] = {}
    for question in questions:
        named = [name for name in names if name in columns_of(question.condition.node)]
        if named and names[0] not in named:
            weights[named[0]] = weights.get(named[0], 0) + question.weight
    for name, weight in weights.items():
        yield (
            f"{weight:,.0f} queries name {name} without {names[0]}: an index finds their partitions. "
            f"CALL {catalog}.system.create_partition_index('{source.name}', array('{name}'))"
        )
