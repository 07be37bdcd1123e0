"""Makes the metastore of format 4 beside this script: `metastore.sqlite`, `dump`, and `content.json`.

Run with a Parquetry that writes format 4, the last commit whose `FORMAT_VERSION` is 4, on its path:

    PYTHONPATH=…/src:… python tests/golden/format-4/make.py

The warehouse is `/golden`, which does not exist: locations below it are relative to it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from parquetry.metastore import (
    ArrangementSpec,
    ColumnStatistics,
    FileRecord,
    Metastore,
    SkewMap,
    TableColumn,
    TableMetadata,
    open_metastore,
)
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.format import entry_to_json, files_to_json, metadata_to_json
from parquetry.metastore.storage.model import Constraint, PartitionIndex, StreamBatch
from tests.support.tables.arrangements import full_view

HERE = Path(__file__).parent
ROOT = "/golden"
"""Where the warehouse is said to be."""


def content(metastore: Metastore) -> dict[str, Any]:
    """Return all that can be read: each version of each table, partition by partition, as dumps have it."""
    found: dict[str, Any] = {}
    for database in metastore.databases():
        found[database] = metastore.database(database).properties
        for name in (*metastore.tables(database), *metastore.views(database)):
            for commit in metastore.table(database, name, kind=None).history():
                version = metastore.table(database, name, version=commit.version, kind=None)
                found[f"{database}.{name} {commit.version}"] = {
                    "totals": msgspec.to_builtins(version.totals),
                    "streams": commit.streams,
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


def _fill(metastore: Metastore) -> None:
    """Make rows of each kind.

    They are locations, an index, a constraint, removed files, a view, long lists, tombstones, a stream and a
    rename.
    """
    metastore.create_database("d", {"location": f"file:{ROOT}/elsewhere"})
    metastore.create_table("default", "v", full_view())
    skew = SkewMap(("id",), ((1,),), True, (f"file:{ROOT}/one",))
    metadata = TableMetadata(
        (TableColumn("id", "long"), TableColumn("p", "integer"), TableColumn("q", "string")),
        ("p", "q"),
        "parquet",
        f"file:{ROOT}/elsewhere/t",
        arrangement=ArrangementSpec(skew),
        indexes=(PartitionIndex("q", "00000000000000aa", (1, 0), 1),),
        constraints=(Constraint("c", "check", "id > 0", enforced=True),),
    )
    table = metastore.create_table("d", "t", metadata)
    own = f"pq-{table.id.hex()}-"
    statistics = {"id": ColumnStatistics(8, 0, 1, 99)}
    transaction = table.begin("append")
    transaction.append((1, "a"), [FileRecord(f"{own}{n:04d}", n, 1, 7, statistics) for n in range(1200)])
    transaction.append((2, "b"), [FileRecord(f"{own}a", 1, 1)], f"file:{ROOT}/partition")
    transaction.append((3, "c"), [FileRecord("foreign", 1, 1, 7)], "file:/far/partition")
    transaction.append((5, "d"), [FileRecord("foreign", 1, 1, 7, statistics)])
    transaction.set_stream_batch(StreamBatch("query", 7))
    table = transaction.commit()
    transaction = table.begin("change")
    transaction.rename((2, "b"), (4, "b"))
    transaction.drop((5, "d"))
    transaction.commit()
    metastore.rename_table("d", "t", "default", "t")


def main() -> None:
    """Make all three anew."""
    shutil.rmtree(HERE / "dump", ignore_errors=True)
    (HERE / "metastore.sqlite").unlink(missing_ok=True)
    with open_metastore(ROOT, f"sqlite://{HERE.resolve()}/metastore.sqlite", create=True) as metastore:
        _fill(metastore)
        dump(metastore, HERE / "dump")
        text = json.dumps(content(metastore), indent=1, ensure_ascii=False)
    (HERE / "content.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
