"""Count what queries would read of a layout's files, and how sure that is.

The sample's parts are cut, too: how much their counts differ says how far the whole sample's may be off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from parquetry.adviser.cutting import CutFiles, cut_files
from parquetry.adviser.input.bound_queries import BoundQuery
from parquetry.adviser.input.sampling import Sample
from parquetry.adviser.input.sources import TableSource
from parquetry.adviser.layouts import TableLayout
from parquetry.adviser.widths import ColumnWidths
from parquetry.errors import UnsupportedError
from parquetry.predicate import EVERY_ROW, Match, match
from parquetry.rows import matching_rows

OPEN_BYTES = 64 << 10
"""The cost of opening a file, as bytes that could be read instead: a request, a footer, a task's part."""
SHUFFLE_FACTOR = 3
"""The cost of a shuffled byte, as bytes read from files: it is written, sent and read."""
BROADCAST_BYTES = 10 << 20
"""The greatest size of a table that Spark sends to all tasks, so that its join shuffles nothing."""
REWRITE_FACTOR = 2
"""The cost of a byte that is rewritten, as bytes read from files: it is read and written."""
MAX_FILES_FACTOR = 4
"""How many times more files a layout may have than files of the wanted size."""
PARTS = 4
"""Parts of the sample that are cut by themselves."""
MODEL_ERROR = 0.05
"""The part of a forecast that may be wrong for other reasons than the sample: sizes, the writer's files."""
CUT_FACTORS = (0.88, 0.96, 1.0, 1.07, 1.16)
"""Factors on the expected bytes of a row. A sample is cut into files once by each."""


@dataclass(frozen=True, slots=True)
class QueryCost:
    """The cost of one query.

    Attributes:
        bytes: of the columns that it reads, in the files that it opens.
        files: that it opens.
        partitions: of these files.
        shuffles: exchanges of the table's joins.
        shuffled: bytes of the table's rows that these exchange.
    """

    bytes: float
    files: float
    partitions: float
    shuffles: int = 0
    shuffled: float = 0.0

    @property
    def cost(self) -> float:
        """Return all of it as bytes read."""
        return self.bytes + OPEN_BYTES * self.files + SHUFFLE_FACTOR * self.shuffled


@dataclass(frozen=True)
class LayoutForecast:
    """The costs of all queries under a layout.

    Attributes:
        layout: or the present one.
        costs: of each question.
        spreads: for each question how many bytes the forecast may be off; 0 where they were counted.
        files: of the table.
        partitions: of the table.
        bytes: of all files.
    """

    layout: TableLayout
    costs: tuple[QueryCost, ...]
    spreads: tuple[float, ...]
    files: int
    partitions: int
    bytes: float
    weights: tuple[float, ...] = field(repr=False)

    def mean(self, name: str) -> float:
        """Return the mean of a field of `QueryCost` over all queries."""
        values = [float(getattr(cost, name)) for cost in self.costs]
        total = sum(self.weights) or 1.0
        return sum(value * weight for value, weight in zip(values, self.weights, strict=True)) / total

    @property
    def spread(self) -> float:
        """Return how many bytes the mean may be off. Errors of queries are taken to have the same sign."""
        total = sum(self.weights) or 1.0
        return sum(each * weight for each, weight in zip(self.spreads, self.weights, strict=True)) / total

    @property
    def pessimistic_cost(self) -> float:
        """Return the mean cost at the bad end of the spread."""
        return self.mean("cost") + self.spread


class Forecaster:
    """Forecasts for one table and one set of queries.

    Args:
        source: the table.
        sample: of it.
        questions: the queries.
        other_tables: what is known of tables of joins, by name: bytes and bucket columns.
    """

    def __init__(
        self,
        source: TableSource,
        sample: Sample,
        questions: Sequence[BoundQuery],
        other_tables: dict[str, tuple[int, tuple[str, ...]]],
    ) -> None:
        self._source, self._sample, self._questions = source, sample, list(questions)
        self._other_tables = other_tables
        names = {name for question in questions for name in question.columns or sample.columns}
        self._widths = ColumnWidths(source, sample, sorted(names))
        self._parts = [
            sample.part(np.arange(first, sample.count, PARTS)) for first in range(PARTS)
        ] if sample.rows_each > 1 else []  # fmt: skip
        self._shares = [_share(question, sample) for question in questions]
        self._weights = tuple(question.weight for question in questions)

    @cached_property
    def kept_now(self) -> list[NDArray[np.bool_]]:
        """Return the files that each question opens now."""
        return [self._source.kept(question.condition) for question in self._questions]

    def now(self) -> LayoutForecast:
        """Return what the queries read now, counted from what is recorded of the files."""
        source, costs = self._source, []
        parts = np.array([hash(file.values) for file in source.files])
        for question, share, kept in zip(self._questions, self._shares, self.kept_now, strict=True):
            total = float(source.bytes_of(question.columns)[kept].sum())
            width = self._widths.row_bytes(self._widths.now, question.columns)
            shuffles, exchanged = self._exchanges(question, source.layout)
            costs.append(
                QueryCost(
                    total,
                    float(kept.sum()),
                    float(len(np.unique(parts[kept]))),
                    shuffles,
                    exchanged * share * source.rows * width,
                )
            )
        return LayoutForecast(
            source.layout,
            tuple(costs),
            (0.0,) * len(costs),
            len(source.files),
            len(np.unique(parts)),
            source.bytes,
            self._weights,
        )

    def quick_cost(self, layout: TableLayout, sample: Sample) -> float:
        """Return the mean cost of a layout by few rows, with the present widths of columns.

        A layout with far more files than its bytes need costs infinitely much.
        """
        cut = cut_files(sample, layout, self._widths.whole)
        if cut.count > 1 + MAX_FILES_FACTOR * self._source.bytes / layout.file_bytes:
            return math.inf
        widths = dict(self._widths.now)
        counts = self._counts(cut)
        costs = self._costs(cut.layout, counts, widths)
        return sum(cost.cost * weight for cost, weight in zip(costs, self._weights, strict=True)) / (
            sum(self._weights) or 1.0
        )

    def then(self, layout: TableLayout) -> LayoutForecast:
        """Return what the queries would read under a layout.

        Rows are cut at several sizes of files: where a file ends is luck, and a writer only estimates sizes.
        """
        first = cut_files(self._sample, layout, self._widths.whole)
        widths = self._widths.of_layout(first)
        whole = self._widths.row_bytes(widths, None)
        cuts = [cut_files(self._sample, layout, whole * factor) for factor in CUT_FACTORS]
        tries = [self._costs(layout, self._counts(cut), widths) for cut in cuts]
        costs = tuple(map(_mean_cost, zip(*tries, strict=True)))
        middle = cuts[len(cuts) // 2]
        return LayoutForecast(
            layout,
            costs,
            tuple(self._spreads(layout, costs, tries, (widths, whole))),
            middle.count,
            middle.partitions,
            whole * self._source.rows,
            self._weights,
        )

    def _spreads(
        self,
        layout: TableLayout,
        costs: Sequence[QueryCost],
        tries: Sequence[Sequence[QueryCost]],
        sizes: tuple[dict[str, float], float],
    ) -> list[float]:
        """Return the error of each forecast: of the model, of where files end, and of the sample."""
        widths, whole = sizes
        errors = np.std([[cost.bytes for cost in each] for each in tries], axis=0, ddof=1) / math.sqrt(
            len(tries)
        )
        if self._parts:
            parts = []
            for part in self._parts:
                cut = cut_files(part, layout, whole)
                parts.append([cost.bytes for cost in self._costs(layout, self._counts(cut), widths)])
            errors = np.hypot(errors, np.std(np.array(parts), axis=0, ddof=1) / math.sqrt(PARTS))
        return [
            MODEL_ERROR * cost.bytes + 2 * float(error) for cost, error in zip(costs, errors, strict=True)
        ]

    def _counts(self, cut: CutFiles) -> list[tuple[float, int, int]]:
        """Return the rows, files and partitions that each question reads."""
        result, rows = [], cut.rows * cut.sample.rows_each
        known: dict[str, NDArray[np.bool_]] = {}
        for question in self._questions:
            key = str(question.condition.node)
            if key not in known:
                known[key] = match(question.condition, cut) != Match.CANNOT
            kept = known[key]
            partitions = len(np.unique(cut.slots.partitions[kept]))
            result.append((float(rows[kept].sum()), int(kept.sum()), partitions))
        return result

    def _costs(
        self, layout: TableLayout, counts: Sequence[tuple[float, int, int]], widths: dict[str, float]
    ) -> list[QueryCost]:
        costs = []
        for question, share, (rows, files, partitions) in zip(
            self._questions, self._shares, counts, strict=True
        ):
            width = self._widths.row_bytes(widths, question.columns)
            shuffles, exchanged = self._exchanges(question, layout)
            costs.append(
                QueryCost(
                    rows * width, files, partitions, shuffles, exchanged * share * self._source.rows * width
                )
            )
        return costs

    def _exchanges(self, question: BoundQuery, layout: TableLayout) -> tuple[int, int]:
        """Return the exchanges of a query's joins, and how many of them exchange rows of this table."""
        if question.shuffles == 0:
            return 0, 0
        together: dict[str | None, set[str]] = {}
        for join in question.joins:
            together.setdefault(join.other_table, set()).add(join.column.lower())
        exchanges = exchanged = 0
        for table, columns in together.items():
            size, buckets = self._other_tables.get(table or "", (None, ()))
            if size is not None and size <= BROADCAST_BYTES:
                continue
            mine = {name.lower() for name in layout.bucket_by}
            if layout.bucket_count and mine and mine <= columns:
                partners = {
                    (join.other_column or "").lower()
                    for join in question.joins
                    if join.other_table == table and join.column.lower() in mine
                }
                exchanges += 0 if buckets and partners == {name.lower() for name in buckets} else 1
            else:
                exchanges, exchanged = exchanges + 2, exchanged + 1
        return exchanges, exchanged


def _mean_cost(costs: Sequence[QueryCost]) -> QueryCost:
    """Return the mean of forecasts of one query, which has the same exchanges in all."""
    count = len(costs)
    return replace(
        costs[0],
        bytes=sum(cost.bytes for cost in costs) / count,
        files=sum(cost.files for cost in costs) / count,
        partitions=sum(cost.partitions for cost in costs) / count,
    )


def _share(question: BoundQuery, sample: Sample) -> float:
    """Return the part of the rows that satisfy a question's condition, as far as the sample tells."""
    if question.condition == EVERY_ROW or not sample.count:
        return 1.0
    arrays = {name: sample.table[name].combine_chunks() for name in sample.table.column_names}
    try:
        kept = matching_rows(question.condition.node, arrays, sample.count)
    except (UnsupportedError, KeyError):
        return 1.0
    return float(np.count_nonzero(kept.fill_null(False).to_numpy(zero_copy_only=False))) / sample.count
