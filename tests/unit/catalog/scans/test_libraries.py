"""Polars, DuckDB and PyArrow's datasets read a scan: their own conditions choose the files."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import parquetry
from parquetry.catalog import Catalog
from parquetry.catalog.scans import polars_frames
from parquetry.catalog.scans.arrow_expressions import read_expression
from parquetry.catalog.scans.polars_frames import read_predicate
from parquetry.data_files import TableColumn
from parquetry.errors import ConfigurationError, NamespaceNotFoundError, TableNotFoundError, UnsupportedError
from tests.support.readers.opened_files import record_opened_files
from tests.support.readers.written_tables import WrittenTable

NAN = float("nan")
COLUMNS = (
    TableColumn("id", "long"),
    TableColumn("name", "string"),
    TableColumn("real", "double"),
    TableColumn("amount", "decimal(9,2)"),
    TableColumn("moment", "timestamp"),
    TableColumn("day", "date"),
)


def part(first: int) -> pa.Table:
    ids = list(range(first, first + 10))
    return pa.table(
        {
            "id": ids,
            "name": [f"n{number:03}" for number in ids],
            "real": [NAN if number % 10 == 0 else number / 2 for number in ids],
            "amount": pa.array([Decimal(number) for number in ids], pa.decimal128(9, 2)),
            "moment": pa.array([number * 1_000_000 for number in ids], pa.timestamp("us", "UTC")),
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> WrittenTable:
    """Ids 0 to 39 on day 0, 100 to 139 on day 1, 200 to 239 on no day; ten in each file."""
    written = WrittenTable(tmp_path, COLUMNS, ("day",))
    for number, day in enumerate((0, 1, None)):
        written.add((day,), *(part(number * 100 + file * 10) for file in range(4)))
    return written


@pytest.fixture
def lake(table: WrittenTable) -> Iterator[Catalog]:
    with parquetry.open(table.warehouse) as catalog:
        yield catalog


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened from now on."""
    return record_opened_files(monkeypatch)


@pytest.mark.parametrize(
    ("condition", "rows", "files"),
    [
        (pl.col("id") == 5, 1, 1),
        ((pl.col("id") >= 15) & (pl.col("day") == dt.date(1970, 1, 1)), 25, 3),
        (pl.col("id").is_in([3, 104, 999]), 2, 2),
        (pl.col("name").is_in(["n003", "n203"]), 2, 2),
        (pl.col("day").is_in([dt.date(1970, 1, 2)]), 40, 4),
        (pl.col("day").is_null() & (pl.col("name") > "n229"), 10, 1),
        ((pl.col("id") < 5) | (pl.col("id") > 235), 9, 2),
        (~(pl.col("id") > 9), 10, 1),
        ((pl.col("id") % 2 == 0) & (pl.col("id") < 10), 5, 1),
        (pl.lit(5) == pl.col("id"), 1, 1),
        (pl.col("real") > 118.5, 14, 12),  # NaN, which may be in any file, is the greatest
        (pl.col("id").cast(pl.String) == "7", 1, 12),
    ],
    ids=str,
)  # fmt: skip
def test_conditions_of_polars_choose_files(
    lake: Catalog, opened: list[str], condition: pl.Expr, rows: int, files: int
) -> None:
    """A predicate comes back to the planner, and Polars has the rows that it has of the whole table."""
    frame = lake.scan("shop.t").to_polars()
    found = frame.filter(condition).select("id").collect()
    assert (found.height, len(opened)) == (rows, files)
    whole = pl.from_arrow(lake.scan("shop.t").to_arrow())
    assert isinstance(whole, pl.DataFrame)
    assert sorted(whole.filter(condition)["id"]) == sorted(found["id"])


def test_polars_takes_columns_and_few_rows(lake: Catalog, opened: list[str]) -> None:
    """`head` reads one file; a length needs no column; the types are the same as in an eager frame."""
    frame = lake.scan("shop.t").to_polars()
    assert frame.head(3).collect().height == 3
    assert len(opened) == 1
    assert frame.select(pl.len()).collect().item() == 120
    assert frame.collect_schema() == pl.DataFrame(lake.scan("shop.t")).schema
    assert frame.filter(pl.col("id") > 5).head(2).collect().height == 2
    limited = lake.scan("shop.t", limit=5).to_polars()
    assert limited.filter(pl.col("id") >= 0).collect().height == 5


@pytest.mark.parametrize(
    ("condition", "rows", "files"),
    [
        ("id = 5", 1, 1),
        ("id >= 15 AND day = DATE '1970-01-01'", 25, 3),
        ("id IN (3, 104, 999, 1000)", 2, 2),
        ("day IS NULL AND name > 'n229'", 10, 1),
        ("id < 5 OR id > 235", 9, 2),
        ("amount < 3.50", 4, 12),  # DuckDB keeps conditions on decimals to itself
        ("moment < TIMESTAMP '1970-01-01 00:00:05'", 5, 1),
        ("name LIKE 'n00%'", 10, 1),
        ("id % 2 = 0 AND id < 10", 5, 1),
        ("real > 118.5", 14, 12),
        ("id IN (SELECT 7)", 1, 1),
    ],
)
def test_conditions_of_duckdb_choose_files(
    lake: Catalog, opened: list[str], condition: str, rows: int, files: int
) -> None:
    """Filters of DuckDB reach the planner, also the values of a join. NaN is the greatest there, too."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        relation = lake.scan("shop.t").to_duckdb(connection)
        found = relation.query("t", f"SELECT id FROM t WHERE {condition}").fetchall()
        whole = lake.scan("shop.t").to_arrow()  # noqa: F841 - DuckDB reads it by its name
        connection.execute("CREATE TABLE own AS FROM whole")
        assert len(found) == rows
        assert len(opened) == files + 12
        assert sorted(found) == connection.sql(f"SELECT id FROM own WHERE {condition} ORDER BY 1").fetchall()


@pytest.mark.parametrize("limit", [None, 6])
@pytest.mark.parametrize(
    "condition",
    [
        "f > 1",
        "f >= 'inf'",
        "f < 'nan'",
        "f IN (0, 1, 7, 'nan')",
        "f = -0.0 AND id >= 0",
        "NOT f <= 1",
        "s.g > 1",
        "s.g = 0",
        "s.g >= 'inf' AND id > 0 AND f >= 0",
        "s.t.h > 1 AND i IS NOT NULL",
        "s.t.h IS NULL AND f > 0",
    ],
)
def test_floats_of_duckdb_have_its_order(tmp_path: Path, condition: str, limit: int | None) -> None:
    """NaN is the greatest, and -0.0 equals 0.0: in columns, in fields, beside an interval, below a limit."""
    floats = [1.0, NAN, -1.0, -0.0, 0.0, None, float("inf"), 7.0]
    structs = [None if value is None else {"g": value, "t": {"h": value}} for value in reversed(floats)]
    rows = pa.table(
        {
            "id": range(8),
            "f": pa.array(floats),
            "i": pa.array([*range(7), None], pa.duration("us")),
            "s": pa.array(structs, pa.struct([("g", pa.float64()), ("t", pa.struct([("h", pa.float64())]))])),
        }
    )
    fields = [{"name": "h", "type": "double", "nullable": True, "metadata": {}}]
    inner = {"name": "t", "type": {"type": "struct", "fields": fields}, "nullable": True, "metadata": {}}
    outer = {"name": "g", "type": "double", "nullable": True, "metadata": {}}
    columns = (
        TableColumn("id", "long"),
        TableColumn("f", "double"),
        TableColumn("i", "interval day to second"),
        TableColumn("s", {"type": "struct", "fields": [outer, inner]}),
    )
    written = WrittenTable(tmp_path, columns, ())
    stored = rows.set_column(2, "i", rows["i"].cast(pa.int64()))
    written.add((), stored.slice(0, 4), stored.slice(4))
    with parquetry.open(written.warehouse) as catalog, duckdb.connect() as connection:
        scan = catalog.scan("shop.t") if limit is None else catalog.scan("shop.t").limit(limit)
        whole = scan.to_arrow()  # noqa: F841 - DuckDB reads it by its name
        connection.execute("CREATE TABLE own AS FROM whole")
        found = (
            scan.to_duckdb(connection)
            .query("t", f"SELECT id FROM t WHERE {condition} ORDER BY id")
            .fetchall()
        )
        assert found == connection.sql(f"SELECT id FROM own WHERE {condition} ORDER BY id").fetchall()


def test_a_query_names_tables(lake: Catalog, opened: list[str]) -> None:
    """`query` finds tables by database and name, also under a catalog, beside CTEs and DuckDB's own."""
    sql = """
        WITH few AS (SELECT 5 AS id)
        SELECT t.id, u.day FROM shop.t JOIN few USING (id) JOIN lake.shop.t u ON u.id = t.id, range(1)
    """
    assert lake.query(sql).fetchall() == [(5, dt.date(1970, 1, 1))]
    assert len(opened) < 24
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE names AS SELECT 7 AS id, 'seven' AS word")
        joined = lake.query('SELECT word FROM names JOIN "shop"."T" USING (id)', connection)
        assert joined.fetchall() == [("seven",)]
        lake.query("SELECT 1 FROM lake.shop.t LIMIT 1", connection)
        assert connection.sql("SELECT count(*) FROM shop.t WHERE id < 3").fetchall() == [(3,)]


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("SELECT * FROM shop.none", TableNotFoundError, "shop.none"),
        ("SELECT * FROM nowhere.t", NamespaceNotFoundError, "nowhere"),
        ("SELECT * FROM nowhere", UnsupportedError, "nowhere"),
        ("SELECT nope FROM shop.t", UnsupportedError, "nope"),
        ("SELEKT (", UnsupportedError, "no SQL of DuckDB"),
        ("SELEC 1", UnsupportedError, r"Col: 7\.\s+SELEC 1$"),
        ("DELETE FROM shop.t", UnsupportedError, "only read here"),
        ("CREATE TABLE x (i INT)", UnsupportedError, "has no rows"),
    ],
)
def test_queries_that_cannot_run(lake: Catalog, sql: str, error: type[Exception], message: str) -> None:
    """Names and texts that do not fit are named in one sentence."""
    with pytest.raises(error, match=message):
        lake.query(sql)


def test_a_dataset_has_the_planned_files(lake: Catalog) -> None:
    """PyArrow finds partition values, NULL among them, and reads the files that remain."""
    dataset = lake.scan("shop.t").to_dataset()
    assert len(list(dataset.get_fragments(filter=pc.field("day") == dt.date(1970, 1, 2)))) == 4
    assert dataset.to_table(filter=pc.field("day").is_null()).num_rows == 40
    names = ["id", "name", "amount", "moment", "day"]
    assert dataset.to_table(names).equals(lake.scan("shop.t", columns=names).to_arrow())
    assert lake.scan("shop.t", "day = DATE '1970-01-01'", ["id"]).to_dataset().count_rows() == 40
    assert lake.scan("shop.t", "id < 20", ["id"]).to_dataset().count_rows() == 20
    assert lake.scan("shop.t", "id < 0").to_dataset().count_rows() == 0


def test_a_dataset_of_other_rows_is_refused(lake: Catalog, tmp_path: Path) -> None:
    """A condition or limit within files, a rename, a default and a CHAR are named, with the remedy."""
    refusals: dict[str, Callable[[], Any]] = {
        "only a part satisfies id <": lambda: lake.scan("shop.t", "id < 15").to_dataset(),
        "a limit of 5": lambda: lake.scan("shop.t", limit=5).to_dataset(),
    }
    columns = [
        TableColumn("id", "long"),
        TableColumn("new", "long", metadata={"parquetry.physical": "old"}),
        TableColumn("five", "long", metadata={"EXISTS_DEFAULT": "5"}),
        TableColumn("c", "char(3)"),
        TableColumn("Word", "string"),
    ]
    other = WrittenTable(tmp_path / "other", columns)
    other.add((), pa.table({"id": [1], "old": [2], "c": ["x"], "word": ["w"]}))
    with parquetry.open(other.warehouse) as second:
        refusals |= {
            "new is old in the files": lambda: second.scan("shop.t", columns=["new"]).to_dataset(),
            "it has a default": lambda: second.scan("shop.t", columns=["five"]).to_dataset(),
            "Column c of the file": lambda: second.scan("shop.t", columns=["c"]).to_dataset(),
            "reads other values of word": lambda: second.scan("shop.t", columns=["Word"]).to_dataset(),
        }
        for message, refused in refusals.items():
            with pytest.raises(UnsupportedError, match=message):
                refused()
        assert second.scan("shop.t", columns=["id"]).to_dataset().to_table().to_pylist() == [{"id": 1}]


@pytest.mark.parametrize("name", ["polars", "duckdb", "pandas"])
def test_a_missing_library_names_its_extra(lake: Catalog, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each library is an extra of its own, which the error names."""
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigurationError, match=rf"pip install 'parquetry\[{name}\]'"):
        getattr(lake.scan("shop.t"), f"to_{name}")()


SCHEMA = pa.schema([("a", pa.int32()), ("s", pa.string()), ("f", pa.float64()), ("d", pa.date32()), ("t", pa.timestamp("us", "UTC")), ("n", pa.decimal128(9, 2)), ("b", pa.bool_()), ("w", pa.decimal128(38, 2)), ("i", pa.duration("us")), ("o", pa.struct([("x", pa.string()), ("p", pa.struct([("q", pa.float64())]))]))])  # fmt: skip
LONG = Decimal("-123456789012345678901234567890.12")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (pc.field("a") == 1, "a = 1"),
        (pc.scalar(1) < pc.field("a"), "a > 1"),
        ((pc.field("a") >= -5) & (pc.field("s") != 'x"y'), "a >= -5 AND s != 'x\"y'"),
        (~((pc.field("f") < 1.5) | pc.field("s").is_null()), "NOT (f < 1.5 OR s IS NULL)"),
        (pc.field("a").isin([1, 2]), "a IN (1, 2)"),
        (pc.field("s").is_valid(), "s IS NOT NULL"),
        (pc.field("d") == dt.date(2024, 2, 29), "d = DATE '2024-02-29'"),
        (pc.field("n") <= pa.scalar(Decimal("1.50"), pa.decimal128(9, 2)), "n <= 1.50"),
        (pc.field("w") == pa.scalar(LONG, pa.decimal128(38, 2)), f"w = {LONG}"),
        (pc.field("b") == True, "b = true"),  # noqa: E712 - an expression
        (
            (pc.field("a") == 1) & (pc.field("o", "p", "q") > 1.5) & (pc.field("o", "x") == "y"),
            "a = 1; o.p.q > 1.5 AND o.x = 'y'",
        ),
        (pc.field("o", "p", "q").is_null() | (pc.field("a") > 1), "None; (o.p.q IS NULL OR a > 1)"),
        ((pc.field("a") == 1) & (pc.add(pc.field("a"), 1) == 2), "not read"),
        (pc.field("a").isin([1, None]), "not read"),
        (pc.field("i") == pa.scalar(1, pa.duration("us")), "not read"),
    ],
    ids=str,
)
def test_expressions_of_arrow_are_read(expression: pc.Expression, text: str) -> None:
    """The conditions on columns and those on fields of structs are the whole filter."""
    read = read_expression(expression, SCHEMA)
    assert read is None if text == "not read" else read is not None
    if read is not None:
        of_columns, _, of_fields = text.partition("; ")
        assert (str(read.of_columns), str(read.of_fields)) == (
            of_columns,
            of_fields or "None",
        )


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (pl.col("a") == 1, "a = 1"),
        ((pl.col("a") > 1) & (pl.col("s") == "x'y") & (pl.col("a") + 1 > 2), "a > 1 AND s = 'x''y'"),
        (pl.col("s").is_in(["x", "y"]), "s IN ('x', 'y')"),
        (~pl.col("s").is_null() | (pl.col("f") <= 1.5), "s IS NOT NULL OR f <= 1.5"),
        (pl.col("d") >= dt.date(2024, 2, 29), "d >= DATE '2024-02-29'"),
        (pl.col("s").str.starts_with("x"), "None"),
        ((pl.col("a") == 1) | (pl.col("a") + 1 > 2), "None"),
    ],
    ids=str,
)
def test_predicates_of_polars_are_read(predicate: pl.Expr, text: str) -> None:
    """The condition is true wherever the predicate is; Polars tests the predicate itself."""
    assert str(read_predicate(predicate)) == text


def test_small_batches_are_one_frame_of_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame has at least the rows that are worth one, and no batch is left out."""
    monkeypatch.setattr(polars_frames, "_ROWS_PER_FRAME", 10)
    batches = [pa.record_batch({"id": list(range(count))}) for count in (3, 4, 5, 20, 1, 0)]
    given = [[batch.num_rows for batch in some] for some in polars_frames._gather(iter(batches))]
    assert given == [[3, 4, 5], [20], [1, 0]]
    assert list(polars_frames._gather(iter([]))) == []
