"""Queries as the forecast needs them: one bound condition each, the columns that are read, and the joins.

A condition whose values were not kept gets values from the sample, so that as many rows satisfy it as its
record says. Values of joins come from the rows of the other table that its conditions leave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from parquetry.adviser.input.sampling import SEED, CodedColumn, Sample
from parquetry.adviser.input.sources import TableSource
from parquetry.adviser.input.time_functions import without_time_functions
from parquetry.errors import ParquetryError
from parquetry.predicate import EVERY_ROW, And, Compare, Filter, In, Predicate, columns_of, parse_filter
from parquetry.rows import FileRows, ReadRequest, matching_rows, read_file
from parquetry.types import ColumnType, Value, order_key, sql_literal
from parquetry.workload import QueryCondition, QueryJoin, QueryRecord, TableRead

MAX_QUESTIONS = 300
"""Different queries that forecasts are made for. The questions with the greatest weight are taken."""
MAX_JOIN_VALUES = 10_000
"""Values of a join that are a list; more are a range."""
MAX_OTHER_ROWS = 5_000_000
"""Rows of a joined table that are read for the values of its keys. A larger table gives no values."""
_DRAWN_PER_CONDITION = 4
"""Values that stand for one condition without values."""
_COMPARISON = re.compile(r"(<=>|<=|>=|<>|!=|=|<|>)\s*\?")
_BETWEEN = re.compile(r"\bBETWEEN\s*\?\s*AND\s*\?", re.IGNORECASE)
_LIST = re.compile(r"\bIN\s*\(([\s?,]+)\)", re.IGNORECASE)
_UNREAD = "cannot be read here"


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query of the table.

    Attributes:
        label: its conditions, for people.
        condition: of rows.
        columns: the columns that are read; None for all.
        weight: how many queries it stands for.
        joins: the columns that are joined by equality, with the other table's name.
        shuffles: exchanges of the query; None if nothing counted them.
        not_understood: conditions that no forecast can use, with reasons.
    """

    label: str
    condition: Filter
    columns: tuple[str, ...] | None
    weight: float
    joins: tuple[QueryJoin, ...] = ()
    shuffles: int | None = None
    not_understood: tuple[str, ...] = ()


@dataclass(slots=True)
class QuerySet:
    """The queries of a table, and what could not be used.

    Attributes:
        questions: of the table.
        queries: how many they stand for.
        dropped: different queries beyond the most that forecasts are made for.
        drawn: conditions whose values were drawn.
        not_understood: conditions that could not be used, with reasons.
    """

    questions: list[BoundQuery] = field(default_factory=list)
    queries: float = 0
    dropped: int = 0
    drawn: int = 0
    not_understood: dict[str, str] = field(default_factory=dict)


Others = Callable[[str], TableSource | None]
"""Finds another table of a join by its name; None if it cannot be read here."""


def reads_of(records: Iterable[QueryRecord], names: Sequence[str]) -> list[tuple[QueryRecord, TableRead]]:
    """Return the reads of a table, which records may name in several ways."""
    wanted = {name.lower() for name in names}
    return [
        (record, read)
        for record in records
        for read in record.reads
        if not wanted.isdisjoint(_suffixes(read.table.lower()))
    ]


def _suffixes(name: str) -> list[str]:
    """Return a table's name with fewer and fewer parts.

    >>> _suffixes("lake.db.t")
    ['lake.db.t', 'db.t', 't']
    """
    parts = name.split(".")
    return [".".join(parts[first:]) for first in range(len(parts))]


def columns_asked(source: TableSource, reads: Iterable[tuple[QueryRecord, TableRead]]) -> list[str]:
    """Return the columns of the table that conditions and joins name, the most used first."""
    spellings = {name.lower(): name for name in source.columns}
    counts: dict[str, float] = {}
    for record, read in reads:
        named = [name for condition in read.conditions for name in condition.columns]
        for condition in read.conditions:
            if not condition.columns:
                named += _named(condition.text, spellings)
        named += [join.column for join in read.joins]
        for name in named:
            column = spellings.get(name.lower()) or spellings.get(name.lower().partition(".")[0])
            if column is not None and source.columns[column].column_type.primitive:
                counts[column] = counts.get(column, 0) + record.weight
    return sorted(counts, key=lambda name: -counts[name])


def _named(text: str, spellings: Mapping[str, str]) -> list[str]:
    return [word for word in re.findall(r"\w+", text) if word.lower() in spellings]


def bind_questions(
    source: TableSource,
    reads: Sequence[tuple[QueryRecord, TableRead]],
    sample: Sample,
    others: Others,
) -> QuerySet:
    """Bind the queries of a table; equal ones become one with their weights together."""
    result = QuerySet()
    binder = _Binder(source, sample, others, result)
    together: dict[tuple[str, tuple[str, ...] | None, tuple[QueryJoin, ...]], BoundQuery] = {}
    for record, read in reads:
        result.queries += record.weight
        for question in binder.questions(record, read):
            key = str(question.condition.node), question.columns, question.joins
            before = together.get(key)
            weight = question.weight + (0 if before is None else before.weight)
            together[key] = replace(question, weight=weight)
    ordered = sorted(together.values(), key=lambda each: -each.weight)
    result.questions, result.dropped = ordered[:MAX_QUESTIONS], max(0, len(ordered) - MAX_QUESTIONS)
    return result


class _Binder:
    def __init__(self, source: TableSource, sample: Sample, others: Others, result: QuerySet) -> None:
        self._source, self._sample, self._others, self._result = source, sample, others, result
        self._types: dict[str, ColumnType] = {
            name: column.column_type for name, column in source.columns.items()
        }
        self._rng = np.random.default_rng(SEED)
        self._join_values: dict[tuple[object, ...], Predicate | None] = {}
        self._spellings = {name.lower(): name for name in source.columns}

    def questions(self, record: QueryRecord, read: TableRead) -> Iterator[BoundQuery]:
        """Yield the questions of a read: several where values are drawn."""
        drawn = any(not each.has_values and "?" in each.text for each in read.conditions)
        number = _DRAWN_PER_CONDITION if drawn else 1
        joins = tuple(each for each in read.joins if each.column.lower() in self._spellings)
        values = {join: node for join in joins if (node := self._values_of(record, join)) is not None}
        joined = list(values.values())
        for _ in range(number):
            filters, refused = [], []
            texts: list[str] = []
            for condition in read.conditions:
                bound = self._bind(condition)
                if isinstance(bound, Filter):
                    filters.append(bound)
                    texts.append(condition.text)
                else:
                    refused.append(condition.text)
                    self._result.not_understood[condition.text] = bound
            filters += [Filter.bind(node, self._types) for node in joined]
            texts += [f"{join.column} of {join.other_table}" for join in values]
            whole = Filter.all_of(filters) if filters else EVERY_ROW
            columns = None if read.columns is None else self._columns(read.columns)
            yield BoundQuery(
                " AND ".join(texts) or ("all rows" if not refused else f"({refused[0]})"),
                whole,
                columns,
                record.weight / number,
                joins,
                record.shuffles,
                tuple(refused),
            )

    def _columns(self, names: Iterable[str]) -> tuple[str, ...]:
        tops = (name.lower().partition(".")[0] for name in names)
        return tuple(sorted({self._spellings[top] for top in tops if top in self._spellings}))

    def _bind(self, condition: QueryCondition) -> Filter | str:
        """Return a condition, or the reason why it cannot be used."""
        text = condition.text
        if not condition.has_values and "?" in text:
            filled = self._fill(condition)
            if filled is None:
                return "its values were not kept, and none could be drawn"
            self._result.drawn += 1
            text = filled
        try:
            return parse_filter(without_time_functions(text), self._types)
        except ParquetryError as error:
            return f"{_UNREAD}: {error.message.splitlines()[0]}"

    def _fill(self, condition: QueryCondition) -> str | None:
        """Return a condition with values from the sample, so that its share of rows is about as recorded."""
        names = [self._spellings.get(name.lower()) for name in condition.columns]
        name = names[0] if len(set(names)) == 1 else None
        column = self._sample.columns.get(name) if name is not None else None
        if column is None or not column.distinct:
            return None
        text, share = condition.text, condition.share
        if between := _BETWEEN.search(text):
            low, high = self._range(column, share)
            return text[: between.start()] + f"BETWEEN {low} AND {high}" + text[between.end() :]
        if listed := _LIST.search(text):
            count = listed[1].count("?")
            values = [self._value(column, None if share is None else share / count) for _ in range(count)]
            return text[: listed.start()] + f"IN ({', '.join(values)})" + text[listed.end() :]
        if len(signs := _COMPARISON.findall(text)) != text.count("?"):
            return None
        if len(signs) == 2 and share is not None and {each[0] for each in signs} == {"<", ">"}:
            low, high = self._range(column, share)
            bounds = [low if sign[0] == ">" else high for sign in signs]
        else:
            bounds = [self._bound(column, sign, share) for sign in signs]
        for value in bounds:
            text = text.replace("?", value, 1)
        return text

    def _bound(self, column: CodedColumn, sign: str, share: float | None) -> str:
        if sign in ("=", "<=>", "!=", "<>"):
            return self._value(column, share if sign in ("=", "<=>") else None)
        part = self._rng.random() if share is None else share
        rank = 1 - part if sign[0] == ">" else part
        return self._literal(column, self._quantile(column, rank))

    def _range(self, column: CodedColumn, share: float | None) -> tuple[str, str]:
        width = 0.05 if share is None else share
        low = self._rng.random() * (1 - width)
        ends = self._quantile(column, low), self._quantile(column, low + width)
        return self._literal(column, ends[0]), self._literal(column, ends[1])

    def _quantile(self, column: CodedColumn, rank: float) -> int:
        codes = column.sorted_codes
        return int(codes[min(len(codes) - 1, max(0, int(rank * len(codes))))])

    def _value(self, column: CodedColumn, share: float | None) -> str:
        """Return a value that about as many rows have as the share says; without it, as rows have them."""
        counts = np.diff(column.rows_below)
        if share is None:
            code = int(self._rng.choice(len(counts), p=counts / counts.sum()))
        else:
            distance = np.abs(np.log((counts + 0.5) / (share * self._sample.count + 0.5)))
            near = np.flatnonzero(distance <= distance.min() + 0.05)
            code = int(self._rng.choice(near))
        return self._literal(column, code)

    @staticmethod
    def _literal(column: CodedColumn, code: int) -> str:
        return sql_literal(column.type, column.value(code))

    def _values_of(self, record: QueryRecord, join: QueryJoin) -> Predicate | None:
        """Return the condition on a join's column that the other table's conditions imply."""
        if join.other_table is None or join.other_column is None:
            return None
        conditions = tuple(
            condition.text
            for read in record.reads
            if read.table == join.other_table
            for condition in read.conditions
            if condition.has_values
        )
        if not conditions:
            return None
        key = join.column, join.other_table, join.other_column, conditions
        if key not in self._join_values:
            self._join_values[key] = self._joined(join, conditions)
        return self._join_values[key]

    def _joined(self, join: QueryJoin, conditions: Sequence[str]) -> Predicate | None:
        other = self._others(join.other_table or "")
        column = self._spellings[join.column.lower()]
        if other is None or other.rows > MAX_OTHER_ROWS:
            return None
        try:
            values = _key_values(other, join.other_column or "", conditions)
        except ParquetryError as error:
            self._result.not_understood[f"join of {join.column}"] = error.message
            return None
        if values is None:
            return None
        type = self._types[column]
        ordered = sorted(values, key=order_key)
        if len(ordered) <= MAX_JOIN_VALUES:
            return In(column, tuple(ordered), type)
        return And((Compare(">=", column, ordered[0], type), Compare("<=", column, ordered[-1], type)))


def _key_values(other: TableSource, name: str, conditions: Sequence[str]) -> set[Value] | None:
    """Return the values of a key in the rows of another table that satisfy conditions."""
    spellings = {each.lower(): each for each in other.columns}
    key = spellings.get(name.lower())
    if key is None:
        return None
    types = {each: column.column_type for each, column in other.columns.items()}
    whole = Filter.all_of([parse_filter(text, types) for text in conditions])
    names = tuple(dict.fromkeys([key, *sorted(columns_of(whole.node))]))
    request = ReadRequest(
        other.file_format,
        tuple(other.columns[each] for each in names),
        other.data_columns,
        other.partition_by,
    )
    values: set[Value] = set()
    for file in other.files:
        for batch in read_file(request, FileRows(file.path, file.record, file.values)):
            arrays = {each: batch.column(each) for each in names}
            kept = matching_rows(whole.node, arrays, batch.num_rows)
            column = CodedColumn(types[key], batch.column(key).filter(kept))
            values.update(column.value(code) for code in range(column.distinct))
    return values
