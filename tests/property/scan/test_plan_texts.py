"""A plan's text says exactly which keys are in each range, over generated tables, rows and conditions."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings, strategies as st

from parquetry.key_schema import KeySchema
from parquetry.keys import successor
from parquetry.predicate.evaluate import evaluate
from parquetry.scan import KeyScan, plan_scan
from parquetry.scan.plan_text import scan_text
from tests.support.effort import examples
from tests.support.planning.filters import make_filter
from tests.support.planning.keys import leading
from tests.support.planning.plan_texts import read_range
from tests.support.tables.generated_tables import Columns, free_values, predicates, rows, tables

VERSION = b"\x00\x00\x00\x00\x00\x00\x00\x07"
RELAXED = settings(
    max_examples=examples(150),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def schemas(columns: Columns) -> st.SearchStrategy[KeySchema]:
    """Return keys of some columns; any column may be descending."""
    directions = st.lists(st.booleans(), min_size=len(columns), max_size=len(columns))
    return directions.map(lambda descending: KeySchema.from_columns(columns, descending))


def check(scan: KeyScan, schema: KeySchema, keys: set[bytes]) -> None:
    """A key is in the range if, and only if, its values satisfy the range's text."""
    text = scan_text(KeyScan(scan.kind, scan.start, scan.stop, None), schema)
    _, said, _ = read_range(text, schema.types)
    for key in keys:
        row = dict(zip(schema.types, schema.decode(key), strict=True))
        within = scan.start <= key and (scan.stop is None or key + VERSION < scan.stop)
        assert (evaluate(said.node, row) is True) == within, (text, row)


@RELAXED
@given(st.data())
def test_a_ranges_text_is_true_for_the_keys_in_it_and_for_no_others(data: st.DataObject) -> None:
    """Read back as SQL and evaluated on each key, be it of a get, a range, or a range of an index."""
    columns = data.draw(tables())
    schema = data.draw(schemas(columns))
    keys = set(map(schema.encode, data.draw(rows(columns))))
    for scan in plan_scan(make_filter(data.draw(predicates(columns))), schema).scans:
        check(scan, schema, keys)
        check(KeyScan("index", scan.start, scan.stop, None), schema, keys)


@RELAXED
@given(st.data())
def test_bounds_on_any_values_of_any_columns_are_written(data: st.DataObject) -> None:
    """A range may begin at the keys of some leading values, and end before or behind the keys of others."""
    columns = data.draw(tables())
    schema = data.draw(schemas(columns))
    keys = set(map(schema.encode, data.draw(rows(columns))))
    ends = []
    for _ in range(2):
        count = data.draw(st.integers(1, len(columns)))
        values = [data.draw(free_values(type)) for _, type in columns[:count]]
        ends.append(successor(leading(schema, values)))
        keys.add(schema.encode((*values, *(None for _ in columns[count:]))))
        while values and values[-1] is None and not schema.fields[len(values) - 1].descending:
            values.pop()  # NULL is the first: no key is between the first key of NULL and the first key of all
        ends.append(leading(schema, values))
    least, one, other, greatest = sorted(ends, key=lambda end: (end is None, end))
    for start, stop in ((b"", one), (least, one), (one, other), (least, greatest), (other, None)):
        if start is not None and start != stop:
            check(KeyScan("range", start, stop, None), schema, keys)
