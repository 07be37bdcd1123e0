"""Layouts that are worth a forecast: made of the columns that queries name, and ranked by a few rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from parquetry.adviser.cutting import partition_counts
from parquetry.adviser.forecast import Forecaster
from parquetry.adviser.input.bound_queries import BoundQuery
from parquetry.adviser.input.sampling import CodedColumn, Sample
from parquetry.adviser.input.sources import TableSource
from parquetry.adviser.layouts import DAY, MONTH, RANGE, VALUE, YEAR, Grain, HeavyDirectories, TableLayout
from parquetry.predicate import And, Compare, In, Predicate
from parquetry.types import sql_literal

MAX_CANDIDATES = 10
"""Layouts that the whole sample decides among."""
QUICK_ROWS = 20_000
"""Rows of the sample that the first ranking uses."""
MAX_COLUMNS = 8
"""The most columns of conditions and joins for layouts. Columns that more queries name come first."""
MAX_PARTITIONS = 10_000
"""Partitions of a layout that is considered."""
_MIN_PARTITION_SHARE = 0.25
"""The least mean bytes of a partition, as a part of a file's wanted bytes."""
_RANGES = (8, 32)
"""Partitions by ranges of a number that are considered."""
_HEAVY_SHARE, _MAX_HEAVY = 0.04, 16
"""The least part of the rows that a heavy value has, and the most values with directories."""
_BEST_COLUMNS, _BEST_GRAINS = 5, 4
_MIN_FILE_BYTES, _MAX_FILE_BYTES = 1 << 20, 1 << 30
"""Sizes of files that are advised, unless the table's own are outside."""
_FEW_FILES = 32
"""The least files of a table whose order can leave out most of it."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A layout with its cost by few rows."""

    cost: float
    layout: TableLayout


class CandidateSearch:
    """Finds layouts for one table and one set of queries."""

    def __init__(
        self, source: TableSource, sample: Sample, questions: Sequence[BoundQuery], columns: Sequence[str]
    ) -> None:
        self._source, self._sample, self._questions = source, sample, questions
        self._columns = list(columns)[:MAX_COLUMNS]
        step = max(1, sample.count // QUICK_ROWS)
        self._quick = sample.part(np.arange(0, sample.count, step)) if step > 1 else sample
        self._file_bytes = file_bytes(source)

    def find(self, forecaster: Forecaster) -> list[TableLayout]:
        """Return the layouts that few rows rank best, the best first, among them the best simple ones."""
        rank = _Ranking(forecaster, self._quick).rank
        plain = TableLayout(self._file_bytes, self._present())
        sorts, orders = self._orders(rank, plain)
        grains = rank(TableLayout(self._file_bytes, (grain,)) for grain in self._grains())
        bases = [each.layout for each in grains[:_BEST_GRAINS]]
        bases += [
            TableLayout(self._file_bytes, first.partition + second.partition)
            for first, second in itertools.permutations(bases[:3], 2)
            if first.partition[0].column != second.partition[0].column
            and self._is_large_enough(first.partition + second.partition)
        ]
        bases += [TableLayout(self._file_bytes), plain]
        heavy = [replace(base, heavy=values) for values in self._heavy() for base in (bases[-2], plain)]
        ordered = rank(
            replace(base, sort=order)
            for base in [*bases, *heavy]
            for order in orders
            if not _divided(base) & set(order)
        )
        tops = [each.layout for each in ordered[:3]]
        curved = rank(_curves([*bases, *heavy], orders))
        buckets = rank(
            replace(base, bucket_by=names, bucket_count=self._bucket_count())
            for names in self._bucket_columns()
            for base in [TableLayout(self._file_bytes), plain, *tops]
            if base.heavy is None
        )
        # ranges of a number alone do what sorting by it does, with a column more
        grains = [each for each in grains if each.layout.partition[0].unit != RANGE]
        everything = [*sorts, *grains, *rank(heavy), *ordered, *curved, *buckets, *rank([plain])]
        return _pick(everything, (sorts, grains, ordered, curved, buckets))

    def find_orders(self, forecaster: Forecaster) -> list[TableLayout]:
        """Return the best orders of rows within the table's own partitions and size of files."""
        rank = _Ranking(forecaster, self._quick).rank
        plain = replace(self._source.layout, partition=self._present(), sort=())
        sorts, orders = self._orders(rank, plain)
        ordered = rank(replace(plain, sort=order) for order in orders)
        curved = rank(_curves([plain], orders))
        return _pick([*sorts, *ordered, *curved], (sorts, ordered, curved))

    def _orders(
        self, rank: Callable[[Iterable[TableLayout]], list[Ranked]], plain: TableLayout
    ) -> tuple[list[Ranked], list[tuple[str, ...]]]:
        """Return the ranked orders by one column, and the orders by the best columns and pairs of them."""
        divided = {grain.column for grain in plain.partition if grain.unit == VALUE}
        sorts = rank(replace(plain, sort=(name,)) for name in self._columns if name not in divided)
        best = [each.layout.sort[0] for each in sorts[:_BEST_COLUMNS]]
        return sorts, [(name,) for name in best] + list(itertools.permutations(best[:3], 2))

    def sizes(self, layout: TableLayout) -> Iterator[TableLayout]:
        """Yield a layout with smaller and larger files."""
        least = min(_MIN_FILE_BYTES, layout.file_bytes)
        for size in (layout.file_bytes // 4, layout.file_bytes * 4):
            if least <= size <= _MAX_FILE_BYTES and size * 4 <= self._source.bytes:
                yield layout.resized(size)

    def _present(self) -> tuple[Grain, ...]:
        return tuple(grain for grain in self._source.layout.partition if grain.column in self._sample.columns)

    def _grains(self) -> Iterator[Grain]:
        """Yield partition columns with few enough partitions that are large enough."""
        for name in self._columns:
            column = self._sample.columns[name]
            for grain in _grains_of(name, column):
                if self._is_large_enough((grain,)):
                    yield grain

    def _is_large_enough(self, grains: Sequence[Grain]) -> bool:
        number = len(partition_counts(self._quick, grains))
        least = max(_MIN_PARTITION_SHARE * self._file_bytes, 1)
        return 1 < number <= MAX_PARTITIONS and self._source.bytes / number >= least

    def _heavy(self) -> Iterator[HeavyDirectories]:
        """Yield the heavy values of columns that conditions compare with values."""
        for name in self._columns:
            if not any(_compares(question.condition.node, name) for question in self._questions):
                continue
            column = self._sample.columns[name]
            counts = np.diff(column.rows_below)
            heavy = np.flatnonzero(counts >= _HEAVY_SHARE * self._sample.count)
            if not 0 < len(heavy) <= _MAX_HEAVY or len(heavy) == column.distinct:
                continue
            values = tuple(column.value(code) for code in heavy.tolist())
            yield HeavyDirectories(name, values, tuple(sql_literal(column.type, value) for value in values))

    def _bucket_columns(self) -> list[tuple[str, ...]]:
        """Return what queries join by, or compare with single values of many."""
        joined = dict.fromkeys(
            tuple(sorted(self._spelled(join.column) for join in question.joins if join.other_table == other))
            for question in self._questions
            for other in dict.fromkeys(join.other_table for join in question.joins)
        )
        single = [
            (name,)
            for name in self._columns
            if self._sample.columns[name].distinct > 4 * self._bucket_count()
            and any(_compares(question.condition.node, name) for question in self._questions)
        ]
        names = [each for each in dict.fromkeys([*joined, *single]) if set(each) <= set(self._sample.columns)]
        return names[:4]

    def _spelled(self, name: str) -> str:
        return next((each for each in self._source.columns if each.lower() == name.lower()), name)

    def _bucket_count(self) -> int:
        files = max(4, min(1024, self._source.bytes / self._file_bytes))
        return int(2 ** round(math.log2(files)))


def _divided(layout: TableLayout) -> set[str]:
    """Return the columns that rows of a partition have one value, or a narrow range of."""
    return {grain.column for grain in layout.partition if grain.unit in (VALUE, RANGE)}


def _curves(bases: Iterable[TableLayout], orders: Sequence[tuple[str, ...]]) -> Iterator[TableLayout]:
    """Yield layouts along curves through each pair of columns, and through three of them."""
    pairs = dict.fromkeys(tuple(sorted(order)) for order in orders if len(order) > 1)
    names = tuple(dict.fromkeys(name for pair in pairs for name in pair))
    for base in bases:
        for columns in (*pairs, names) if len(names) > 2 else pairs:
            if not _divided(base) & set(columns):
                yield replace(base, sort=columns, is_curve=True)


class _Ranking:
    """Ranks layouts, each once."""

    def __init__(self, forecaster: Forecaster, sample: Sample) -> None:
        self._forecaster, self._sample = forecaster, sample
        self._costs: dict[TableLayout, float] = {}

    def rank(self, layouts: Iterable[TableLayout]) -> list[Ranked]:
        unique = list(dict.fromkeys(layouts))
        for layout in unique:
            if layout not in self._costs:
                self._costs[layout] = self._forecaster.quick_cost(layout, self._sample)
        return sorted((Ranked(self._costs[each], each) for each in unique), key=lambda each: each.cost)


def file_bytes(source: TableSource) -> int:
    """Return the size of files that layouts aim at: the table's own, or less if it has few files."""
    mean = source.bytes // max(len(source.files), 1)
    size = min(source.layout.file_bytes, max(mean, 1)) if len(source.files) >= _FEW_FILES else mean
    if source.bytes / max(size, 1) < _FEW_FILES:
        size = max(source.bytes // (2 * _FEW_FILES), min(_MIN_FILE_BYTES, max(mean, 1)))
    return max(size, 1)


def _grains_of(name: str, column: CodedColumn) -> Iterator[Grain]:
    is_date = column.type.name == "date"
    if 1 < column.distinct <= MAX_PARTITIONS:
        yield Grain(name, is_date=is_date)
    if column.type.temporal and column.distinct:
        for unit in (MONTH, YEAR) if is_date else (DAY, MONTH, YEAR):
            yield Grain(name, unit, is_date=is_date)
    elif column.type.integral and column.distinct > max(_RANGES):
        low, high = (int(column.values[code]) for code in (0, -1))
        for number in _RANGES:
            yield Grain(name, RANGE, _round_width((high - low) / number))


def _round_width(width: float) -> int:
    """Return a width with one or two digits that people read.

    >>> _round_width(1234.5), _round_width(0.3), _round_width(96)
    (1300, 1, 100)
    """
    if width <= 10:
        return max(1, math.ceil(width))
    unit = 10 ** (math.floor(math.log10(width)) - 1)
    return int(math.ceil(width / unit) * unit if width / unit < 95 else 100 * unit)


def _compares(node: Predicate, name: str) -> bool:
    """Return whether a condition allows single values of a column."""
    match node:
        case And(children):
            return any(_compares(child, name) for child in children)
        case Compare(op, column):
            return column == name and op in ("=", "<=>")
        case In(column):
            return column == name
    return False


def _pick(everything: Sequence[Ranked], kinds: Sequence[Sequence[Ranked]]) -> list[TableLayout]:
    """Return the best layouts of all, and the best of each kind in any case."""
    costs = {each.layout: each.cost for each in everything}
    first = [kind[0].layout for kind in kinds if kind]
    rest = [each.layout for each in sorted(everything, key=lambda each: (each.cost, each.layout.parts))]
    rest = [layout for layout in rest if not math.isinf(costs[layout])]
    first = [layout for layout in first if not math.isinf(costs[layout])]
    chosen = list(dict.fromkeys([*rest[: MAX_CANDIDATES - len(first)], *first, *rest]))
    return sorted(chosen[:MAX_CANDIDATES], key=lambda layout: costs[layout])
