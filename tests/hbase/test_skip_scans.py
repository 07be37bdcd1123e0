"""A skip scan on a real HBase: a request for each value, where that takes less time than testing all keys."""

from __future__ import annotations

import math

import pytest

from parquetry.metastore import Examined
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan import plan_scan
from parquetry.store.hbase import scans
from parquetry.store.hbase.store import HBaseStore
from tests.support.hbase.launcher import HBaseServer
from tests.unit.metastore.versions.test_access_paths import table_of


@pytest.mark.parametrize(
    ("values", "later", "seeks", "looked_at"),
    [
        (6, 1500, 6, 0.5),  # few rows of each value are looked at
        (60, 100, 4, 1.1),  # to test a hundred rows takes less time than a request
    ],
)
def test_jumps_are_made_where_they_pay(
    hbase: HBaseServer,
    store: HBaseStore,
    table: str,
    monkeypatch: pytest.MonkeyPatch,
    values: int,
    later: int,
    seeks: int,
    looked_at: float,
) -> None:
    """Few values with many keys each are sought; many values with few keys are tested by the servers."""
    monkeypatch.setattr(scans, "ROWS_EXAMINED_PER_REQUEST", math.inf)
    rows = [(p, c) for p in range(values) for c in range(later)]
    filled = table_of({"p": "integer", "c": "integer"}, rows, [], store=store)
    filter = parse_filter("c = 7", filled.key_schema.types)
    before = hbase.rows_examined(table)
    examined = Examined()
    found = list(filled.partitions(plan_scan(filter, filled.key_schema), examined=examined))
    assert len(found) == values
    assert (examined.keys, examined.seeks) == (values + seeks, seeks)
    assert hbase.rows_examined(table) - before <= looked_at * len(rows)
