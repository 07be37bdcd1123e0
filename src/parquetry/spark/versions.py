"""The past of a table in SQL: what `CALL system.history`, `rollback`, `vacuum` and `fsck` give back."""

from __future__ import annotations

import json
from typing import Any

from parquetry.maintenance.fsck import fsck
from parquetry.maintenance.history import history
from parquetry.maintenance.rollback import rollback
from parquetry.maintenance.vacuum import vacuum
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.spark.lake import Lake

Rows = list[list[str | None]]

HISTORY = (
    ("version", "long"),
    ("committed_at", "timestamp"),
    ("operation", "string"),
    ("partitions", "long"),
    ("files", "long"),
    ("rows", "long"),
    ("bytes", "long"),
    ("summary", "string"),
)
ROLLBACK = (("version_before", "long"), ("version", "long"))
VACUUM = (("kind", "string"), ("path", "string"), ("count", "long"), ("bytes", "long"))
FSCK = (
    ("kind", "string"),
    ("partition", "string"),
    ("path", "string"),
    ("detail", "string"),
    ("repaired", "boolean"),
)


def history_rows(snapshot: TableSnapshot) -> Rows:
    """Return a row for each version up to this one that can be read, newest first."""
    return [
        [
            str(commit.version),
            str(commit.committed_at * 1000),
            commit.operation,
            str(commit.totals.partitions),
            str(commit.totals.files),
            number(commit.totals.rows),
            str(commit.totals.bytes),
            json.dumps(commit.summary, ensure_ascii=False) if commit.summary else None,
        ]
        for commit in history(snapshot)
    ]


def call_history(lake: Lake, arguments: dict[str, Any]) -> Rows:
    """Run `CALL system.history`."""
    return history_rows(lake.find(arguments["table"]))


def call_rollback(lake: Lake, arguments: dict[str, Any]) -> Rows:
    """Run `CALL system.rollback`."""
    current = lake.find(arguments["table"])
    target = lake.metastore.table(current.database, current.name, version=int(arguments["version"]))
    after = lake.hold(rollback(current, target))
    return [[str(current.version), str(after.version)]]


def call_vacuum(lake: Lake, arguments: dict[str, Any]) -> Rows:
    """Run `CALL system.vacuum`."""
    given = arguments["older_than"]
    older_than = None if given is None else int(given) // 1000
    removed = vacuum(
        lake.find(arguments["table"]), older_than=older_than, dry_run=arguments["dry_run"] == "true"
    )
    return [[row.kind, row.path, str(row.count), number(row.bytes)] for row in removed]


def call_fsck(lake: Lake, arguments: dict[str, Any]) -> Rows:
    """Run `CALL system.fsck`."""
    found = fsck(lake.find(arguments["table"]), repair=arguments["repair"] == "true")
    return [[f.kind, f.partition, f.path, f.detail, "true" if f.repaired else "false"] for f in found]


def number(value: int | None) -> str | None:
    """Return a number as the bridge reads it."""
    return None if value is None else str(value)
