"""Skip scans seek a key of each value of the leading columns, where that takes less than reading all keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from parquetry.catalog.reader import CatalogReader
from parquetry.metastore import Examined, Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.indexes import create_index
from parquetry.metastore.partition_rows.indexes import find_index
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune.query_cache import PartitionCache
from parquetry.prune.report.report import Report, report_rows
from parquetry.prune.select import select_files
from parquetry.scan import IndexOrder, plan_by_index, plan_scan
from parquetry.store import MemoryStore, SQLiteStore, Store
from parquetry.types import Value
from tests.support.stores.metastores import FaultyStore, file
from tests.unit.metastore.versions.test_access_paths import table_of

COLUMNS = {"p": "integer", "c": "integer", "t": "string"}
LEADING: list[Value] = [None, -(1 << 31), -1, *range(30), (1 << 31) - 1]
ROWS: list[Sequence[Value]] = [
    (p, c, t) for p in LEADING for c in range(6) for t in ("a", "b%", "b", "x", "y", "z")
]


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened: Store = MemoryStore()
    if request.param == "sqlite":
        opened = SQLiteStore(tmp_path_factory.mktemp("skips") / "metastore")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def table(store: Store) -> TableSnapshot:
    """1,224 partitions: 34 values of the first column with 36 partitions each."""
    return table_of(COLUMNS, ROWS, [], store=store)


def read(table: TableSnapshot, text: str) -> tuple[int, int, int]:
    """Read the partitions of a filter by their own keys, and compare them with the brute-force evaluator's.

    Returns:
        the numbers of partitions, of keys returned, and of seeks.
    """
    filter = parse_filter(text, table.key_schema.types)
    examined = Examined()
    plan = plan_scan(filter, table.key_schema)
    found = [partition.values for partition in table.partitions(plan, examined=examined)]
    names = list(table.key_schema.types)
    expected = [
        partition.values
        for partition in table.partitions()
        if evaluate(filter.node, dict(zip(names, partition.values, strict=True))) is True
    ]
    assert found == expected
    return len(found), examined.keys, examined.seeks


@pytest.mark.parametrize(
    ("text", "partitions", "seeks"),
    [
        ("c = 5", 204, 34),
        ("c = 5 AND t = 'a'", 34, 34),
        ("c IN (1, 4) AND t > 'x'", 136, 34),
        ("c > 3", 408, 34),
        ("c IN (2, 3) AND t = 'y'", 68, 34),
        ("(c, t) IN ((1, 'a'), (5, 'z'))", 68, 34),
        ("p > 10 AND c = 5", 120, 20),
        ("p IS NOT NULL AND c = 5 AND t LIKE 'b%'", 66, 33),
        ("c = 7", 0, 34),
    ],
)
def test_a_condition_on_a_later_column_jumps_from_value_to_value(
    table: TableSnapshot, text: str, partitions: int, seeks: int
) -> None:
    """A filter without the first column returns a key for each of its 34 values, and the wanted keys."""
    assert read(table, text) == (partitions, partitions + seeks, seeks)


def test_the_report_counts_the_seeks(table: TableSnapshot) -> None:
    """The step of partitions says how many seeks found them, also if they come from the query cache."""
    recent = PartitionCache()
    for text, step in (
        ("c = 5", "partitions 204 of 1,224 (c = 5, skip scan: 34 seeks)"),
        ("c = 5", "partitions 204 of 1,224 (c = 5, skip scan: 34 seeks)"),
        ("c = 5 AND t = 'a'", "partitions 34 of 1,224 (c = 5 AND t = 'a', skip scan: 34 seeks)"),
        ("p = 8", "partitions 36 of 1,224 (p = 8)"),
    ):
        selection = select_files(table, [parse_filter(text, table.key_schema.types)], recent=recent)
        assert str(Report((selection.report,))).split(" · ")[0] == f"default.t: {step}"
        assert (
            next(row.why for row in report_rows(Report((selection.report,))))
            == step[step.index("(") + 1 : -1]
        )


def test_the_leading_column_may_have_a_condition_of_its_own(table: TableSnapshot) -> None:
    """Values that the condition excludes are sought and not read; other branches are read in full."""
    assert read(table, "p != 8 AND c = 5") == (192, 192 + 33, 33)
    partitions, keys, seeks = read(table, "p > 20 OR c = 5")
    assert (partitions, seeks) == (10 * 36 + 24 * 6, 34)
    assert keys == partitions + seeks


def test_many_values_of_the_leading_columns_are_read_in_order(table: TableSnapshot) -> None:
    """The last column alone would jump 204 times over six keys: after eight seeks, all keys are read."""
    partitions, keys, seeks = read(table, "t = 'a'")
    assert (partitions, seeks) == (204, 8)
    plain = 204 if table.store.leaves_out else len(ROWS)
    assert keys == plain + 8


def test_a_skip_scan_ends_where_it_no_longer_pays() -> None:
    """It goes on from where it is: few large values first, then many small ones."""
    rows = [(p, c) for p in range(4) for c in range(500)] + [(p, 7) for p in range(4, 2000)]
    table = table_of({"p": "integer", "c": "integer"}, rows, [])
    partitions, keys, seeks = read(table, "c = 7")
    assert partitions == 2000
    assert seeks == 4 + 16 + 16
    assert keys == partitions + seeks


def test_a_few_small_values_at_first_do_not_end_it() -> None:
    """After a page of small values the next one pays, and the rest is read in jumps."""
    rows = [(p, 7) for p in range(4)] + [(p, c) for p in range(4, 40) for c in range(100)]
    table = table_of({"p": "integer", "c": "integer"}, rows, [])
    assert read(table, "c = 7") == (40, 40 + 40, 40)


@pytest.mark.parametrize("descending", [(True, False, False), (False, True, True), (True, True, True)])
def test_jumps_in_descending_order(descending: tuple[bool, ...]) -> None:
    """Descending columns, whose NULL comes last, are jumped over like others."""
    rows = [*ROWS, (5, None, None), (None, None, None), (None, 5, None)]
    table = table_of(COLUMNS, rows, [], descending)
    assert read(table, "c = 5") == (205, 205 + 34, 34)
    assert read(table, "c IS NULL") == (2, 2 + 34, 34)
    assert read(table, "c = 5 AND t IS NULL") == (1, 1 + 34, 34)


def test_several_leading_columns() -> None:
    """Both leading columns are jumped over together, and a condition on the second narrows the jumps."""
    rows = [(a, b, c, d) for a in range(4) for b in range(5) for c in range(200) for d in range(2)]
    table = table_of(dict.fromkeys("abcd", "integer"), rows, [])
    assert read(table, "c = 7") == (40, 40 + 20, 20)
    # four values of `a`, and under each of them three of `b`
    assert read(table, "b > 1 AND c = 7") == (24, 24 + 4 + 12, 4 + 12)
    assert read(table, "a >= 2 AND b = 3 AND c = 7 AND d = 1") == (2, 2 + 2, 2)


def test_strings_of_any_length_as_leading_values() -> None:
    """Texts that begin other texts are values of their own."""
    names = ["", "a", "a\x00", "a\x00b", "a\x01", "aa", "ab", "b", "é", None]
    rows = [(name, c) for name in names for c in range(200)]
    table = table_of({"s": "string", "c": "integer"}, rows, [])
    assert read(table, "c = 7") == (10, 10 + 10, 10)


def test_every_version_is_read_in_jumps() -> None:
    """Dropped partitions and rows of later versions are seen by jumps and are not part of the result."""
    rows = [(p, c) for p in range(20) for c in range(100)]
    before = table_of({"p": "integer", "c": "integer"}, rows, [])
    transaction = Transaction(before, "change")
    for p in range(0, 20, 2):
        transaction.drop((p, 7))
    transaction.append((3, 7), [file("more")])
    transaction.append((77, 7), [file("new")])
    after = commit(transaction)
    assert read(before, "c = 7")[0] == 20
    partitions, _, seeks = read(after, "c = 7")
    assert (partitions, seeks) == (11, 21)


def test_a_limit_ends_the_jumps(table: TableSnapshot) -> None:
    """A caller who wants three partitions pays for the first values only."""
    examined = Examined()
    plan = plan_scan(parse_filter("c = 5", table.key_schema.types), table.key_schema)
    assert len(list(table.partitions(plan, limit=3, examined=examined))) == 3
    assert examined.seeks == 4


def test_short_tables_are_read_in_order() -> None:
    """A table of some hundred partitions is read as a whole: jumps could not gain what they may cost."""
    rows = [(p, c) for p in range(4) for c in range(100)]
    table = table_of({"p": "integer", "c": "integer"}, rows, [])
    assert read(table, "c = 7") == (4, 4, 0)


def test_tables_of_many_versions_are_read_in_order() -> None:
    """Where partitions have many rows each, a scan skips the older rows, and counts of rows say little."""
    rows = [(p, c) for p in range(20) for c in range(100)]
    table = table_of({"p": "integer", "c": "integer"}, rows, [])
    assert read(table, "c = 7") == (20, 20 + 20, 20)
    many = msgspec.structs.replace(table.commit, next_ticket=4 * len(rows))
    again = TableSnapshot(table.store, table.id, "default", "t", many, table.metadata)
    assert read(again, "c = 7") == (20, 20, 0)


def test_a_store_that_finds_no_keys_is_read_in_order() -> None:
    """A store without counts and keys works as before."""
    rows = [(p, c) for p in range(20) for c in range(100)]
    table = table_of({"p": "integer", "c": "integer"}, rows, [], store=FaultyStore(MemoryStore()))
    assert read(table, "c = 7") == (20, 20, 0)


def test_entries_of_an_index_are_read_in_jumps(tmp_path: Path) -> None:
    """A condition that skips a column of an index jumps over that column's values."""
    rows = [(p, c, t) for p in range(100) for c in range(4) for t in range(10)]
    store = SQLiteStore(tmp_path / "metastore")
    table = create_index(table_of(dict.fromkeys("pct", "integer"), rows, [], store=store), ["c", "p"])
    index = find_index(table.metadata, "c_p")
    filter = parse_filter("c > 0 AND p = 7", table.key_schema.types)
    plan = plan_by_index(filter, table.key_schema, IndexOrder(index.name, index.id, index.order))
    examined = Examined()
    assert len(list(table.partitions(plan, examined=examined))) == 30
    assert (examined.keys, examined.seeks) == (3 + 30 + 30, 3)
    store.close()


def test_a_plan_that_is_run_says_how_many_seeks(tmp_path: Path) -> None:
    """The text and the dict of a plan have the seeks of a skip scan, and nothing of them without one."""
    store = SQLiteStore(tmp_path / "metastore")
    table_of(COLUMNS, ROWS, [], store=store)
    catalog = CatalogReader(Metastore(store, "/lake"))
    plan = catalog.plan("default.t", "c = 5", run=True)
    assert str(plan) == (
        "scan everything where c = 5\n204 partitions found, 238 keys examined (skip scan: 34 seeks)"
    )
    assert plan.to_dict()["seeks"] == plan.seeks == 34
    assert "seeks" not in catalog.plan("default.t", "p = 5", run=True).to_dict()
    catalog.close()
