"""A warehouse to look at: tables with some history, small files, an uneven partition and odd names; no Spark.

Its metastore is real, and its data files are not there: the page opens none.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from parquetry.metastore import (
    Author,
    ColumnStatistics,
    Door,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    Transaction,
    author_of_commits,
    commit,
    open_metastore,
)
from parquetry.ui.survey import Survey

ODD_TABLE = "<script>alert(1)"
"""A name that markup would be made of, if somewhere it were not escaped."""
FIRST_DAY = 20_454
"""2026-01-01, in days since 1970."""
_DAY = TableColumn("day", "date")


def make_lake(folder: Path, days: int = 120) -> Metastore:
    """Make a warehouse in a folder.

    Args:
        folder: of the warehouse.
        days: partitions of the largest table, for each of its four regions.
    """
    metastore = open_metastore(str(folder), create=True)
    for database in ("shop", "web"):
        metastore.create_database(database)
    _orders(metastore, days)
    _visits(metastore)
    _customers(metastore)
    _odd(metastore)
    return metastore


def _create(
    metastore: Metastore,
    database: str,
    name: str,
    columns: Sequence[TableColumn],
    by: Sequence[str],
    **more: object,
) -> Transaction:
    location = metastore.table_location(database, name)
    metadata = TableMetadata(tuple(columns), tuple(by), "parquet", location, **more)  # type: ignore[arg-type]
    return Transaction(metastore.create_table(database, name, metadata), "append")


def _file(name: str, size: int, rows: int | None, lowest: int, highest: int) -> FileRecord:
    bounds = ColumnStatistics(size // 3, 0, lowest, highest)
    return FileRecord(f"{name}.parquet", size, rows, columns={"id": bounds})


def _orders(metastore: Metastore, days: int) -> None:
    """A table of days and regions that grows by a commit a week, with a hot partition and a few deletions."""
    chance = random.Random(7)
    columns = [
        TableColumn("id", "long", nullable=False, metadata={"comment": "of the order"}),
        TableColumn("customer", "long"),
        TableColumn("amount", "decimal(12,2)"),
        TableColumn("note", "string"),
        _DAY,
        TableColumn("region", "string"),
    ]
    change = _create(
        metastore, "shop", "orders", columns, ("day", "region"),
        comment="One row for each order", owner="sales", properties={"target-file-size": "134217728", "s3.secret-key": "hunter2"},
    )  # fmt: skip
    number = 0
    for day in range(days):
        season = 1 + 0.6 * math.sin(day / 18) + (1.8 if day % 30 > 26 else 0)
        for region, share in (("ap", 0.4), ("eu", 1.0), ("sa", 0.15), ("us", 1.6)):
            hot = 40 if (day, region) == (77, "us") else 1
            rows = int(120_000 * season * share * hot * chance.uniform(0.85, 1.15))
            pieces = 14 if day >= days - 12 else max(1, rows * 48 // (128 << 20))
            files = []
            for piece in range(pieces):
                part = rows // pieces
                files.append(
                    _file(f"{number:06}-{piece}", part * 48, part, number * 1000, number * 1000 + part)
                )
            change.append((FIRST_DAY + day, region), files)
            number += 1
        if day % 7 == 6 or day == days - 1:
            _commit(change, "ingest", "INSERT INTO lake.shop.orders SELECT * FROM staged_orders")
            change = Transaction(metastore.table("shop", "orders"), "append")
    for day in (3, days // 3, days // 2):
        deletion = Transaction(metastore.table("shop", "orders"), "delete")
        kept = int(90_000 * chance.uniform(0.5, 0.9))
        deletion.replace((FIRST_DAY + day, "eu"), [_file(f"rest-{day}", kept * 48, kept, 0, kept)])
        _commit(
            deletion,
            "anna",
            f"DELETE FROM lake.shop.orders WHERE day = '{_date(day)}' AND customer = 4711",
        )


def _date(day: int) -> str:
    return (date(2026, 1, 1) + timedelta(day)).isoformat()


def _commit(change: Transaction, user: str, statement: str) -> None:
    author = Author(user, "sql", "application_1764490000000_0042", "nightly-load", statement)
    with author_of_commits(Door(author)):
        commit(change)


def _visits(metastore: Metastore) -> None:
    """A table of many small files, adopted without statistics."""
    columns = [TableColumn("id", "long"), TableColumn("url", "string"), TableColumn("hour", "integer")]
    change = _create(metastore, "web", "visits", columns, ("hour",))
    for hour in range(24):
        files = [FileRecord(f"v{hour}-{n}.parquet", 310_000 + 900 * n, None) for n in range(40)]
        change.append((hour,), files)
    _commit(change, "web", "CALL lake.system.sync('web.visits')")


def _customers(metastore: Metastore) -> None:
    columns = [TableColumn("id", "long"), TableColumn("name", "string")]
    change = _create(metastore, "shop", "customers", columns, ())
    change.append(
        (), [_file(f"c{n}", 96 << 20, 1_250_000, n * 1_250_000, (n + 1) * 1_250_000 - 1) for n in range(4)]
    )
    _commit(change, "crm", "CREATE TABLE lake.shop.customers AS SELECT * FROM crm.customers")


def _odd(metastore: Metastore) -> None:
    columns = [TableColumn("id", "long"), TableColumn("<b>p</b>", "string")]
    change = _create(
        metastore, "web", ODD_TABLE, columns, ("<b>p</b>",), comment="<img src=x onerror=alert(1)>"
    )
    for value in ("<i>a</i>", "\"'&", None, "Zürich"):
        change.append((value,), [_file("x", 5_000, 100, 0, 99)])
    _commit(change, "<u>eve</u>", "INSERT INTO t VALUES ('<script>alert(2)</script>')")


def make_uneven(times: int) -> Survey:
    """Return a survey of ten partitions of 100 MB; the fourth has so many times as much."""
    metadata = TableMetadata(
        (TableColumn("p", "integer"), TableColumn("x", "integer")), ("p",), "parquet", "/lake/t"
    )
    change = Transaction(open_metastore("/lake", "memory").create_table("default", "t", metadata), "append")
    for number in range(10):
        size = 100_000_000 * (times if number == 3 else 1)
        change.append((number,), [FileRecord("f.parquet", size, 1)])
    return Survey(commit(change))
