"""Conditions on batches of rows, against the evaluator of one row."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings, strategies as st

import parquetry
from parquetry.catalog import Scan
from parquetry.data_files import TableColumn
from parquetry.errors import UnsupportedError
from parquetry.predicate import Filter, Predicate
from parquetry.predicate.evaluate import evaluate
from parquetry.rows.arrow_types import constant_scalar
from parquetry.rows.row_filter import matching_rows, require_exact
from parquetry.types import ColumnType, Value, order_key
from tests.support.effort import examples
from tests.support.readers.written_tables import WrittenTable
from tests.support.tables.generated_tables import Columns, predicates, rows, tables


def array_of(type: ColumnType, values: list[Value]) -> pa.Array:
    """Return values of a column as an array."""
    scalars = [constant_scalar(type, value) for value in values]
    return pa.array(scalars, scalars[0].type) if scalars else pa.array([], constant_scalar(type, None).type)


def is_answered(node: Predicate) -> bool:
    """Return whether the condition has no LIKE on a type whose text is not known."""
    try:
        require_exact(node)
    except UnsupportedError:
        return False
    return True


@settings(max_examples=examples(400))
@given(st.data())
def test_batches_are_tested_like_single_rows(data: st.DataObject) -> None:
    """For every type, operator and NULL, a batch has the truth values of its rows, bound or not yet."""
    columns: Columns = data.draw(tables())
    node = data.draw(predicates(columns).filter(is_answered))
    table = data.draw(rows(columns))
    filter = Filter.bind(node, dict(columns))
    arrays = {
        name: array_of(type, [row[position] for row in table])
        for position, (name, type) in enumerate(columns)
    }
    expected = [evaluate(filter.node, dict(zip(arrays, row, strict=True))) for row in table]
    assert matching_rows(filter.node, arrays, len(table)).to_pylist() == expected


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_a_scan_has_the_rows_of_its_condition(data: st.DataObject) -> None:
    """Pruning of partitions, files and row groups loses no row of a condition, and adds none."""
    columns: Columns = data.draw(tables())
    node = data.draw(predicates(columns).filter(is_answered))
    partition = data.draw(st.booleans()) and len(columns) > 1
    table = data.draw(rows(columns, size=30))
    named = dict(columns)
    filter = Filter.bind(node, named)
    expected = [
        at
        for at, row in enumerate(table)
        if evaluate(filter.node, dict(zip(named, row, strict=True))) is True
    ]
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), columns, table, partition=partition)
        with parquetry.open(Path(folder) / "lake") as lake:
            scan = lake.scan("shop.t", node, ["id"])
            ids = scan.to_arrow().column("id").to_pylist()
            assert sorted(ids) == expected
            assert scan.count() == len(expected)
            _check_order(data, scan, columns, [table[at] for at in expected])


def _check_order(
    data: st.DataObject, scan: Scan, columns: Columns, expected: list[tuple[Value, ...]]
) -> None:
    """Compare the first rows of an order with sorted rows."""
    position = data.draw(st.integers(0, len(columns) - 1))
    name, type = columns[position]
    limit, descending = data.draw(st.integers(0, 12)), data.draw(st.booleans())
    first = scan.select(name).order_by(name, descending=descending).limit(limit).to_arrow().column(name)
    values = sorted((row[position] for row in expected), key=order_key, reverse=descending)[:limit]
    assert comparable(first.combine_chunks()) == comparable(array_of(type, values))


def comparable(array: pa.Array) -> list[str]:
    """Return values as texts: NaN equals NaN, and -0.0 equals 0.0. Old dates are no values of Python's."""
    if pa.types.is_floating(array.type):
        array = pc.add(array, pa.scalar(0.0, array.type))
    return [str(scalar) if scalar.is_valid else "NULL" for scalar in array.cast(_numbers(array.type))]


def _numbers(type: pa.DataType) -> pa.DataType:
    if pa.types.is_date32(type):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(type) else type


def _write(folder: Path, columns: Columns, table: list[tuple[Value, ...]], *, partition: bool) -> None:
    """Write the rows with an `id`, by the values of the last column if it is the partition's."""
    last = columns[-1][0]
    data = columns[:-1] if partition else columns
    written = WrittenTable(
        folder,
        [TableColumn("id", "long"), *(TableColumn(name, str(type)) for name, type in columns)],
        [last] if partition else [],
    )
    parts: dict[object, tuple[tuple[Value, ...], list[int]]] = {}
    for at, row in enumerate(table):
        values = (row[-1],) if partition else ()
        parts.setdefault(repr(values), (values, []))[1].append(at)
    for values, ids in parts.values():
        rows_of_part = pa.table(
            {"id": pa.array(ids, pa.int64())}
            | {
                name: array_of(type, [table[at][position] for at in ids])
                for position, (name, type) in enumerate(data)
            }
        )
        half = len(ids) // 2
        written.add(values, rows_of_part.slice(0, half), rows_of_part.slice(half), row_group_size=3)
