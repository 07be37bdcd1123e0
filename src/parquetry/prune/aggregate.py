"""Answer COUNT, MIN and MAX from the metastore alone, where its numbers are exact; else not at all.

Works on what `select` selected. No answer is given from bounds that may be wider than the values, nor for
floating point, whose bounds tell nothing of NaN and of the sign of zero, nor for char, which Spark pads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Literal

from parquetry.layout.bounds import FileBounds, bounds_reader
from parquetry.layout.discover import identity
from parquetry.metastore.model import Column, TableMetadata
from parquetry.prune.select import SelectedFile, Selection
from parquetry.types import ColumnType, Value

AggregateCall = tuple[Literal["count", "min", "max"], str | None]
"""A function and its column; `("count", None)` is COUNT(*)."""

_EXACT = Context(prec=76, traps=[InvalidOperation, Inexact])
_UNANSWERED = frozenset(("float", "double", "char"))

_Answer = Callable[[Sequence[SelectedFile]], Value]


class _NotExactError(Exception):
    """The metastore's numbers do not do."""


def answer_aggregate(
    metadata: TableMetadata,
    selection: Selection,
    aggregates: Sequence[AggregateCall],
    group_by: Sequence[str] = (),
) -> list[tuple[Value, ...]] | None:
    """Compute aggregates over the selected rows without reading a file.

    Args:
        metadata: the table's.
        selection: what was selected of the table.
        aggregates: what to compute.
        group_by: partition columns.

    Returns:
        A row for each group in key order (exactly one without `group_by`): the group's values, then the
        aggregates, as internal values. None when the metastore cannot tell exactly.

    Raises:
        ColumnNotFoundError: the table has no such column.
    """
    places = {name.lower(): place for place, name in enumerate(metadata.partition_by)}
    keys = [metadata.column(name) for name in group_by]
    if any(key.name.lower() not in places or key.column_type.floating for key in keys):
        return None
    if not selection.certain or any(file.file.rows is None for file in selection.files):
        return None
    groups: dict[tuple[Value, ...], list[SelectedFile]] = {} if keys else {(): []}
    for file in selection.files:
        if file.file.rows:
            values = tuple(file.values[places[key.name.lower()]] for key in keys)
            groups.setdefault(identity(values), []).append(file)
    try:
        answers = [_answer(metadata, places, function, name) for function, name in aggregates]
        return [(*values, *(answer(files) for answer in answers)) for values, files in groups.items()]
    except _NotExactError:
        return None


def _answer(metadata: TableMetadata, places: dict[str, int], function: str, name: str | None) -> _Answer:
    if name is None:
        if function != "count":
            raise _NotExactError
        return lambda files: sum(file.file.rows or 0 for file in files)
    column = metadata.column(name)
    place = places.get(column.name.lower())
    if function == "count":
        if place is not None:
            return lambda files: sum(file.file.rows or 0 for file in files if file.values[place] is not None)
        return _count(column)
    kind = column.column_type
    if function not in ("min", "max") or not kind.primitive or kind.name in _UNANSWERED:
        raise _NotExactError
    best: Callable[[Iterable[Value]], Value] = _least if function == "min" else _greatest
    if place is not None:
        return lambda files: best(file.values[place] for file in files)
    read = bounds_reader(column)
    return lambda files: best(_extreme(kind, read(file.file), function) for file in files)


def _count(column: Column) -> _Answer:
    read = bounds_reader(column)

    def count(file: SelectedFile) -> int:
        found = read(file.file)
        if found is None or file.file.rows is None:
            raise _NotExactError
        if found.all_null:
            return 0
        if found.nulls is None:
            raise _NotExactError
        return file.file.rows - found.nulls

    return lambda files: sum(map(count, files))


def _extreme(kind: ColumnType, found: FileBounds | None, function: str) -> Value:
    if found is None:
        raise _NotExactError
    if found.all_null:
        return None
    value, exact = (found.min, found.min_exact) if function == "min" else (found.max, found.max_exact)
    if value is None or not exact:
        raise _NotExactError
    # The file may have fewer digits than the column has now.
    return (
        value.quantize(Decimal((0, (1,), -kind.scale)), context=_EXACT)
        if isinstance(value, Decimal)
        else value
    )


def _least(values: Iterable[Value]) -> Value:
    return min((value for value in values if value is not None), default=None)


def _greatest(values: Iterable[Value]) -> Value:
    return max((value for value in values if value is not None), default=None)
