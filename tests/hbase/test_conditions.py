"""Conditions that HBase tests itself: the rows that come, the rows it examines, the requests it takes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest

from parquetry.key_schema import KeySchema
from parquetry.metastore import Examined, Metastore, TableColumn, TableSnapshot, Transaction
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.commits.committer import commit
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan.execute import compile_residual
from parquetry.scan.pushdown import field_condition
from parquetry.store.base import Range
from parquetry.store.condition import AllOf, AnyOf, Condition, FieldCompare, FieldIn, holds
from parquetry.store.hbase import scans
from parquetry.store.hbase.client import HBaseTable, thrift
from parquetry.store.hbase.store import HBaseStore
from parquetry.types import Value, parse_type
from tests.support.hbase.launcher import HBaseServer
from tests.support.hbase.proxy import Proxy
from tests.support.planning.keys import fields_reader
from tests.support.stores.metastores import file, metadata

COUNT = 3000
ROWS = [(b"%05d" % n, b"value %d" % n) for n in range(COUNT)]
WHOLE: list[Range] = [(b"", None)]


def fields(key: bytes) -> tuple[bytes, bytes]:
    n = int(key)
    return b"%d" % (n % 10), b"%02d" % (n // 100)


def satisfying(where: Condition, ranges: Sequence[Range] = WHOLE) -> list[tuple[bytes, bytes]]:
    return [
        row
        for row in ROWS
        if holds(where, fields(row[0]))
        and any(row[0] >= start and (stop is None or row[0] < stop) for start, stop in ranges)
    ]


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rows come that do not count."""
    monkeypatch.setattr(scans, "ROWS_EXAMINED_PER_REQUEST", math.inf)


class Counter:
    """Tells how many rows HBase looked at since it was asked last."""

    def __init__(self, hbase: HBaseServer, table: str) -> None:
        self._hbase, self._table = hbase, table
        self._before = hbase.rows_examined(table)

    def __call__(self) -> int:
        before, self._before = self._before, self._hbase.rows_examined(self._table)
        return self._before - before


THREE = FieldCompare(0, "=", b"3")
THREE_OF_ONE_HUNDRED = AllOf((THREE, FieldCompare(1, "=", b"07")))
SOME = AnyOf((THREE_OF_ONE_HUNDRED, FieldIn(1, (b"11", b"12"))))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("flushed", [False, True])
def test_rows_returned_and_examined(hbase: HBaseServer, store: HBaseStore, table: str, flushed: bool) -> None:
    """Only rows that satisfy the condition come; HBase examines the rows of the ranges, once."""
    store.put_many(ROWS, fields)
    if flushed:
        hbase.ask(f"flush {table}")
    examined = Counter(hbase, table)
    for where, count in ((THREE, 300), (THREE_OF_ONE_HUNDRED, 10), (SOME, 210), (FieldIn(0, (b"x",)), 0)):
        found = list(store.scan_ranges(WHOLE, where=where))
        assert found == satisfying(where)
        assert len(found) == count
        # Each request that comes to the end looks for one more row.
        assert COUNT <= examined() <= COUNT + 4
    ranges = [(b"%05d" % n, b"%05d" % (n + 20)) for n in range(0, 2400, 100)]
    for where, count in ((THREE, 48), (THREE_OF_ONE_HUNDRED, 2)):
        found = list(store.scan_ranges(ranges, where=where))
        assert found == satisfying(where, ranges)
        assert len(found) == count
        # Besides 20 rows of each range, the one that it seeks from.
        assert 480 <= examined() <= 480 + 24 + 3
    assert list(store.scan_ranges([(b"00700", b"00800")], where=THREE)) == satisfying(THREE_OF_ONE_HUNDRED)
    assert examined() <= 100 + 2


@pytest.mark.usefixtures("exact")
def test_limits(hbase: HBaseServer, store: HBaseStore, table: str) -> None:
    """A limit stops HBase, too; of each range come the first rows that satisfy the condition."""
    store.put_many(ROWS, fields)
    examined = Counter(hbase, table)
    assert list(store.scan_ranges(WHOLE, limit=5, where=THREE)) == satisfying(THREE)[:5]
    assert examined() <= 44 + 1
    ranges = [(b"00100", b"00200"), (b"00300", b"00400"), (b"00700", None)]
    assert list(store.scan_ranges(ranges, limit=12, where=THREE)) == satisfying(THREE, ranges)[:12]
    first = [row for one in ranges for row in satisfying(THREE, [one])[:2]]
    assert list(store.scan_ranges(ranges, each=2, where=THREE)) == first
    assert list(store.scan_ranges(ranges, each=2, limit=3, where=THREE)) == first[:3]


def test_rows_without_fields(store: HBaseStore) -> None:
    """Rows that were written without fields come with every condition, also among others that have them."""
    store.put_many(ROWS[:200], fields)
    store.put_many(ROWS[200:400])
    store.put_many(ROWS[400:600], lambda key: fields(key)[:1])
    found = list(store.scan_ranges(WHOLE, where=THREE_OF_ONE_HUNDRED))
    wanted = [*ROWS[200:400], *(row for row in ROWS[400:600] if fields(row[0])[0] == b"3")]
    assert [row for row in found if row in wanted] == wanted
    assert len(found) < len(wanted) + 30


def test_regions(hbase: HBaseServer, table: str) -> None:
    """A scan finds rows that exist only in the last of several regions, with a limit and without."""
    store = HBaseStore.open(hbase.url(table, "?splits=3030,303130,3032"), create=True)
    store.put_many(ROWS, fields)
    last = FieldCompare(1, ">=", b"29")
    wanted = satisfying(last)
    found = list(store.scan_ranges(WHOLE, where=last))
    assert [row for row in found if row in wanted] == wanted
    found = list(store.scan_ranges(WHOLE, where=last, limit=100))
    assert len(found) == 100
    assert set(found) & set(wanted)
    store.close()


def test_requests(hbase: HBaseServer, proxy: Proxy, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come in batches; a request that finds nothing ends after so many rows, and the next goes on."""
    store = HBaseStore("127.0.0.1", proxy.port, table)
    store.put_many(ROWS, fields)
    nothing = FieldCompare(0, "=", b"x")
    monkeypatch.setattr(scans, "ROWS_EXAMINED_PER_REQUEST", math.inf)
    proxy.requests.clear()
    assert list(store.scan_ranges(WHOLE, where=nothing)) == []
    assert list(store.scan_ranges(WHOLE, where=THREE)) == satisfying(THREE)
    assert proxy.requests == ["getScannerResults"] * 3  # nothing; 64 rows, and the others
    monkeypatch.setattr(scans, "MAX_BATCH_ROWS", 20)
    monkeypatch.setattr(scans, "ROWS_EXAMINED_PER_REQUEST", 100)
    proxy.requests.clear()
    milestones = len(list(store.scan_ranges(WHOLE, where=nothing)))
    assert 400 < milestones < 800  # a fifth of them, at random
    assert len(proxy.requests) == milestones // 20 + 1
    found = list(store.scan_ranges([(b"00500", b"01500"), (b"01600", None)], where=THREE))
    assert found == sorted(set(found))
    assert set(satisfying(THREE, [(b"00500", b"01500"), (b"01600", None)])) <= set(found)
    store.close()


def test_fields_stay_on_the_server(
    hbase: HBaseServer, store: HBaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HBase returns the value alone, without the fields that it compared."""
    store.put_many(ROWS[:100], fields)
    cells: list[bytes] = []
    genuine = HBaseTable._call

    def call(self: HBaseTable, method: str, *arguments: object, repeat: bool = True) -> object:
        answer = genuine(self, method, *arguments, repeat=repeat)
        cells.extend(cell.qualifier for result in answer for cell in result.columnValues)
        return answer

    monkeypatch.setattr(HBaseTable, "_call", call)
    found = list(store.scan_ranges([(b"", b"00050"), (b"00060", None)], where=THREE))
    assert len(found) >= 9
    assert cells == [b"v"] * len(found)


def test_no_cell_outlives_its_row(store: HBaseStore) -> None:
    """A removal takes the fields along, also of a row that was swapped since it got them."""
    store.put_many([(b"a", b"1"), (b"b", b"1"), (b"c", b"1")], lambda _: (b"x", b"y"))
    assert cells_of(store, b"a") == [b"v", b"x0", b"x1"]
    assert store.compare_and_set(b"b", b"1", b"2")
    store.delete_many([b"a", b"b"])
    assert store.compare_and_set(b"c", b"1", None)
    assert [cells_of(store, key) for key in (b"a", b"b", b"c")] == [[], [], []]


def test_tombstones_with_fields(store: HBaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A removal that only wrote its tombstone leaves no row, even if the fields satisfy the condition."""
    store.put_many([(b"a", b"1"), (b"b", b"1")], lambda _: (b"x",))
    monkeypatch.setattr(HBaseTable, "remove", lambda *_: None)
    assert store.compare_and_set(b"a", b"1", None)
    assert list(store.scan_ranges(WHOLE, where=FieldCompare(0, "=", b"x"))) == [(b"b", b"1")]


def cells_of(store: HBaseStore, key: bytes) -> list[bytes]:
    (result,) = store._table._call("getMultiple", [thrift.TGet(row=key)])
    return [cell.qualifier for cell in result.columnValues]


KEY_COLUMNS = (("d", "date"), ("n", "int"), ("s", "string"), ("f", "double"))
FILTERS = [
    "n = 3",
    "n != 3 and s is not null",
    "n < 0 or n is null",
    "s like 'a%'",
    "s like '%b_' or s like '_'",
    "s not like 'a%' and n >= -1",
    "s not like '%b%'",
    "s in ('a', 'é', '') and f > 0.5",
    "n not in (1, 2) and (f <= 0.0 or d = date '2024-02-03')",
    "(n, s) in ((1, 'a'), (2, 'ab'), (3, null))",
    "(n, s) not in ((1, 'a'), (2, 'ab'))",
    "s is null or n between -1 and 1",
    "f < 1.5 and not (n = 1 or s = 'a')",
]


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("down", [False, True])
def test_residuals(hbase: HBaseServer, store: HBaseStore, down: bool) -> None:
    """HBase tests a filter's residual on the bytes of every type, with NULL and in both orders."""
    columns = [(name, parse_type(type)) for name, type in KEY_COLUMNS]
    schema = KeySchema.from_columns(columns, (False, down, down, not down))
    numbers: list[Value] = [None, -5, -1, 0, 1, 2, 3, 1000]
    texts: list[Value] = [None, "", "a", "ab", "abc", "é", "a\x00b", "bb", "\x01"]
    rows = [
        schema.encode((19_782 + n % 20, number, text, value))
        for n, (number, text, value) in enumerate(
            (number, text, value) for number in numbers for text in texts for value in (None, -0.5, 0.0, 1.0)
        )
    ]
    store.put_many(((b"table" + key + b"version", b"1") for key in rows), fields_reader(4, 5, 7))
    for text in FILTERS:
        predicate = parse_filter(text, schema.types)
        where = field_condition(predicate, schema)
        assert where is not None
        test = compile_residual(predicate, schema, prefix=5, suffix=7)
        found = [key for key, _ in store.scan_ranges([(b"table", b"tablf")], where=where)]
        assert [key for key in found if test(key)] == [
            key for key in sorted(b"table" + key + b"version" for key in rows) if test(key)
        ], text
        assert [key for key in found if not test(key)] == [], text


def fill_table(store: HBaseStore, days: int) -> TableSnapshot:
    """Make a table by day, hour (24) and region (four, one of them NULL), the newest days first."""
    columns = (
        TableColumn("x", "long"),
        TableColumn("d", "integer"),
        TableColumn("h", "integer"),
        TableColumn("s", "string"),
    )
    described = metadata(columns=columns, partition_by=("d", "h", "s"), descending=(True, False, False))
    table = Metastore(store, "/lake").create_table("default", "t", described)
    transaction = Transaction(table, "fill")
    for values in itertools.product(range(days), range(24), ("eu", "us", None, "ap")):
        transaction.append(values, [file("f")])
    return commit(transaction)


READS = [
    # filter, partitions, rows that HBase looks at, requests
    ("d = 7", 96, 96, 1 + 1),
    ("d = 7 and h = 3 and s = 'eu'", 1, 1, 1),
    ("d >= 8 and s = 'eu'", 48, 192, 1),
    ("h = 3 and s is null", 10, 960, 1),
    ("h = 3 and s like '%u%'", 20, 960, 1),
    ("d in (1, 5) and h in (0, 23) and s != 'us'", 8, 16, 1),
    ("s not in ('eu', 'us', 'ap')", 0, 960, 1),
]


@pytest.mark.usefixtures("exact")
def test_what_filters_of_a_table_take(hbase: HBaseServer, proxy: Proxy, table: str) -> None:
    """Leading columns name the rows, HBase tests the others, and a few requests bring the answer.

    Reading with counts of examined keys receives as many bytes.
    """
    store = HBaseStore("127.0.0.1", proxy.port, table)
    filled = fill_table(store, 10)
    columns = filled.key_schema.types
    everything = [partition.values for partition in filled.partitions()]
    examined = Counter(hbase, table)
    for text, count, looked_at, requests in READS:
        predicate = parse_filter(text, columns)
        plan = cheapest_plan(filled, predicate)
        examined()
        proxy.requests.clear()
        received = proxy.received
        found = [partition.values for partition in filled.partitions(plan)]
        # One more request asks whether the version was kept meanwhile, unless all single keys were found.
        head = 0 if plan.only_gets else 1
        assert proxy.requests == ["getScannerResults"] * requests + ["getMultiple"] * head, text
        assert looked_at <= examined() - head <= looked_at + 2 * requests, text
        assert len(found) == count, text
        received = proxy.received - received
        counted, before = Examined(), proxy.received
        assert len(list(filled.partitions(plan, examined=counted))) == count
        assert (proxy.received - before, counted.keys, counted.tested) == (
            received,
            count,
            looked_at > count,
        ), text
        assert found == [
            row for row in everything if evaluate(predicate.node, dict(zip(columns, row, strict=True)))
        ]
    store.close()


def test_tables_from_before_there_were_fields(store: HBaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions whose rows have no fields are found, beside others and under newer versions with fields."""
    genuine = HBaseStore.put_many
    with monkeypatch.context() as earlier:
        earlier.setattr(HBaseStore, "put_many", lambda self, rows, fields=None: genuine(self, rows))
        filled = fill_table(store, 2)
    transaction = Transaction(filled, "change")
    transaction.drop((0, 3, "eu"))
    transaction.append((1, 3, "eu"), [file("g")])
    transaction.append((2, 3, "eu"), [file("g")])
    after = commit(transaction)
    columns = filled.key_schema.types
    plan = cheapest_plan(after, parse_filter("h = 3 and s = 'eu'", columns))
    files = {partition.values: len(partition.files) for partition in after.partitions(plan)}
    assert files == {(2, 3, "eu"): 1, (1, 3, "eu"): 2}
    files = {partition.values: len(partition.files) for partition in filled.partitions(plan)}
    assert files == {(1, 3, "eu"): 1, (0, 3, "eu"): 1}
