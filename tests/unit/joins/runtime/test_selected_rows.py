"""Statistics estimate the rows of a dimension that conditions keep, and the value clustering of files."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from parquetry.joins.runtime.estimates import estimate_rows, spread
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate.nodes import And, Compare, In, IsNull, Not, Or, Predicate
from parquetry.prune.select import Selection, select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import parse_type
from tests.support.tables.statistics import exact

INT, STRING, MONEY = parse_type("int"), parse_type("string"), parse_type("decimal(7,2)")
COLUMNS = (
    TableColumn("year", "integer"),
    TableColumn("month", "integer"),
    TableColumn("price", "decimal(7,2)"),
    TableColumn("name", "string"),
    TableColumn("rate", "double"),
    TableColumn("p", "integer"),
)
YEARS = (exact(10, 0, 1900, 1999), exact(10, 0, 2000, 2099))
MONTHS = (exact(10, 0, 1, 12),) * 2


def days(*files: FileRecord, **properties: str) -> TableSnapshot:
    """Return a table of 24,000 days in two files: 200 years, twelve months; or of these files."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    table = metastore.create_table(
        "db", "t", TableMetadata(COLUMNS, ("p",), "parquet", "/lake/t", properties=properties)
    )
    transaction = Transaction(table, "append")
    prices = exact(10, 0, Decimal(0), Decimal(100))
    default = tuple(
        FileRecord(f"{n}.parquet", 1000, 12_000, 1, {"year": YEARS[n], "month": MONTHS[n], "price": prices})
        for n in range(2)
    )
    transaction.append((1,), files or default)
    return commit(transaction)


def whole(table: TableSnapshot) -> Selection:
    return select_files(table, [], ())


def year(op: str, value: int) -> Compare:
    return Compare(op, "year", value, INT)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([], 24_000),
        ([year("=", 2000)], 120),
        ([year("=", 2000), Compare("=", "month", 3, INT)], 10),
        ([And((year(">=", 2000), year("<=", 2001)))], 240),
        ([year(">=", 2000), year(">=", 2090)], 1200),
        ([year("<", 1900 - 7)], 0),
        ([In("year", (1999, 2000, 2001), INT)], 360),
        ([In("year", (1900, 2099), INT), year(">=", 2000)], 240),
        ([Compare("<=", "price", Decimal(25), MONEY)], 6000),
        ([Compare("=", "name", "a", STRING)], 24_000),
        ([Or((year("=", 2000), year("=", 2001)))], 24_000),
        ([Not(IsNull("year"))], 24_000),
        ([Compare("=", "p", 1, INT)], 24_000),
    ],
)
def test_rows_that_conditions_leave(asked: list[Predicate], expected: int) -> None:
    """The estimate takes values as uniform and columns as independent.

    A condition that it does not understand keeps all rows.
    """
    table = days()
    assert estimate_rows(table.metadata, whole(table), asked) == expected


def test_what_is_not_known_leaves_all() -> None:
    """A condition leaves all rows of a file without statistics, and none of a file of NULLs alone."""
    plain = FileRecord("a.parquet", 10, 100, 1, {"year": exact(10, 0, 2000, 2009)})
    bare = FileRecord("b.parquet", 10, 100)
    empty = FileRecord("c.parquet", 10, 100, 1, {"year": exact(10, 100, None, None)})
    table = days(plain, bare)
    assert estimate_rows(table.metadata, whole(table), [year("=", 2000)]) == 110
    assert spread(table.metadata, whole(table), "year") is None
    table = days(plain, empty)
    assert estimate_rows(table.metadata, whole(table), [year("=", 2000)]) == 10


def test_how_far_values_lie_apart() -> None:
    """The clustering is the average range of a file's values, as a fraction of the whole range.

    A partition column has one value in each file; a type without distances has no clustering.
    """
    table = days()
    assert spread(table.metadata, whole(table), "year") == pytest.approx((99 / 199, 199, False))
    assert spread(table.metadata, whole(table), "month") == (1, 11, False)
    assert spread(table.metadata, whole(table), "price") == (1, 10_000, False)
    assert spread(table.metadata, whole(table), "p") == (0, 0, False)
    assert spread(table.metadata, whole(table), "name") is None
    rates = days(FileRecord("a.parquet", 10, 100, 1, {"rate": exact(10, 0, 0.0, 0.5)}))
    assert spread(rates.metadata, whole(rates), "rate") == (1, math.inf, False)
    many = days(
        *(
            FileRecord(f"{n}.parquet", 10, 5, 1, {"year": exact(10, 0, n * 10, n * 10 + 5)})
            for n in range(300)
        )
    )
    assert spread(many.metadata, whole(many), "year") == pytest.approx((5 / 2995, 2995, False))


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, (False, False)),
        ({"sort-by": "MONTH, name"}, (False, True)),
        (
            {"sort-by": "year", "parquet.block.row.count.limit": "5", "bloom-filter-columns": "month"},
            (True, False),
        ),
        ({"parquet.block.row.count.limit": "5"}, (True, True)),
        ({"sort-by": "month DESC"}, (True, True)),
    ],
)
def test_parts_of_files_span_less_of_what_these_are_sorted_by(
    properties: dict[str, str], expected: tuple[bool, bool]
) -> None:
    """Only the columns of `sort-by` count as sorted within files.

    An invalid `sort-by` lets any column count. So do properties for writing files if there is no `sort-by`.
    """
    table = days(**properties)
    found = [spread(table.metadata, whole(table), column) for column in ("year", "month")]
    assert tuple(each is not None and each.laid_out for each in found) == expected
