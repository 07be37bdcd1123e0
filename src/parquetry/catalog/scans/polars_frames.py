"""A scan as a lazy frame of Polars, which hands back its predicate, its columns and the number of rows.

Polars tests its predicate itself, on the rows that come. So a part that is not understood here costs pruning,
and no row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquetry.catalog.scans.libraries import NarrowableScan, require_extra
from parquetry.errors import ParquetryError
from parquetry.predicate import And, Compare, In, IsNull, Not, Or, Predicate
from parquetry.rows import require_valid_texts
from parquetry.types import ColumnType, to_float32

if TYPE_CHECKING:
    import polars


_COMPARISONS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LITERALS = {
    "Int8": "bigint", "Int16": "bigint", "Int32": "bigint", "Int64": "bigint", "UInt8": "bigint", "UInt16": "bigint",
    "UInt32": "bigint", "Int": "bigint", "Float64": "double", "Float": "double", "Float32": "float",
    "String": "string", "Str": "string", "Boolean": "boolean", "Date": "date",
}  # fmt: skip


_ROWS_PER_FRAME = 1 << 16
"""Rows of a frame that Polars gets, at least. A frame costs a fraction of a millisecond."""


class _UnknownPredicateError(Exception):
    """A part of a predicate is not understood."""


def lazy_frame(scan: NarrowableScan) -> polars.LazyFrame:
    """Return a scan as a lazy frame; see `Scan.to_polars`."""
    pl = require_extra("polars")
    from polars.io.plugins import register_io_source

    schema = pl.from_arrow(scan.schema.empty_table()).schema

    def read(
        columns: list[str] | None,
        predicate: polars.Expr | None,
        rows: int | None,
        _batch_size: int | None,
    ) -> Iterator[polars.DataFrame]:
        chosen = scan
        if rows is not None:
            chosen = chosen.limit(rows)  # Polars takes these rows first, and tests its predicate on them
        elif predicate is not None and not scan.is_limited:
            chosen = _narrow(chosen, predicate)
        if columns:
            about = [] if predicate is None else predicate.meta.root_names()
            chosen = chosen.select(*dict.fromkeys([*columns, *about]))
        for batches in _gather(require_valid_texts(chosen.to_batches(), "Polars")):
            frame = pl.from_arrow(pa.Table.from_batches(batches), rechunk=False)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)

    return register_io_source(read, schema=schema, is_pure=True)


def _gather(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Yield batches in lists that are worth a frame."""
    some: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        some.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS_PER_FRAME:
            yield some
            some, rows = [], 0
    if some:
        yield some


def _narrow(scan: NarrowableScan, predicate: polars.Expr) -> NarrowableScan:
    """Return a scan that has at least the rows of a predicate."""
    node = read_predicate(predicate)
    if node is None:
        return scan
    try:
        return scan.filter(node)
    except ParquetryError:  # a comparison that our types do not have
        return scan


def read_predicate(predicate: polars.Expr) -> Predicate | None:
    """Return a condition that is true wherever a predicate is, or None if none is known."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except (TypeError, ValueError):
        return None
    return _conjuncts(tree)


def _conjuncts(tree: Any) -> Predicate | None:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            known = tuple(part for part in map(_conjuncts, (left, right)) if part is not None)
            return And(known) if known else None
    try:
        return _condition(tree)
    except (_UnknownPredicateError, LookupError, TypeError, ValueError, OverflowError):
        return None


def _condition(tree: Any) -> Predicate:
    match tree:
        case {
            "BinaryExpr": {
                "left": left,
                "op": "And" | "LogicalAnd" | "Or" | "LogicalOr" as op,
                "right": right,
            }
        }:
            children = (_condition(left), _condition(right))
            return And(children) if op.endswith("And") else Or(children)
        case {"BinaryExpr": {"left": {"Column": str(name)}, "op": op, "right": {"Literal": literal}}}:
            value, type = _literal(literal)
            return Compare(_COMPARISONS[op], name, value, type)
        case {"BinaryExpr": {"left": {"Literal": literal}, "op": op, "right": {"Column": str(name)}}}:
            value, type = _literal(literal)
            return Compare(_FLIPPED[_COMPARISONS[op]], name, value, type)
        case {
            "Function": {
                "input": [{"Column": str(name)}],
                "function": {"Boolean": "IsNull" | "IsNotNull" as test},
            }
        }:
            return IsNull(name) if test == "IsNull" else Not(IsNull(name))
        case {"Function": {"input": [child], "function": {"Boolean": "Not"}}}:
            return Not(_condition(child))
        case {
            "Function": {
                "input": [{"Column": str(name)}, {"Literal": {"Scalar": {"List": list(data)}}}],
                "function": {"Boolean": {"IsIn": {"nulls_equal": False}}},
            }
        }:
            return _in_list(name, bytes(data))
        case {"Column": str(name)}:
            return Compare("=", name, True, ColumnType("boolean"))
    raise _UnknownPredicateError


def _literal(literal: Any) -> tuple[Any, ColumnType]:
    match literal:
        case {"Scalar": {**kind}} | {"Dyn": {**kind}} if len(kind) == 1:
            ((name, value),) = kind.items()
            if isinstance(value, bool | int | float | str):
                type = ColumnType(_LITERALS[str(name)])
                if type.name == "float":  # shown by the fewest digits that tell it from other floats
                    return to_float32(float(value)), type
                return (float(value) if type.floating else value), type
    raise _UnknownPredicateError


def _in_list(name: str, data: bytes) -> Predicate:
    """Return the condition that a column is one of several values, which come as an Arrow stream."""
    with pa.ipc.open_stream(data) as stream:
        values = stream.read_all().column(0).combine_chunks()
    if pa.types.is_large_list(values.type) or pa.types.is_list(values.type):
        values = values.flatten()
    if pa.types.is_date32(values.type):
        kind, values = "date", values.view(pa.int32())
    elif pa.types.is_signed_integer(values.type):
        kind = "bigint"
    elif (
        pa.types.is_large_string(values.type)
        or pa.types.is_string(values.type)
        or pa.types.is_string_view(values.type)
    ):
        kind = "string"
    else:
        raise _UnknownPredicateError
    return In(name, tuple(value for value in values.to_pylist() if value is not None), ColumnType(kind))
