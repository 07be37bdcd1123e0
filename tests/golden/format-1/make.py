"""Makes the metastore of format 1 beside this script: `metastore.sqlite`, `dump`, and `content.json`.

Run with a Parquetry that writes format 1, the last commit whose `FORMAT_VERSION` is 1, on its path:

    PYTHONPATH=…/src python tests/golden/format-1/make.py

The tables' locations are in `/golden`, which does not exist: no data file is needed to make their entries.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from pathlib import Path
from typing import Any

import msgspec

from parquetry.data_files.records import PHYSICAL_NAME
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.removed_files import files_removed
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.operations.indexes import create_index

HERE = Path(__file__).parent
ROOT = "/golden"
"""The folder of the tables' locations."""


def files_digest(files: tuple[FileRecord, ...]) -> str:
    """Return a hash of all that format 1 records of files."""
    plain = [
        (
            file.path,
            file.bytes,
            file.rows,
            file.modified,
            None
            if file.columns is None
            else [
                (name, each.size, each.nulls, each.min, each.max, each.min_exact, each.max_exact)
                for name, each in file.columns.items()
            ],
        )
        for file in files
    ]
    return hashlib.sha256(repr(plain).encode()).hexdigest()[:16]


def content(metastore: Metastore) -> dict[str, Any]:
    """Return all that can be read: databases, and each version of each table, partition by partition."""
    found: dict[str, Any] = {}
    for database in metastore.databases():
        found[database] = metastore.database(database).properties
        for name in metastore.tables(database):
            for commit in metastore.table(database, name).history():
                version = metastore.table(database, name, version=commit.version)
                found[f"{database}.{name} {commit.version}"] = _version(version)
    return found


def _version(table: TableSnapshot) -> dict[str, Any]:
    metadata, totals = table.metadata, table.totals
    return {
        "commit": [table.commit.operation, table.commit.summary, table.commit.ticket],
        "totals": [totals.partitions, totals.files, totals.bytes, totals.known_rows, totals.uncounted],
        "columns": msgspec.to_builtins(metadata.columns),
        "partition_by": list(metadata.partition_by),
        "descending": list(metadata.descending),
        "facts": [metadata.format, metadata.location, metadata.external, metadata.comment, metadata.owner],
        "properties": metadata.properties,
        "indexes": [[index.name, list(index.order), index.ready] for index in metadata.indexes],
        "partitions": [
            f"{table.describe(part.key)} in {part.location}: ticket {part.ticket}, {part.file_count} files, "
            f"{part.rows} rows, {part.bytes} bytes, {files_digest(part.files)}"
            for part in table.partitions()
        ],
        "taken_out": [
            [each.path, each.record.bytes, each.record.modified, each.ticket] for each in files_removed(table)
        ],
    }


def _file(name: str, low: int = 0, **other: ColumnStatistics) -> FileRecord:
    columns = {
        "id": ColumnStatistics(400, 0, low, low + 99),
        "old_name": ColumnStatistics(90, 3, "a", "z" * 64),
    }
    return FileRecord(name, 1000 + low, 100, 1_700_000_000_000 + low, {**columns, **other})


def _begin(metastore: Metastore, name: str, operation: str) -> Transaction:
    return metastore.table(*name.split(".")).begin(operation)


def _events(metastore: Metastore) -> None:
    """Make a table with every kind of change: overwritten, dropped, renamed, altered, files removed."""
    columns = (
        TableColumn("id", "long", False),
        TableColumn("old_name", "string", metadata={"comment": "as it was"}),
        TableColumn("day", "date"),
        TableColumn("region", "string"),
    )
    table = metastore.create_table(
        "default",
        "events",
        TableMetadata(
            columns,
            ("day", "region"),
            "parquet",
            f"{ROOT}/events",
            external=True,
            properties={"target-file-size": "64MB"},
            comment="é",
            owner="me",
            created_at=1_700_000_000_000,
            descending=(True, False),
        ),
    )
    own = f"pq-{table.id.hex()}-"
    transaction = _begin(metastore, "default.events", "append")
    for day in (19_000, 19_001):
        for region in ("eu", "us/west", None):
            transaction.append((day, region), [_file(f"{own}{day}-{region and region[:2]}", day % 7)])
    transaction.append((None, "eu"), [_file("theirs-0"), FileRecord("theirs-1", 7)])
    transaction.commit({"why": "to begin with"})
    transaction = _begin(metastore, "default.events", "overwrite")
    transaction.replace((19_000, "eu"), [_file("theirs-2", 5)])
    transaction.replace((None, "eu"), [_file(f"{own}new", 6)])
    transaction.commit()
    transaction = _begin(metastore, "default.events", "rename")
    transaction.rename((19_001, "us/west"), (19_001, "us"))
    transaction.add((19_002, "eu"), f"{ROOT}/elsewhere/19002", [_file("far", 8)])
    transaction.add((19_003, "eu"))
    transaction.commit()
    renamed = (columns[0], TableColumn("name", "string", metadata={PHYSICAL_NAME: "old_name"}), *columns[2:])
    transaction = _begin(metastore, "default.events", "alter")
    transaction.set_metadata(msgspec.structs.replace(transaction.base.metadata, columns=renamed))
    transaction.commit()
    create_index(metastore.table("default", "events"), ["region"])
    transaction = _begin(metastore, "default.events", "drop")
    transaction.drop((19_000, "eu"))
    transaction.drop((19_001, None))
    transaction.commit()


def _many(metastore: Metastore) -> None:
    """A partition with more files than its row lists, in several lists."""
    columns = (TableColumn("id", "long"), TableColumn("old_name", "string"), TableColumn("p", "integer"))
    table = metastore.create_table(
        "default", "many", TableMetadata(columns, ("p",), "parquet", f"{ROOT}/many")
    )
    for start in (0, 130, 131, 132):
        transaction = _begin(metastore, "default.many", "append")
        files = [
            _file(f"pq-{table.id.hex()}-{n:04d}", n) for n in range(start, start + (130 if not start else 1))
        ]
        transaction.append((1,), files)
        transaction.append((2,), files[:2], parameters={"kept": "by format 1"})
        transaction.commit()


def _typed(metastore: Metastore) -> None:
    """Partition columns of many types, with NULL in each, and statistics of every kind of value."""
    types = {"b": "boolean", "f": "double", "d": "decimal(10,2)", "t": "timestamp", "x": "binary"}
    columns = tuple(TableColumn(name, type) for name, type in {"v": "long", **types}.items())
    table = metastore.create_table(
        "default", "typed", TableMetadata(columns, tuple(types), "orc", f"{ROOT}/typed")
    )
    from decimal import Decimal

    transaction = _begin(metastore, "default.typed", "append")
    for n, row in enumerate(
        [
            (True, 1.5, Decimal("1.50"), 1_700_000_000_000_000, b"\x00\xff"),
            (False, math.nan, Decimal("-9.99"), -1, b"x"),
            (None, None, None, None, None),
        ]
    ):
        transaction.append(
            row,
            [
                _file(
                    f"pq-{table.id.hex()}-{n}.orc",
                    f=ColumnStatistics(7, 0, -math.inf, 1.0),
                    d=ColumnStatistics(7, 1, "1.50", "99.00"),
                    b=ColumnStatistics(7, None, b"\x00\xff", b"\xff", True, False),
                    t=ColumnStatistics(None, 3, False, True),
                    n=ColumnStatistics(),
                )
            ],
        )
    transaction.commit()


def _unpartitioned(metastore: Metastore) -> None:
    """Tables without partition columns: renamed into another database, replaced, dropped."""
    plain = TableMetadata((TableColumn("id", "long"),), (), "orc", f"{ROOT}/orders")
    metastore.create_database("sales", {"comment": "shop", "location": f"{ROOT}/shop"})
    metastore.create_table("default", "first", plain)
    transaction = _begin(metastore, "default.first", "append")
    transaction.append((), [FileRecord("/absolute/file.orc", 11, 1), FileRecord("hdfs://h:1/b.orc", 12, 2)])
    transaction.commit()
    metastore.rename_table("default", "first", "sales", "orders.2024")
    for comment in ("one", "two"):
        metadata = msgspec.structs.replace(plain, location=f"{ROOT}/replaced-{comment}", comment=comment)
        staged = metastore.stage_table("sales", "replaced", metadata)
        transaction = staged.begin("create")
        transaction.append((), [FileRecord(comment, 5, 1)])
        transaction.commit()
        staged.publish(replace=True)
    metastore.create_table("sales", "gone", msgspec.structs.replace(plain, location=f"{ROOT}/gone"))
    metastore.drop_table("sales", "gone")


def main() -> None:
    """Make all three anew."""
    for made in ("dump", "_parquetry"):
        shutil.rmtree(HERE / made, ignore_errors=True)
    store = f"sqlite://{HERE.resolve()}/metastore.sqlite"
    (HERE / "metastore.sqlite").unlink(missing_ok=True)
    with open_metastore(ROOT, store, create=True) as metastore:
        for fill in (_events, _many, _typed, _unpartitioned):
            fill(metastore)
        dump(metastore, HERE / "dump")
        text = json.dumps(content(metastore), indent=1, ensure_ascii=False)
    (HERE / "content.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
