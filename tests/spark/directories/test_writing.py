"""Each row of a write is in the directory that its partition's own map names, in as few files as possible."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession, functions as sf

from parquetry import metastore as ms
from parquetry.errors import ArrangementError
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.types import parse_type
from tests.support.stores.rivals import meanwhile
from tests.support.tables.bucketed_tables import local_view
from tests.support.tables.skewed_tables import arrange, files_by_cell, misplaced

Rows = Callable[[str], list[tuple[Any, ...]]]
COLUMNS = {
    "s": "string", "x": "double", "f": "float", "m": "decimal(9,2)", "b": "binary", "d": "date", "ts": "timestamp",
    "n": "timestamp_ntz", "c": "char(4)", "v": "varchar(9)", "i": "int", "y": "tinyint", "t": "boolean", "l": "bigint",
}  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "s": ["", "a", "A", "a/b", "k=v", "100%", "%2F", "it's", '"q"', " ", "a b", "é", "日本", "__HIVE_DEFAULT_PARTITION__",
          "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME", "\\", "\t", "x" * 300],
    "x": [float("nan"), 0.0, -0.0, 1.5, float("inf"), 1e300],
    "f": [float("nan"), 0.0, 0.10000000149011612, -float("inf")],
    "m": [Decimal("1.50"), Decimal("0.00"), Decimal("-9999999.99")],
    "b": [b"", b"\x00\xff", b"a"],
    "d": [0, -1, 19782, 2932896],
    "ts": [0, -1_000_000, 1_700_000_000_123_456],
    "n": [0, -1_000_000, 1_700_000_000_123_456],
    "c": ["ab  ", "    ", "abcd"],
    "v": ["", "ab", "ab "],
    "i": [0, -5, 2147483647],
    "y": [-128, 7],
    "t": [True, False],
    "l": [-(2**63), 10],
}  # fmt: skip
TYPES = {name: parse_type(type) for name, type in COLUMNS.items()}


def literal(name: str, value: Any) -> str:
    """Return a value as Spark's SQL reads it, written otherwise than the library does."""
    if value is None:
        return f"CAST(NULL AS {COLUMNS[name]})"
    match COLUMNS[name]:
        case "date":
            return f"date_add(DATE '1970-01-01', {value})"
        case "timestamp":
            return f"timestamp_micros({value}L)" if value > -(2**63) else ""
        case "timestamp_ntz":
            return f"CAST(timestamp_micros({value}) AS TIMESTAMP_NTZ)"  # in a session in UTC
        case "binary":
            return f"unhex('{value.hex()}')"
        case "double" | "float":
            return f"{COLUMNS[name]}('{value}')"
        case "boolean":
            return str(value)
        case "bigint":
            return f"bigint('{value}')"
    if isinstance(value, str):
        return f"CAST(unhex('{value.encode().hex()}') AS STRING)"
    return f"CAST('{value}' AS {COLUMNS[name]})"


def some_map(random_: random.Random) -> ms.SkewMap:
    """Return a map over one to three columns, in any order, with up to eight cells, NULL in some of them."""
    columns = random_.sample(sorted(COLUMNS), random_.randint(1, 3))
    pool = {name: [None, *VALUES[name]] for name in columns}
    cells = []
    for _ in range(random_.randint(0, 8)):
        cell = tuple(random_.choice(pool[name]) for name in columns)
        try:
            ms.SkewMap(tuple(columns), (*cells, cell))
        except ArrangementError:
            continue  # it is in the map already
        cells.append(cell)
    return ms.SkewMap(tuple(columns), tuple(cells), directories=True)


def source(random_: random.Random, count: int) -> list[dict[str, Any]]:
    """Return rows of values that the maps name, NULLs among them."""
    return [{name: random_.choice([None, *pool]) for name, pool in VALUES.items()} for _ in range(count)]


@pytest.mark.parametrize(
    ("fmt", "seed"),
    [
        ("parquet", 1),
        pytest.param(
            "orc",
            2,
            marks=pytest.mark.exhaustive("test_histories writes directories of ORC files, too"),
        ),
    ],
)
def test_every_row_lies_where_its_partitions_map_says(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, fmt: str, seed: int
) -> None:
    """Each of 12 partitions with its own map, over any columns and values, keeps its map
    through two appends.
    """
    random_ = random.Random(seed)
    columns = ", ".join(f"{name} {type}" for name, type in COLUMNS.items())
    spark.sql(f"CREATE TABLE {db}.t ({columns}, id int, p int) USING {fmt} PARTITIONED BY (p)")
    name = f"{db.removeprefix('lake.')}.t"
    own = {p: ms.ArrangementSpec(some_map(random_)) for p in range(12)}
    table = store.table(*name.split("."))
    transaction = Transaction(table, "make")
    for p, arrangement in own.items():
        transaction.add((p,), arrangement=arrangement)
    commit(transaction)
    tables = some_map(random_)
    arrange(store, name, tables)
    given = source(random_, 400)
    values = [
        f"({', '.join(literal(key, row[key]) for key in COLUMNS)}, {i}, {i % 14})"
        for i, row in enumerate(given)
    ]
    names = ", ".join([*COLUMNS, "id", "p"])
    local_view(spark.sql(f"SELECT * FROM VALUES {', '.join(values)} AS v ({names})"), "given")
    spark.sql(f"INSERT INTO {db}.t SELECT * FROM given WHERE id < 200")
    spark.sql(f"INSERT INTO {db}.t SELECT * FROM given WHERE id >= 200")
    table = store.table(*name.split("."))
    assert list(misplaced(table)) == []
    for part in table.partitions():
        (p,) = part.values
        assert part.arrangement == own.get(p, ms.ArrangementSpec(tables)), p
        assert all(file.cell is not None for file in part.files)
    assert max(max(counts.values()) for counts in files_by_cell(table).values()) == 2
    assert rows(f"SELECT * FROM {db}.t EXCEPT ALL SELECT * FROM given") == []
    assert rows(f"SELECT count(*), sum(id) FROM {db}.t") == [(400, 79800)]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql(f"INSERT OVERWRITE {db}.t SELECT * FROM given WHERE p < 3")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 3) SELECT * EXCEPT (p) FROM given WHERE p = 3")
    spark.table("given").where("p = 4").writeTo(f"{db}.t").overwrite(sf.expr("p = 4"))
    table = store.table(*name.split("."))
    assert list(misplaced(table)) == []
    for part in table.partitions():
        (p,) = part.values
        assert part.arrangement == (own[p] if 5 <= p < 12 else ms.ArrangementSpec(tables)), p
    assert rows(f"SELECT count(*), sum(id) FROM {db}.t") == [(400, 79800)]
    spark.sql(f"INSERT OVERWRITE {db}.t SELECT * FROM given")
    table = store.table(*name.split("."))
    assert list(misplaced(table)) == []
    assert table.totals.all_arranged(ms.ArrangementSpec(tables))
    assert rows(f"SELECT * FROM given EXCEPT ALL SELECT * FROM {db}.t") == []


def test_histories(spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, tmp_path: Path) -> None:
    """A change of the table's map applies to partitions made after it; writes use the locations that a map
    names.
    """
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(f"CREATE TABLE {db}.t (id bigint, x int, Y string, p int) PARTITIONED BY (p)")
    insert = (
        f"INSERT INTO {db}.t SELECT id, if(id % 2 = 0, 10, cast(id % 50 AS int)), if(id % 3 = 0, 'a', NULL), "
    )
    maps = [
        None,
        ms.SkewMap(("x",), ((10,), (20,)), directories=True, locations=(f"file:{tmp_path}/ten", None)),
        ms.SkewMap(("x",), ((10,),)),
        ms.SkewMap(("Y", "x"), (("a", 10), (None, 10), ("zz", 1)), directories=True),
        ms.SkewMap(("x",), (), directories=True),
    ]
    for p, skew in enumerate(maps):
        arrange(store, name, skew)
        spark.sql(f"{insert} {p} FROM range(0, 1000, 1, 4)")
    spark.sql(f"{insert} cast(id % {len(maps)} AS int) FROM range(1000, 2000, 1, 4)")
    table = store.table(*name.split("."))
    assert list(misplaced(table)) == []
    assert {part.values[0]: part.arrangement.skew for part in table.partitions()} == dict(enumerate(maps))
    assert files_by_cell(table) == {
        (0,): {None: 2},
        (1,): {-1: 2, 0: 2},  # no value is 20
        (2,): {None: 2},
        (3,): {-1: 2, 0: 2, 1: 2},
        (4,): {-1: 2},
    }
    assert len(list((tmp_path / "ten").glob("*.parquet"))) == 2
    assert rows(f"SELECT count(*), sum(id) FROM {db}.t") == [(6000, 5 * 499500 + 1499500)]
    assert rows(f"SELECT count(*) FROM {db}.t WHERE x = 10 AND p IN (1, 3)") == [(1200,)]
    spark.sql(
        f"INSERT OVERWRITE {db}.t PARTITION (p = 1) SELECT 1, 10, 'a' WHERE false"
    )  # made anew, though empty
    part = store.table(*name.split(".")).partition((1,))
    assert part is not None
    assert (part.file_count, part.arrangement.skew) == (0, maps[4])
    plain = f"{db}.u"
    spark.sql(f"CREATE TABLE {plain} (id bigint, x int) USING orc")
    arrange(store, plain.removeprefix("lake."), ms.SkewMap(("x",), ((None,), (3,)), directories=True))
    for _ in range(2):
        spark.sql(f"INSERT INTO {plain} SELECT id, nullif(cast(id % 4 AS int), 0) FROM range(100)")
    table = store.table(*plain.removeprefix("lake.").split("."))
    assert list(misplaced(table)) == []
    assert files_by_cell(table) == {(): {-1: 2, 0: 2, 1: 2}}
    spark.sql(f"CREATE TABLE {db}.v TBLPROPERTIES ('sort-by' = 'x') AS SELECT * FROM {plain}")
    assert rows(f"SELECT x, count(*) FROM {db}.v GROUP BY x ORDER BY x") == [
        (None, 50),
        (1, 50),
        (2, 50),
        (3, 50),
    ]


def test_partitions_of_any_key_keep_their_own(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore
) -> None:
    """Partitions are distinguished by values of any type, also NULL and NaN; a renamed column stays in the
    map.

    A column may have the name that the writer uses itself.
    """
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(
        f"CREATE TABLE {db}.t (`Parquetry.Cell` bigint, x int, a string, b double, c timestamp, d char(3), e binary) "
        "PARTITIONED BY (a, b, c, d, e)"
    )
    keys = (
        "(NULL, double('NaN'), NULL, NULL, NULL), ('', 2.5D, TIMESTAMP'1969-12-31 23:59:58.5', 'a', X''), "
        "('x/y=%', NULL, TIMESTAMP'2024-05-06 07:08:09.123456', 'abc', X'6162'), "
        "('__HIVE_DEFAULT_PARTITION__', 1e300D, NULL, 'é', X'C3A9')"
    )
    source = f"SELECT id, cast(id % 3 AS int), k.* FROM range({{}}, {{}}), VALUES {keys} AS k (a, b, c, d, e)"
    old, new = (ms.SkewMap(("x",), cells, directories=True) for cells in (((0,), (1,)), ((2,),)))
    arrange(store, name, old)
    spark.sql(f"INSERT INTO {db}.t {source.format(0, 30)}")
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN x TO weight")
    arrange(store, name, new)
    spark.sql(f"INSERT INTO {db}.t {source.format(30, 60)} UNION ALL SELECT 60, 2, 'new', 0, NULL, 'z', NULL")
    table = store.table(*name.split("."))
    assert list(misplaced(table)) == []
    found = {part.values[0]: part.arrangement.skew for part in table.partitions() if part.rows == 1}
    assert found == {"new": new}
    found = {part.values: part.arrangement.skew for part in table.partitions() if part.rows != 1}
    assert len(found) == 4
    assert set(found.values()) == {old}
    assert all(
        counts == {-1: 2, 0: 2, 1: 2} for values, counts in files_by_cell(table).items() if values in found
    )
    assert rows(f"SELECT count(*), sum(`parquetry.cell`), sum(weight) FROM {db}.t") == [
        (241, 4 * 1770 + 60, 4 * 60 + 2)
    ]

    many = ms.SkewMap(("weight",), tuple((n,) for n in range(300)), directories=True)
    spark.sql(f"CREATE TABLE {db}.u (weight int)")
    arrange(store, f"{db.removeprefix('lake.')}.u", many)
    spark.sql(f"INSERT INTO {db}.u SELECT cast(id * 29 AS int) FROM range(12)")
    table = store.table(*f"{db.removeprefix('lake.')}.u".split("."))
    assert list(misplaced(table)) == []
    assert files_by_cell(table)[()] == {**{n * 29: 1 for n in range(11)}, -1: 1}


def test_files_are_as_many_as_their_sizes_need(spark: SparkSession, db: str, store: ms.Metastore) -> None:
    """A heavy value larger than a file is spread over tasks and gets several files; a light one, and the
    rest, get one.
    """
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(
        f"CREATE TABLE {db}.t (id bigint, s string, x int, p int) PARTITIONED BY (p) "
        "TBLPROPERTIES ('target-file-size' = '128kb')"
    )
    arrange(store, name, ms.SkewMap(("x",), ((1,), (2,), (3,)), directories=True))
    spark.range(0, 60_000, 1, 6).selectExpr(
        "id",
        "sha1(cast(id AS STRING))",
        "CASE WHEN id < 48000 THEN 1 WHEN id < 49000 THEN 2 WHEN id < 50000 THEN 3 ELSE cast(id % 1000 AS INT) + 9 END",
        "cast(id % 2 AS INT)",
    ).toDF("id", "s", "x", "p").writeTo(f"{db}.t").append()
    table = store.table(*name.split("."))
    for part in table.partitions():
        counts: Counter[int | None] = Counter()
        sizes: Counter[int | None] = Counter()
        tasks: dict[int | None, set[str]] = {}
        for file in part.files:
            counts[file.cell] += 1
            sizes[file.cell] += file.bytes
            tasks.setdefault(file.cell, set()).add(file.path.rpartition("/")[2].split("-")[3])
        assert (counts[1], counts[2]) == (1, 1)
        assert len(tasks[0]) >= 4
        for cell in (0, -1):
            assert 0.6 * sizes[cell] / 131072 <= counts[cell] <= 1.9 * sizes[cell] / 131072 + 1
    assert list(misplaced(table)) == []


def test_another_writer_changes_the_map_meanwhile(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, warehouse: Path
) -> None:
    """Rows written for a map that was replaced conflict, and leave no file; rows without a cell
    are appended.
    """
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(f"CREATE TABLE {db}.t (id bigint, x int, p int) PARTITIONED BY (p)")
    folder = Path(store.table(*name.split(".")).metadata.location.removeprefix("file:"))
    for before, after in ((((1,),), ((2,),)), (((1,),), None), (None, ((1,),))):
        old, new = (None if cells is None else ms.SkewMap(("x",), cells, True) for cells in (before, after))
        arrange(store, name, old)
        spark.sql(f"INSERT OVERWRITE {db}.t SELECT id, 1, 7 FROM range(10)")

        def change(new: ms.SkewMap | None = new) -> None:
            arrange(store, name, new)
            spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 7) SELECT id, 2 FROM range(3)")

        with meanwhile(change):
            if before is None:
                spark.sql(f"INSERT INTO {db}.t SELECT id, 1, 7 FROM range(100, 110)")
            else:
                with pytest.raises(AnalysisException, match="PARQUETRY_COMMIT_CONFLICT"):
                    spark.sql(f"INSERT INTO {db}.t SELECT id, 1, 7 FROM range(100, 110)")
        table = store.table(*name.split("."))
        (part,) = table.partitions()
        assert part.arrangement.skew == new
        spark.sql(f"REFRESH TABLE {db}.t")
        assert rows(f"SELECT count(*) FROM {db}.t") == [(13 if before is None else 3,)]
        if before is None:
            assert Counter(file.cell for file in part.files) == {None: 1, -1: 1}
        spark.sql(
            f"CALL lake.system.vacuum(table => '{name}', older_than => current_timestamp(), allow_recent => true)"
        )
        assert len(list(folder.rglob("*.parquet"))) == part.file_count


def test_a_failed_write_leaves_nothing(
    spark: SparkSession, db: str, store: ms.Metastore, tmp_path: Path
) -> None:
    """A failing task leaves neither file nor directory, with cells here and elsewhere, and with heavy values
    measured or not.
    """
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(
        f"CREATE TABLE {db}.t (id bigint, x int, p int) PARTITIONED BY (p) LOCATION '{tmp_path}/t' "
        "TBLPROPERTIES ('target-file-size' = '16kb')"
    )
    for skew in (
        ms.SkewMap(("x",), ((1,), (2,)), True, (None, f"file:{tmp_path}/far")),
        ms.SkewMap(("x",), (), True, auto=ms.AutoSkew(0.1, 4)),
    ):
        arrange(store, name, skew)
        failing = sf.expr("if(id = 39999, raise_error('boom at 39999'), id)")
        with pytest.raises(PySparkException, match="boom at 39999"):
            spark.range(0, 40_000, 1, 8).select(
                failing, sf.expr("cast(id % 4 AS int)"), sf.lit(1)
            ).write.insertInto(f"{db}.t")
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
        assert list(store.table(*name.split(".")).partitions()) == []
