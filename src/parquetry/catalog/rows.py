"""The rows of a listing's drawing: for each thing, values by headings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquetry import texts

if TYPE_CHECKING:
    from parquetry.catalog.shapes import Commit, DataFile, Partition


def partition_row(partition: Partition) -> dict[str, Any]:
    """Return the row of a partition."""
    return {
        **partition.values,
        "files": partition.files,
        "rows": texts.count(partition.rows),
        "size": texts.size_text(partition.bytes),
        "location": partition.location,
    }


def file_row(file: DataFile) -> dict[str, Any]:
    """Return the row of a file."""
    return {"file": file.path, "rows": texts.count(file.rows), "size": texts.size_text(file.bytes)}


def commit_row(commit: Commit) -> dict[str, Any]:
    """Return the row of a version."""
    return {
        "version": commit.version,
        "committed at": f"{commit.committed_at:%Y-%m-%d %H:%M:%S} UTC",
        "operation": commit.operation,
        "partitions": commit.partitions,
        "files": commit.files,
        "rows": texts.count(commit.rows),
        "size": texts.size_text(commit.bytes),
    }
