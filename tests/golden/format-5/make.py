"""Makes the metastore of format 5 beside this script: `metastore.sqlite` and `content.json`.

Run with a Parquetry that writes format 5, the last commit whose `FORMAT_VERSION` is 5, on its path:

    PYTHONPATH=…/src:. python tests/golden/format-5/make.py

The warehouse is `/golden`; no data file exists. `docs/stored-format.md` shows rows of it byte by byte. Ids
are random, so after a new run `tests/unit/stored_format/test_page.py` fails until the page shows the new
rows.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from parquetry.data_files.records import PHYSICAL_NAME
from parquetry.metastore import (
    ArrangementSpec,
    AutoSkew,
    BucketSpec,
    ColumnStatistics,
    FileRecord,
    Metastore,
    SkewMap,
    SortColumn,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.replacement import Replacement
from parquetry.metastore.dumps.format import entry_to_json, files_to_json, metadata_to_json
from parquetry.metastore.operations.history import rollback
from parquetry.metastore.operations.indexes import create_index
from parquetry.metastore.storage.model import Constraint, StreamBatch
from tests.support.stores.metastores import Crash, FaultyStore
from tests.support.tables.arrangements import full_view

HERE = Path(__file__).parent
ROOT = "/golden"
"""Where the warehouse is said to be."""
MODIFIED = 1_764_000_000_000


def content(metastore: Metastore) -> dict[str, Any]:
    """Return all that can be read: each version of each table, partition by partition, as dumps have it."""
    found: dict[str, Any] = {}
    for database in metastore.databases():
        found[database] = metastore.database(database).properties
        for name in (*metastore.tables(database), *metastore.views(database)):
            for made in metastore.table(database, name, kind=None).history():
                version = metastore.table(database, name, version=made.version, kind=None)
                found[f"{database}.{name} {made.version}"] = {
                    "totals": msgspec.to_builtins(version.totals),
                    "streams": made.streams,
                    "metadata": metadata_to_json(version.metadata),
                    "partitions": [
                        [
                            version.describe(part.key),
                            part.location,
                            entry_to_json(part.entry),
                            _digest(part.files),
                        ]
                        for part in version.partitions()
                    ],
                }
    return found


def _digest(files: Iterable[FileRecord]) -> str:
    return hashlib.sha256(json.dumps(files_to_json(files)).encode()).hexdigest()[:16]


def _begin(metastore: Metastore, name: str, operation: str) -> Transaction:
    return Transaction(metastore.table("shop", name), operation)


def _sales(metastore: Metastore) -> None:
    """Make the small table of the page.

    It is appended to, overwritten and dropped from, with a renamed column, an index and a removed file.
    """
    columns = (
        TableColumn("id", "long", False),
        TableColumn("buyer", "string", metadata={"comment": "e-mail"}),
        TableColumn("day", "date"),
        TableColumn("region", "string"),
    )
    table = metastore.create_table(
        "shop",
        "sales",
        TableMetadata(
            columns, ("day", "region"), "parquet", f"file:{ROOT}/shop.db/sales", created_at=MODIFIED
        ),
    )
    own = f"pq-{table.id.hex()}-"

    def sold(name: str, low: int) -> FileRecord:
        statistics = {
            "id": ColumnStatistics(400, 0, low, low + 99),
            "buyer": ColumnStatistics(900, 3, "ann@example.org", "zoe@example.org"),
        }
        return FileRecord(name, 2000, 100, MODIFIED, statistics)

    transaction = _begin(metastore, "sales", "append")
    transaction.append((20_500, "eu"), [sold(f"{own}1-0", 0)])
    transaction.append((20_500, None), [sold(f"{own}1-1", 100)])
    transaction.append((20_501, "a/b"), [sold("theirs.parquet", 200), FileRecord("no-footer.parquet", 7)])
    commit(transaction, {"why": "example"})
    transaction = _begin(metastore, "sales", "overwrite")
    transaction.replace((20_501, "a/b"), [sold(f"{own}2-0", 300)])
    commit(transaction)
    columns = (columns[0], TableColumn("customer", "string", metadata={PHYSICAL_NAME: "buyer"}), *columns[2:])
    transaction = _begin(metastore, "sales", "alter")
    transaction.set_metadata(msgspec.structs.replace(transaction.base.metadata, columns=columns))
    commit(transaction)
    transaction = _begin(metastore, "sales", "drop")
    transaction.drop((20_500, None))
    commit(transaction)
    create_index(metastore.table("shop", "sales"), ["region"])


def _typed(metastore: Metastore) -> None:
    """Make tables with partition columns of every type, in both directions, with NULL in each.

    Some partitions are elsewhere, and one is renamed.
    """
    types = {
        "b": "boolean", "i8": "byte", "i16": "short", "i32": "integer", "i64": "long", "f": "float", "g": "double",
        "d": "decimal(10,2)", "s": "string", "c": "char(3)", "vc": "varchar(5)", "x": "binary", "day": "date",
        "t": "timestamp", "n": "timestamp_ntz",
    }  # fmt: skip
    rows: list[tuple[Any, ...]] = [
        (True, -1, 300, 70_000, 1 << 40, 1.5, -2.25, Decimal("1.50"), "a\x01b/é", "a  ", "v", b"x\x01",
         20_500, 1_764_000_000_123_456, -1),
        (False, 127, -300, -1, -1, math.inf, math.nan, Decimal("-9.99"), "=%", "abc", "w ", b"ab", -1, 0, 86_400_000_000),
        (None,) * len(types),
        (True, 0, 0, 0, 0, 0.0, 1e10, Decimal("0.00"), "0", "0  ", "0", b"0", 0, 0, 0),
        (False, 1, 1, 1, 1, 0.1, 0.001, Decimal("12345678.90"), "z", "z  ", "z", b"z", 1, 1_000_000, 10),
    ]  # fmt: skip
    columns = tuple(TableColumn(name, kind) for name, kind in {"v": "long", **types}.items())
    for name, descending in (("typed", ()), ("down", (True,) * len(types))):
        metadata = TableMetadata(
            columns,
            tuple(types),
            "orc",
            f"{ROOT}/{name}",
            external=True,
            properties={"a": "b"},
            comment="é",
            owner="me",
            descending=descending,
        )
        table = metastore.create_table("shop", name, metadata)
        transaction = Transaction(table, "append")
        for number, row in enumerate(rows):
            location = (None, None, f"file:{ROOT}/aside/{number}", "s3://far/partition", None)[number]
            transaction.append(row, [FileRecord(f"pq-{table.id.hex()}-{number}.orc", number, 1)], location)
        commit(transaction)
        transaction = _begin(metastore, name, "rename")
        transaction.rename(rows[4], (True, *rows[4][1:]))
        commit(transaction)


def _statistics(number: int) -> dict[str, ColumnStatistics]:
    """Return statistics of each kind of value; some of them are unknown."""
    every = {
        "i": ColumnStatistics(8, 0, number, number + 99),
        "wide": ColumnStatistics(8, None, -(1 << 60) + number, 1 << 60),
        "f": ColumnStatistics(8, 1, -math.inf if number % 3 == 0 else number / 4, float(number)),
        "s": ColumnStatistics(900 + number, number, f"a{number}", "z", True, False),
        "d": ColumnStatistics(9, 0, f"{number}.50", "99999.00"),
        "x": ColumnStatistics(9, 0, b"\x00\xff", b"\xff", number % 2 == 0, False),
        "b": ColumnStatistics(1, 0, False, number % 2 == 0),
        "none": ColumnStatistics(),
    }
    if number % 5 == 1:
        del every["f"]
        every["s"] = ColumnStatistics(900, 17)
        every["i"] = ColumnStatistics(8, 100)
    return every


def _long(metastore: Metastore) -> None:
    """Lists of files that are too long for their partition's row, with others behind them."""
    types = {
        "i": "long", "wide": "long", "f": "double", "s": "string", "d": "decimal(10,2)", "x": "binary", "b": "boolean",
        "none": "string", "p": "integer",
    }  # fmt: skip
    columns = tuple(TableColumn(name, kind) for name, kind in types.items())
    table = metastore.create_table(
        "shop", "long", TableMetadata(columns, ("p",), "parquet", f"{ROOT}/shop.db/long")
    )
    own = f"pq-{table.id.hex()}-"
    for start, count in ((0, 1020), (1020, 40), (1060, 3)):
        transaction = _begin(metastore, "long", "append")
        files = [
            FileRecord(
                f"{own}{number:05d}.parquet",
                1000 + number,
                None if number == 7 else 100,
                None if number % 7 == 0 else MODIFIED + number,
                None if number % 11 == 0 else _statistics(number),
            )
            for number in range(start, start + count)
        ]
        transaction.append((1,), files)
        if not start:
            transaction.append((2,), [FileRecord(f"{own}\0{n}", n, 1) for n in range(620)])
            same = ColumnStatistics(8, 0, 5, 5)
            transaction.append((3,), [FileRecord(f"{own}{n}", 1, 1, 1, {"i": same}) for n in range(500)])
        transaction.set_stream_batch(StreamBatch("query", start))
        commit(transaction)
    transaction = _begin(metastore, "long", "drop")
    transaction.drop((3,))
    commit(transaction)


def _clicks(metastore: Metastore) -> None:
    """The long list of the page, of a table without partition columns: its second part has three files."""
    columns = (TableColumn("id", "long"), TableColumn("page", "string"))
    metadata = TableMetadata(columns, (), "parquet", f"file:{ROOT}/shop.db/clicks")
    table = metastore.create_table("shop", "clicks", metadata)
    transaction = Transaction(table, "append")
    files = [
        FileRecord(
            f"pq-{table.id.hex()}-{number:04d}.parquet",
            2000 + number,
            10,
            None if number == 1001 else MODIFIED + number,
            {
                "id": ColumnStatistics(80, 0, 10 * number, 10 * number + 9),
                "page": ColumnStatistics(90, number - 1000 if number > 1000 else 0, "/a", f"/z{number}"),
            },
        )
        for number in range(1003)
    ]
    transaction.append((), files)
    commit(transaction)


def _arranged(metastore: Metastore) -> None:
    """List bucketing, buckets and sort orders; long lists of files with cells, and heavy values that grew."""
    columns = (
        TableColumn("x", "long"),
        TableColumn("name", "string", metadata={PHYSICAL_NAME: "was"}),
        TableColumn("price", "decimal(9,2)"),
        TableColumn("p", "integer"),
    )
    skew = SkewMap(("x", "price"), ((10, Decimal("1.50")), (None, None)), True, (f"file:{ROOT}/heavy", None))
    buckets = BucketSpec(("was",), 4, 2, (SortColumn("x", descending=True),))
    metastore.create_table(
        "shop",
        "arranged",
        TableMetadata(
            columns,
            ("p",),
            "parquet",
            f"{ROOT}/shop.db/arranged",
            arrangement=ArrangementSpec(SkewMap(("x",), (), True, auto=AutoSkew(0.125, 7))),
            constraints=(Constraint("c", "check", "x > 0", enforced=True),),
            dropped=(("gone",),),
        ),
    )
    transaction = _begin(metastore, "arranged", "append")
    own = f"pq-{transaction.base.id.hex()}-"
    arrangement = ArrangementSpec(skew, buckets)
    transaction.append(
        (1,),
        [
            FileRecord(f"file:{ROOT}/heavy/{own}0", 10, 1, cell=0, bucket=3, sorted=True),
            FileRecord(f"x=__HIVE_DEFAULT_PARTITION__/{own}1", 11, 1, cell=1, bucket=0),
            FileRecord(f"rest/{own}2", 12, 1, cell=-1),
            FileRecord(f"rest/{own}3", 13, 1, rest_of=1),
            FileRecord(f"{own}4", 14),
        ],
        arrangement=arrangement,
    )
    many = [
        FileRecord(
            f"{own}{n:04d}", n, 1, n, None, None if n % 4 == 3 else n % 4 - 1, n % 4, n % 2 == 0,
            1 if n % 8 == 3 else None,
        )
        for n in range(700)
    ]  # fmt: skip
    transaction.append((2,), many, arrangement=arrangement)
    sort = (SortColumn("x"), SortColumn("was", descending=True))
    transaction.append(
        (3,), [FileRecord(f"{own}s", 9, 1, sorted=True)], arrangement=ArrangementSpec(sort=sort)
    )
    transaction.append((4,), [FileRecord("theirs", 9)], arrangement=ArrangementSpec())
    commit(transaction)


def _replaced(metastore: Metastore) -> None:
    """REPLACE TABLE with other partition columns, and a rollback to before it."""
    first = TableMetadata(
        (TableColumn("v", "long"), TableColumn("p", "string")), ("p",), "parquet", f"{ROOT}/shop.db/replaced"
    )
    table = metastore.create_table("shop", "replaced", first)
    transaction = Transaction(table, "append")
    transaction.append(("a",), [FileRecord("foreign", 1, 1, 7)])
    transaction.append(("b",), [FileRecord(f"pq-{table.id.hex()}-0", 2, 2)])
    commit(transaction)
    columns = (TableColumn("w", "string"), TableColumn("q", "integer"), TableColumn("r", "integer"))
    second = msgspec.structs.replace(first, columns=columns, partition_by=("q", "r"))
    replacement = Replacement(metastore.table("shop", "replaced"), second)
    transaction = Transaction(replacement.snapshot, "replace")
    transaction.append((1, 2), [FileRecord(f"pq-{table.id.hex()}-1", 3, 3)])
    commit(transaction)
    replacement.make_visible()
    transaction = _begin(metastore, "replaced", "append")
    transaction.append((None, 3), [FileRecord(f"pq-{table.id.hex()}-2", 4, 4)])
    commit(transaction)
    metastore.create_table("shop", "back", first)
    transaction = _begin(metastore, "back", "append")
    transaction.append(("a",), [])
    commit(transaction)
    replacement = Replacement(metastore.table("shop", "back"), second)
    replacement.make_visible()
    rollback(metastore.table("shop", "back"), metastore.table("shop", "back", version=1))


def _names(metastore: Metastore) -> None:
    """Tables without partitions, renamed into another database, dropped; a view; commits that died."""
    plain = TableMetadata((TableColumn("id", "long"),), (), "orc", f"file:{ROOT}/orders")
    metastore.create_table("default", "first", plain)
    transaction = Transaction(metastore.table("default", "first"), "append")
    transaction.append((), [FileRecord("/absolute/a.orc", 11, 1), FileRecord(f"file:{ROOT}/b/c.orc", 12, 2)])
    commit(transaction)
    metastore.rename_table("default", "first", "shop", "orders.2024")
    metastore.create_table("shop", "gone", msgspec.structs.replace(plain, location=f"{ROOT}/gone"))
    metastore.drop_table("shop", "gone")
    metastore.create_table("default", "v", full_view())
    for crash_at in (5, 6, 7):
        faulty = FaultyStore(metastore.store.rows)
        broken = Metastore(faulty, ROOT)
        transaction = Transaction(broken.table("shop", "sales"), "append")
        transaction.append((20_500, "eu"), [FileRecord("never seen", 1, 1)])
        transaction.append((20_777, "eu"), [FileRecord("never seen", 1, 1)])
        faulty.crash_at = crash_at
        try:
            commit(transaction)
        except Crash:
            continue


def fill(metastore: Metastore) -> None:
    """Write rows of each kind."""
    metastore.create_database("shop", {"location": f"file:{ROOT}/shop.db", "comment": "é"})
    for some in (_sales, _typed, _long, _clicks, _arranged, _replaced, _names):
        some(metastore)


def main() -> None:
    """Make both anew."""
    (HERE / "metastore.sqlite").unlink(missing_ok=True)
    with open_metastore(ROOT, f"sqlite://{HERE.resolve()}/metastore.sqlite", create=True) as metastore:
        fill(metastore)
        text = json.dumps(content(metastore), indent=1, ensure_ascii=False)
    (HERE / "content.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
