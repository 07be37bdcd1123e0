"""Makes the metastore of format 2 beside this script: `metastore.sqlite`, `dump`, and `content.json`.

Run with a Parquetry that writes format 2, the last commit whose `FORMAT_VERSION` is 2, on its path:

    PYTHONPATH=…/src:… python tests/golden/format-2/make.py

The tables' locations are in `/golden`, which does not exist.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, open_metastore
from parquetry.metastore.commits.removed_files import files_removed
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.format import entry_to_json, files_to_json, metadata_to_json
from tests.support.tables.arrangements import FILE, OWN, TABLES, full_metadata

HERE = Path(__file__).parent
ROOT = "/golden"
"""The folder of the tables' locations."""


def content(metastore: Metastore) -> dict[str, Any]:
    """Return all that can be read: each version of each table by partition, as dumps of format 2 have it."""
    found: dict[str, Any] = {}
    for database in metastore.databases():
        for name in metastore.tables(database):
            for commit in metastore.table(database, name).history():
                version = metastore.table(database, name, version=commit.version)
                metadata = metadata_to_json(version.metadata)
                found[f"{database}.{name} {commit.version}"] = {
                    "totals": msgspec.to_builtins(version.totals),
                    "metadata": {key: value for key, value in metadata.items() if key != "indexes"},
                    "partitions": [
                        [version.describe(part.key), entry_to_json(part.entry), _digest(part.files)]
                        for part in version.partitions()
                    ],
                    "taken_out": [
                        [each.path, each.record.bytes, each.ticket] for each in files_removed(version)
                    ],
                }
    return found


def _digest(files: Iterable[FileRecord]) -> str:
    return hashlib.sha256(json.dumps(files_to_json(files)).encode()).hexdigest()[:16]


def _arranged(metastore: Metastore) -> None:
    """A table with every field set, and partitions arranged as it is, otherwise, and not at all."""
    table = metastore.create_table("default", "arranged", full_metadata(f"{ROOT}/arranged"))
    transaction = table.begin("append")
    transaction.append((1, "a"), [FILE], arrangement=OWN)
    transaction.append((2, None), [FileRecord(f"pq-{table.id.hex()}-1", 7, 1, bucket=3)], arrangement=TABLES)
    transaction.append((3, "c"), [FileRecord("theirs-2", 9)])
    table = transaction.commit()
    transaction = table.begin("drop")
    transaction.drop((3, "c"))
    transaction.commit()


def _many(metastore: Metastore) -> None:
    """A partition whose list of files has parts in columns."""
    table = metastore.create_table(
        "default",
        "many",
        TableMetadata(
            (TableColumn("id", "long"), TableColumn("p", "integer")), ("p",), "parquet", f"{ROOT}/many"
        ),
    )
    for start, count in ((0, 1200), (1200, 3)):
        transaction = metastore.table("default", "many").begin("append")
        own = f"pq-{table.id.hex()}-"
        transaction.append((1,), [FileRecord(f"{own}{n:04d}", n, 1) for n in range(start, start + count)])
        transaction.commit()


def main() -> None:
    """Make all three anew."""
    shutil.rmtree(HERE / "dump", ignore_errors=True)
    (HERE / "metastore.sqlite").unlink(missing_ok=True)
    with open_metastore(ROOT, f"sqlite://{HERE.resolve()}/metastore.sqlite", create=True) as metastore:
        for fill in (_arranged, _many):
            fill(metastore)
        dump(metastore, HERE / "dump")
        text = json.dumps(content(metastore), indent=1, ensure_ascii=False)
    (HERE / "content.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
