"""When heavy keys are joined apart, and which keys are heavy."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from parquetry.joins.plan.skew_joins import (
    SKEW_LIMITS,
    SkewFacts,
    SkewSplit,
    choose_sides,
    refuse_cost,
    refuse_shape,
)
from parquetry.joins.runtime.candidates import Build
from parquetry.joins.scans.heavy_keys import HeavyKeys, find_heavy_keys
from parquetry.metastore import (
    ArrangementSpec,
    ColumnStatistics,
    FileRecord,
    Metastore,
    SkewMap,
    TableColumn,
    TableMetadata,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore

MB = 1 << 20
FACTS = SkewFacts(
    "INNER",
    "left",
    own=Build("lake.db.f", "k", size=400 * MB, cost=400 * MB),
    other=Build("lake.db.d", "k", size=200 * MB, cost=200 * MB, rows=10_000_000),
    bytes=400 * MB,
)
KEYS = HeavyKeys(("k",), ((10,), (20,)), (6_000_000, 4_000_000), 20_000_000)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"type": "FULL OUTER"}, "Spark broadcasts neither side of a FULL OUTER JOIN"),
        ({"hinted": True}, "the query has a hint for the join"),
        ({"broadcast": True}, "Spark broadcasts a side, so nothing is shuffled"),
        ({"bucketed": True}, "both sides are in buckets by the keys, so nothing is shuffled"),
        (
            {"other": replace(FACTS.other, unrepeatable="a LIMIT")},
            "lake.db.d is read twice, and a LIMIT may give other rows the second time",
        ),
        (
            {"own": replace(FACTS.own, deterministic=False)},
            "lake.db.f is read twice, and what it computes may give other rows the second time",
        ),
    ],
)
def test_shapes_that_stay(change: dict[str, object], reason: str | None) -> None:
    """A join without a shuffle or with a hint stays, and so does one with a side of other rows each time."""
    assert refuse_shape(replace(FACTS, **change), "auto") == reason  # type: ignore[arg-type]


def test_settings_of_shapes() -> None:
    """`always` joins apart in spite of buckets, never in spite of a hint; `off` never does."""
    assert refuse_shape(replace(FACTS, bucketed=True), "always") is None
    assert refuse_shape(replace(FACTS, hinted=True), "always") is not None
    assert refuse_shape(FACTS, "off") == "skew-join is off"


@pytest.mark.parametrize(
    ("shares", "chosen"),
    [
        ([0.3, 0.5], [False, True]),
        ([0.5, 0.3], [True, False]),
        ([0.5, 0.5], [True, False]),
        ([None, 0.1], [False, True]),
        ([None, None], [True, False]),
        (["few", 0.1], [False, True]),
        (["few", "few"], [False, False]),
    ],
)
def test_the_side_whose_keys_are_heavier_is_divided(
    shares: list[float | str | None], chosen: list[bool]
) -> None:
    """The side whose heavy keys have the greater share of its rows is divided; other joins keep their
    decisions.
    """
    splits = [
        SkewSplit(reason="few") if each == "few" else SkewSplit(["k"], [["1"]], each)  # type: ignore[arg-type]
        for each in shares
    ]
    other = SkewSplit(["k"], [["2"]], 0.2)
    found = choose_sides([1, 0, 1], [splits[0], other, splits[1]])
    assert [bool(found[0].values), bool(found[2].values)] == chosen
    assert found[1] == other
    assert [each.reason for each in (found[0], found[2])] == [each.reason for each in splits]


@pytest.mark.parametrize(
    ("facts", "keys", "matching", "reason"),
    [
        (FACTS, KEYS, 2, None),
        (
            FACTS,
            replace(KEYS, rows=(1_000_000, 900_000)),
            2,
            "2 heavy keys of lake.db.f have 10% of its rows, less than 20%",
        ),
        (replace(FACTS, bytes=8 * MB), KEYS, 2, "the heavy rows of lake.db.f have 4.2 MB, less than 8.4 MB"),
        (
            FACTS,
            KEYS,
            5_000_000,
            "the rows of lake.db.d for the heavy keys have 105 MB, too much for a broadcast",
        ),
        (
            FACTS,
            KEYS,
            None,
            "as their rows are not counted, all rows of lake.db.d for the heavy keys have 210 MB, too much for a broadcast",
        ),
        (
            replace(FACTS, other=replace(FACTS.other, size=None)),
            KEYS,
            2,
            "the size of lake.db.d is not known",
        ),
        (
            replace(FACTS, other=replace(FACTS.other, cost=2_000 * MB)),
            KEYS,
            2,
            "to read 2.1 GB twice costs as much as to shuffle the 210 MB of heavy rows",
        ),
        (
            FACTS,
            replace(KEYS, rows=None),
            2,
            "to read 629 MB twice costs as much as to shuffle the 210 MB of heavy rows",
        ),
        (
            replace(FACTS, other=replace(FACTS.other, cost=300 * MB)),
            replace(KEYS, rows=None),
            2,
            "to read 734 MB twice costs as much as to shuffle the 210 MB of heavy rows",
        ),
    ],
)
def test_costs(facts: SkewFacts, keys: HeavyKeys, matching: int | None, reason: str | None) -> None:
    """It pays for many heavy rows with few matches, if reading twice costs less than their shuffle."""
    assert refuse_cost(facts, keys, matching, "auto") == reason
    assert refuse_cost(facts, keys, matching, "always") is None


COLUMNS = (
    TableColumn("k", "integer"),
    TableColumn("s", "string"),
    TableColumn("f", "double"),
    TableColumn("p", "integer"),
)


def scan(
    files: list[FileRecord], skew: SkewMap | None = None, columns: tuple[str, ...] = ("k",)
) -> HeavyKeys | None:
    """Return the heavy keys of a table with some files in one partition."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(
        COLUMNS, ("p",), "parquet", "/lake/db.db/t", arrangement=ArrangementSpec(skew=skew)
    )
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    transaction.replace((1,), files, arrangement=ArrangementSpec(skew=skew))
    snapshot = commit(transaction)
    selection = select_files(snapshot, [], about=set(columns))
    return find_heavy_keys(
        snapshot.metadata, selection, columns, min_share=SKEW_LIMITS.key_share, most=SKEW_LIMITS.values
    )


def file(path: str, rows: int, **columns: ColumnStatistics) -> FileRecord:
    return FileRecord(path, 100, rows, columns=columns)


def test_keys_are_counted_by_files_of_one_key() -> None:
    """Rows of files with one value, without NULL, are counted; other files and light values say nothing."""
    keys = scan(
        [
            file("a", 500, k=ColumnStatistics(10, 0, 7, 7)),
            file("b", 200, k=ColumnStatistics(10, 0, 7, 7)),
            file("c", 300, k=ColumnStatistics(10, 0, 9, 9)),
            file("d", 900, k=ColumnStatistics(10, 0, 1, 99)),
            file("e", 80, k=ColumnStatistics(10, 3, 8, 8)),
            file("f", 20, k=ColumnStatistics(10, 0, 5, 5)),
            file("g", 50, k=ColumnStatistics(10, 50, None, None)),
        ]
    )
    assert keys == HeavyKeys(("k",), ((7,), (9,)), (700, 300), 2050)
    assert keys is not None
    assert keys.share == 1000 / 2050


def test_keys_of_several_columns_and_of_partitions() -> None:
    """The skewed columns count together, and each column alone; a partition has one value."""
    skew = SkewMap(("k", "s"), ((7, "a"),), directories=True)
    files = [
        file("a", 500, k=ColumnStatistics(10, 0, 7, 7), s=ColumnStatistics(10, 0, "a", "a")),
        file("b", 500, k=ColumnStatistics(10, 0, 1, 9), s=ColumnStatistics(10, 0, "a", "z")),
    ]
    both = scan(files, skew, ("k", "s"))
    assert both is not None
    assert (both.rows, both.total) == ((500,), 1000)
    assert scan(files, skew, ("k", "p")) == HeavyKeys(("p",), ((1,),), (1000,), 1000)
    assert scan([file("a", 5, f=ColumnStatistics(10, 0, 1.0, 1.0))], None, ("f",)) is None


def test_declared_keys_without_directories() -> None:
    """Declared values without NULL count without directories, if the join has all of their columns."""
    plain = [file("a", 900, k=ColumnStatistics(10, 0, 1, 99), s=ColumnStatistics(10, 0, "a", "z"))]
    skew = SkewMap(("k", "s"), ((7, "a"), (8, None)))
    assert scan(plain, skew, ("k", "s")) == HeavyKeys(("k", "s"), ((7, "a"),), None, 900)
    assert scan(plain, skew, ("k",)) is None
    assert scan(plain, None, ("k",)) is None
