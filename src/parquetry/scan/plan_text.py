"""Write a plan for people: each range by the values of its keys, never by their bytes.

A comma means AND. A range has exactly the keys that satisfy the conditions before `where`. The conditions are
SQL, except that dates and times have no quotes:

    get day = 2026-03-01, region = 'eu'
    scan day = 2026-03-01, region > 'eu'
    scan day >= 2026-03-01, day < 2026-04-01 where region LIKE '%u'
    scan region IS NULL
    scan (year = 2013 AND month >= 4) OR (year = 2014 AND month < 4)

`bound` reads a single bound of one column. This module turns two bounds over all columns into conditions.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.key_schema import KeyField, KeySchema
from parquetry.keys import successor
from parquetry.predicate import (
    And,
    Compare,
    IsNull,
    Or,
    Predicate,
    all_of,
    any_of,
    equal,
    name_text,
    starts_with,
)
from parquetry.scan.bound import between, text_prefix, whole_field
from parquetry.scan.marker import END, FieldSpace
from parquetry.scan.plan import KeyScan, ScanPlan
from parquetry.types import ColumnType, Value, text_from_value


def plan_text(plan: ScanPlan, schema: KeySchema) -> str:
    """Return a plan's text: a line for each index, each range, and the costs of the access paths.

    Args:
        plan: the plan of a table's partitions.
        schema: the schema of the partitions' keys, also for a plan by an index.
    """
    lines: list[str] = []
    for part in (plan, *plan.by_indexes):
        ordered = schema if part.index is None else schema.reorder(part.index.order)
        if part.index is not None:
            lines.append(f"by index {part.index.name}")
        lines += [scan_text(scan, ordered) for scan in part.scans]
    lines = lines or ["nothing to scan"]
    if plan.estimates:
        lines.append(f"keys to examine by {'; by '.join(map(str, plan.estimates))}")
    return "\n".join(lines)


def scan_text(scan: KeyScan, schema: KeySchema) -> str:
    """Return a range's text.

    Args:
        scan: the range.
        schema: the schema of its keys; for a range of an index, the schema of the index's entries.

    >>> from parquetry.types import parse_type
    >>> schema = KeySchema.from_columns([('day', parse_type('date')), ('region', parse_type('string'))])
    >>> start = schema.fields[0].encode(20513) + schema.fields[1].prefix('e')
    >>> scan_text(KeyScan('range', start, successor(start), None), schema)
    "scan day = 2026-03-01, region LIKE 'e%'"
    """
    what = {"get": "get", "range": "scan", "index": "scan index"}[scan.kind]
    text = f"{what} {_joined(_conditions(scan, schema))}"
    return text if scan.residual is None else f"{text} where {scan.residual}"


def _conditions(scan: KeyScan, schema: KeySchema) -> list[Predicate]:
    """Return the conditions, joined by AND, that a key in a range satisfies."""
    if scan.kind == "get" or _is_key(scan, schema):
        values = schema.decode(scan.start)
        return [_is(field, value) for field, value in zip(schema.fields, values, strict=True)]
    return _within(schema.fields, scan.start, scan.stop)


def _is_key(scan: KeyScan, schema: KeySchema) -> bool:
    """Return whether a range contains one key only, such as an index's range with all values known."""
    if scan.stop is None or scan.stop != successor(scan.start):
        return False
    length = 0
    for field in schema.fields:
        width = whole_field(field, scan.start[length:])
        if not width:
            return False
        length += width
    return length < len(scan.start)  # the trailer is behind the fields


def _within(fields: Sequence[KeyField], start: bytes, stop: bytes | None) -> list[Predicate]:
    """Return the conditions on the columns from the first of `fields` on, for keys between two bounds.

    A bound may continue after the first column's field. The range then begins, or ends, within the keys of
    one value: `(2013, 4)` to `(2015, 3)` is a part of 2013, all of 2014, and a part of 2015.
    """
    if not start and stop is None:
        return []
    field, behind = fields[0], fields[1:]
    first, from_first = _split_field(field, start)
    last, to_last = _split_field(field, stop or b"")
    if not start and last == field.null and not field.descending:
        first = last
    if first and first == last:
        return [_at(field, first), *_within(behind, from_first, to_last)]
    after = FieldSpace(field).after(first) if first else b""
    if first and (stop or END) in (after, successor(first)):
        return [_at(field, first), *_within(behind, from_first, None)]
    text = text_prefix(field, start)
    if text and stop == successor(start):
        return [starts_with(field.name, text)]
    if not from_first and not to_last:
        return between(field, start, stop)
    pieces: list[Predicate] = []
    if from_first:
        pieces.append(all_of((_at(field, first), *_within(behind, from_first, None))))
        start = after
    if to_last:
        stop = last
    if start < (stop or END):
        pieces.append(all_of(_within((field,), start, stop)))
    if to_last:
        pieces.append(all_of((_at(field, last), *_within(behind, b"", to_last))))
    return [any_of(pieces)]


def _split_field(field: KeyField, bound: bytes) -> tuple[bytes, bytes]:
    """Split a bound into the field of a column and the rest; without a whole field, all of it is dropped."""
    width = whole_field(field, bound)
    return bound[:width], bound[width:] if width else b""


def _at(field: KeyField, encoded: bytes) -> Predicate:
    return _is(field, field.decode(encoded)[0])


def _is(field: KeyField, value: Value) -> Predicate:
    return IsNull(field.name) if value is None else equal(field.name, value, field.type)


def _joined(conditions: Sequence[Predicate]) -> str:
    texts = [_text(condition, len(conditions) > 1) for condition in conditions]
    return ", ".join(texts) or "everything"


def _text(node: Predicate, within: bool) -> str:
    """Return a condition's text, in parentheses if it needs them within other conditions."""
    match node:
        case And(children):
            text = " AND ".join(_text(child, True) for child in children)
            return f"({text})" if within else text
        case Or(children):
            text = " OR ".join(_text(child, True) for child in children)
            return f"({text})" if within else text
        case Compare(op, column, value, type) if type.temporal:
            return f"{name_text(column)} {op} {_time_text(type, value)}"
    return str(node)


def _time_text(type: ColumnType, value: Value) -> str:
    zone = " UTC" if type.name == "timestamp" else ""
    return f"{text_from_value(type, value)}{zone}"
