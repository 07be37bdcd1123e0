"""A skip scan finds what the brute-force evaluator finds, over generated tables, histories and conditions."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, event, given, settings, strategies as st

from parquetry.key_schema import KeySchema
from parquetry.metastore.partition_rows import skip_scan
from parquetry.metastore.partition_rows.reading import read_by_keys
from parquetry.metastore.partition_rows.visible_rows import Examined, VisibleRows
from parquetry.metastore.storage.keyspace import complement, fields_of, partition_prefix
from parquetry.metastore.storage.model import CommitRecord, Totals
from parquetry.predicate.evaluate import evaluate
from parquetry.scan import plan_scan
from parquetry.store import MemoryStore, ReadCosts
from parquetry.types import Value
from tests.property.scan.test_plans import as_possible
from tests.support.effort import examples
from tests.support.planning.filters import make_filter
from tests.support.tables.generated_tables import Columns, predicates, rows, tables

TABLE = b"\x00" * 8
NEXT_TICKET, HIDDEN = 9, (3, 5)
LIVE, TOMBSTONE = b"\x01row", b"\x00"


class SeekingStore(MemoryStore):
    """A store with cheap seeks, so that skip scans may pay in small tables, and pages of values are small."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.costs = ReadCosts(0, random.choice([0.01, 0.01, 0.1, 0.3]), 1, 1, random.choice([0, 0, 2]))


def grown(columns: Columns, some: list[tuple[Value, ...]], random: Random) -> list[tuple[Value, ...]]:
    """Return rows with more of the leading values' combinations with later ones."""
    return [*some, *(tuple(random.choice(some)[place] for place in range(len(columns))) for _ in range(60))]


@settings(
    max_examples=examples(200),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(st.data())
def test_a_skip_scan_finds_each_visible_row_once(data: st.DataObject) -> None:
    """A scan yields the rows of a version that satisfy the condition, in key order, for each table's history.

    Rows have several versions, tombstones, tickets of later or unfinished commits, and there are rows of a
    table's earlier partition columns.
    """
    columns = data.draw(tables())
    names = [name for name, _ in columns]
    down = data.draw(st.lists(st.booleans(), min_size=len(columns), max_size=len(columns)))
    schema = KeySchema.from_columns(columns, down)
    random = Random(data.draw(st.integers(0, 1 << 30)))
    drawn = data.draw(rows(columns))
    keys = {schema.encode(row): row for row in (grown(columns, drawn, random) if drawn else [])}
    store, stored = SeekingStore(random), dict[bytes, dict[int, bytes]]()
    for key in keys:
        tickets = random.sample(range(1, 12), random.choice([1, 1, 1, 3]))
        stored[key] = {ticket: TOMBSTONE if random.random() < 0.2 else LIVE for ticket in tickets}
    before = data.draw(tables())
    for old in data.draw(rows(before)) if random.random() < 0.5 else []:
        stored.setdefault(KeySchema.from_columns(before).encode(old), {1: TOMBSTONE})
    prefix = partition_prefix(TABLE)
    store.put_many(
        [(prefix + key + complement(ticket), value) for key, each in stored.items() for ticket, value in each.items()],
        fields_of if random.random() < 0.8 else None,
    )  # fmt: skip
    totals = Totals(partitions=len(keys))
    commit = CommitRecord(1, 8, "id", 0, "append", {}, 0, totals, NEXT_TICKET, (HIDDEN,))
    later = columns[1:] if len(columns) > 1 and random.random() < 0.6 else columns
    predicate = data.draw(predicates(later, opaque=random.random() < 0.1))
    plan = plan_scan(make_filter(predicate), schema)
    examined = Examined()

    visible = VisibleRows(store, TABLE, commit)
    with pytest.MonkeyPatch.context() as patch:
        for name, number in (("MIN_JUMPS", 1), ("MIN_EXPENSIVE_JUMPS", 2), ("JUMPS_GROWTH_FACTOR", 2)):
            patch.setattr(skip_scan, name, number)
        found = [key for key, _, _ in read_by_keys(visible, plan, schema, examined)]

    shown = []
    for key in sorted(keys):
        tickets = [each for each in stored[key] if each < NEXT_TICKET and not HIDDEN[0] <= each <= HIDDEN[1]]
        if tickets and stored[key][max(tickets)] == LIVE:
            shown.append(key)
    event(f"{min(examined.seeks, 40) // 10 * 10} seeks or more")
    assert found == sorted(set(found) & set(shown))
    possible, certain = as_possible(predicate), as_possible(predicate, positive=False)
    for key in shown:
        row = dict(zip(names, keys[key], strict=True))
        if key in found:
            assert evaluate(possible, row) is True
        else:
            assert evaluate(certain, row) is not True
