"""The access path of a filter uses the partitions' own keys, an index, or a union of both."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from parquetry.errors import UnsupportedError
from parquetry.metastore import Examined, Metastore, TableColumn, TableSnapshot, Transaction
from parquetry.metastore.access.access_paths import cheapest_plan, sample_keys
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.indexes import create_index, drop_index
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import And, Compare, In, IsNull, Not, Or, Predicate
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import IndexOrder, ScanPlan
from parquetry.scan.plan_text import plan_text
from parquetry.scan.unions import plan_by_index, unions
from parquetry.store import MemoryStore, Range, Store
from parquetry.store.sqlite import SQLiteStore
from parquetry.types import Value, parse_type
from tests.support.effort import examples
from tests.support.stores.metastores import file, metadata

DAYS, STORES = 500, 10


def table_of(
    columns: dict[str, str],
    rows: Iterable[Sequence[Value]],
    indexes: Sequence[Sequence[str]],
    descending: Sequence[bool] = (),
    store: Store | None = None,
) -> TableSnapshot:
    """Return a table with a partition for each row, and with indexes."""
    described = metadata(
        columns=(TableColumn("x", "long"), *(TableColumn(name, type) for name, type in columns.items())),
        partition_by=tuple(columns),
        descending=tuple(descending),
    )
    transaction = Transaction(
        Metastore(store or MemoryStore(), "/lake").create_table("default", "t", described), "fill"
    )
    for row in rows:
        transaction.append(tuple(row), [file("f")])
    table = commit(transaction)
    for index in indexes:
        table = create_index(table, index)
    return table


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TableSnapshot]:
    """5,000 partitions by day and store, with an index on the store.

    On every 25th day the store `zz` takes the place of `r9`.
    """
    rows = ((d, "zz" if s == 9 and d % 25 == 7 else f"r{s}") for d in range(DAYS) for s in range(STORES))
    # SQLite tests no conditions itself, so that each key that is examined is counted.
    store = SQLiteStore(tmp_path_factory.mktemp("sales") / "metastore")
    yield table_of({"d": "integer", "s": "string"}, rows, [["s"]], store=store)
    store.close()


def examined(table: TableSnapshot, text: str) -> tuple[ScanPlan, int, int]:
    """Return the plan of a filter, the number of its partitions, and the number of keys examined.

    The latter includes the keys examined for the choice.
    """
    filter = parse_filter(text, table.key_schema.types)
    count = Examined()
    plan = cheapest_plan(table, filter, count)
    keys = [partition.key for partition in table.partitions(plan, examined=count)]
    assert keys == [p.key for p in table.partitions(plan_scan(filter, table.key_schema))]
    return plan, len(keys), count.keys


@pytest.mark.parametrize(
    ("text", "partitions", "keys"),
    [
        # The day has ten keys; the store has 20 entries and 20 rows. Keys are read once to count them, and
        # once for the rows.
        ("d = 77 OR s = 'zz'", 30, 60),
        ("d = 7 OR s = 'zz'", 29, 60),  # (7, 'zz') is in both parts
        # Both access paths are counted: of the keys of `d < 100` only 64 are read for that.
        ("d = 77 OR d = 78 OR s = 'zz' AND d < 100", 24, 48 + 64),
        ("(d = 1 OR s = 'r3') AND (s = 'r4' OR d = 2)", 2, 2),
        ("(d < 10 OR s = 'zz') AND (d > 400 OR s = 'r1')", 14, 28 + 64),
        # More than 64 keys are counted only if a sample of 16 keys, found by some 34 seeks, favours the path.
        ("d BETWEEN 10 AND 12 OR s LIKE 'zz%'", 50, 100 + 50),
        ("d >= 498 OR s = 'zz'", 40, 80),
        ("d > 400 OR s = 'zz'", 1006, 2 * (990 + 16 + 20)),
        # As Hive writes filters.
        ("(STRUCT(d, s)) IN (CONST STRUCT(77, 'r1'), CONST STRUCT(78, 'r2'))", 2, 2),
        ("s = 'zz' OR s = 'nowhere'", 20, 40),
    ],
)
def test_branches_take_the_way_that_serves_them(
    sales: TableSnapshot, text: str, partitions: int, keys: int
) -> None:
    """An OR reads its branches by keys and by the index, and no partition twice."""
    plan, number, count = examined(sales, text)
    assert number == partitions
    assert count <= keys, plan_text(plan, sales.key_schema)


def test_dates_without_quotes_name_keys() -> None:
    """A date as Hive's filters have it reads one key, a range of them as many as it has."""
    table = table_of({"day": "date", "s": "string"}, [(19_700 + n, "x") for n in range(365)], [])
    assert [
        examined(table, text)[1:] for text in ("day = 2024-02-29", "day BETWEEN 2024-02-01 AND 2024-02-29")
    ] == [
        (1, 1),
        (29, 29),
    ]


class CountingStore(MemoryStore):
    """Counts what it is asked: counts, and scans or lookups of rows."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = 0
        self.reads = 0

    def count(self, ranges: Sequence[Range], limit: int) -> int:
        self.counts += 1
        return super().count(ranges, limit)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.reads += 1
        return super().get_many(keys)

    def scan_ranges(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        self.reads += 1
        return super().scan_ranges(*arguments, **options)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("d = 7 AND s > 'r0'", 9),
        ("d < 20 AND s > 'r0'", 200),
        ("d IN (1, 2, 3, 4) AND s >= 'r2' AND s < 'r5'", 12),
        ("s LIKE '%' AND d IN (19, 27, 30, 48)", 40),
        ("d >= 10 AND d < 13 OR d = 99 AND s = 'r1'", 31),
        ("d = 7 AND s = 'nowhere'", 0),
        ("d < -5", 0),
    ],
)
def test_a_filter_that_the_key_serves_looks_at_no_index(text: str, keys: int) -> None:
    """A path of some tens of keys is counted once and taken.

    As many keys are examined as without an index.
    """
    rows = [(d, f"r{s}") for d in range(100) for s in range(10)]
    columns = {"d": "integer", "s": "string"}
    store = CountingStore()
    plain, indexed = table_of(columns, rows, []), table_of(columns, rows, [["s"]], store=store)
    filter = parse_filter(text, indexed.key_schema.types)
    own = plan_scan(filter, indexed.key_schema)
    without, beside = Examined(), Examined()
    store.counts = store.reads = 0
    plan = cheapest_plan(indexed, filter, beside)
    assert plan == own
    assert plan.estimates == ()
    assert (store.counts, store.reads) == (0 if all(scan.kind == "get" for scan in own.scans) else 1, 0)
    found = [partition.values for partition in indexed.partitions(plan, examined=beside)]
    assert found == [partition.values for partition in plain.partitions(own, examined=without)]
    assert beside.keys == without.keys <= keys


def test_a_longer_path_is_counted_and_not_read(sales: TableSnapshot) -> None:
    """Counts alone show the shorter path; the store returns no key for the choice."""
    for text, indexes in (("d < 100 AND s = 'zz'", 1), ("d < 100 AND s > 'r5'", 0), ("s = 'zz' OR d = 5", 1)):
        choice = Examined()
        plan = cheapest_plan(sales, parse_filter(text, sales.key_schema.types), choice)
        assert (len(plan.indexes), choice.keys) == (indexes, 0), text


@pytest.mark.parametrize(
    "text",
    [
        "s >= 'a'", "s != 'r1'", "d < 400 AND s > 'r0'", "s IN ('r1', 'r2', 'r3')", "s LIKE 'r%' OR d = 7",
        "s > 'r4' OR d < 30",
    ],
)  # fmt: skip
def test_choosing_costs_little_where_no_index_helps(sales: TableSnapshot, text: str) -> None:
    """A filter that most partitions satisfy examines at most 4 % more keys than without an index."""
    plan, _, count = examined(sales, text)
    assert plan.indexes == ()
    without = Examined()
    own = plan_scan(parse_filter(text, sales.key_schema.types), sales.key_schema)
    assert list(sales.partitions(own, examined=without))
    assert count <= without.keys + max(64 + 64, 0.04 * without.keys)


def test_an_index_of_a_tenth_is_used(sales: TableSnapshot) -> None:
    """It is too much to be counted before anything is known, and the sample tells that it is a tenth."""
    plan, number, count = examined(sales, "s = 'r1'")
    assert (len(plan.indexes), number) == (1, 500)
    assert count <= 2 * 500 + 64 + 64
    assert str(plan.estimates[0]) == "index s: 1,000"


def test_a_plan_says_what_it_reads(sales: TableSnapshot) -> None:
    """Each index is named before its ranges; estimates are exact, or from a sample."""
    plan, _, _ = examined(sales, "d = 77 OR s = 'zz'")
    assert plan_text(plan, sales.key_schema).splitlines() == [
        "scan d = 77",
        "by index s",
        "scan index s = 'zz'",
        "keys to examine by index s and the partitions' keys: 50; by the partitions' keys: 5,000",
    ]
    unselective, _, _ = examined(sales, "s != 'r1'")
    assert plan_text(unselective, sales.key_schema).splitlines()[0] == "scan everything where s != 'r1'"
    assert (
        str(unselective.estimates[0]) == "index s: more than 1,668"
    )  # more than a sixth in entries of the table
    tested, _, _ = examined(sales, "s = 'zz' AND d > 100 AND d != 132")
    assert str(tested.estimates[0]) == "index s: about 32"  # sixteen entries, and at most as many rows


def test_a_union_is_of_its_version_and_replaces_nothing(sales: TableSnapshot) -> None:
    """As any plan by an index: it cannot say what a later version holds."""
    plan, _, _ = examined(sales, "d = 77 OR s = 'zz'")
    with pytest.raises(UnsupportedError, match="plan for an index"):
        Transaction(sales, "overwrite").replace_where(plan)
    small = table_of({"d": "integer", "s": "string"}, [(1, "a"), (2, "b"), (3, "zz")], [["s"]])
    dropped = drop_index(small, "s")
    with pytest.raises(UnsupportedError, match="'s' does not lead to all partitions"):
        list(dropped.partitions(plan))
    limited = [partition.values for partition in sales.partitions(plan, limit=3)]
    assert limited == [(7, "zz"), (32, "zz"), (57, "zz")]


def test_a_sample_is_spread_over_the_table(sales: TableSnapshot) -> None:
    """A sample has keys of partitions from all parts of the table.

    It has many values of the second column.
    """
    keys = sample_keys(sales)
    days, stores = zip(*map(sales.placement.values_of, keys), strict=True)
    assert 16 <= len(keys) <= 20
    assert min(days) < DAYS // 8
    assert max(days) >= DAYS * 5 // 8
    assert len(set(stores)) >= STORES // 2
    assert set(keys) <= {partition.key for partition in sales.partitions()}
    assert sample_keys(table_of({"d": "integer"}, [], [])) == []


COLUMNS = {"a": "integer", "b": "string", "c": "date"}
POOLS: dict[str, list[Value]] = {
    "a": [None, -1, 0, 1, 2, 3, 255, 256],
    "b": [None, "", "a", "ab", "b", "é"],
    "c": [None, 0, 1, 19000],
}
INDEXES = [[["b"]], [["c"], ["b"]], [["c", "b"], ["b", "c"], ["c", "a"]]]


def random_filter(random: Random, depth: int) -> Predicate:
    """Return a condition of ANDs, ORs and NOTs over the three columns."""
    if depth == 0 or random.random() < 0.2:
        name = random.choice("abc")
        type = parse_type(COLUMNS[name])
        known = [value for value in POOLS[name] if value is not None]
        match random.randrange(6):
            case 0:
                return In(name, tuple(random.sample(known, 2)), type)
            case 1:
                return IsNull(name)
            case 2:
                return Compare(
                    random.choice(["<", "<=", ">", ">=", "!=", "<=>"]), name, random.choice(known), type
                )
        return Compare("=", name, random.choice(known), type)
    children = tuple(random_filter(random, depth - 1) for _ in range(random.choice((2, 2, 3))))
    node: Predicate = And(children) if random.random() < 0.4 else Or(children)
    return Not(node) if random.random() < 0.1 else node


@pytest.mark.parametrize("indexes", INDEXES, ids=str)
@pytest.mark.parametrize("descending", [(), (True, False, True)], ids=str)
def test_random_filters_find_each_partition_once(
    indexes: list[list[str]], descending: tuple[bool, ...]
) -> None:
    """Each access path gives exactly the partitions that satisfy the filter, in key order."""
    rows = list(itertools.product(*POOLS.values()))
    table = table_of(COLUMNS, rows, indexes, descending)
    types = table.key_schema.types
    in_order = [partition.values for partition in table.partitions()]
    orders = [IndexOrder(index.name, index.id, index.order) for index in table.metadata.indexes]
    random = Random(str((indexes, descending)))
    united: set[int] = set()
    for _ in range(examples(150)):
        filter = Filter.bind(random_filter(random, 3), types)
        expected = [
            row for row in in_order if evaluate(filter.node, dict(zip(types, row, strict=True))) is True
        ]
        plans = [cheapest_plan(table, filter), *unions(filter, table.key_schema, orders)]
        plans += [plan_by_index(filter, table.key_schema, order) for order in orders]
        for plan in plans:
            assert [partition.values for partition in table.partitions(plan)] == expected, str(filter)
        united |= {len(plan.by_indexes) for plan in plans}
    assert united >= ({0, 1} if len(indexes) == 1 else {0, 1, 2})
