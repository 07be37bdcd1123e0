"""The rows of `lake.db.t.queries`: the queries of a table in the history, the newest first."""

from __future__ import annotations

from collections.abc import Iterator

from parquetry.metastore import TableSnapshot
from parquetry.planner.procedures.signature import Row
from parquetry.workload import QueryRecord, ReadCount, TableRead, promise_epochs, promise_of, stored_reads

COLUMNS = (
    *(("ended_at", "timestamp"), ("door", "string"), ("user_name", "string"), ("seconds", "double")),
    *(("shuffles", "integer"), ("version", "long"), ("conditions", "string"), ("joins", "string")),
    *(("columns", "string"), ("partitions_read", "long"), ("partitions_total", "long")),
    *(("files_read", "long"), ("files_total", "long"), ("bytes_read", "long"), ("bytes_total", "long")),
    *(("rows", "long"), ("estimated_rows", "long"), ("left_out", "string"), ("not_more", "string")),
    *(("statement", "string"), ("promised_bytes", "long")),
)


def query_rows(snapshot: TableSnapshot, after: bytes) -> Iterator[tuple[bytes, Row]]:
    """Yield the rows, each with its key in the history.

    Args:
        snapshot: of the table.
        after: the key of the last row that was read, or empty for the first.
    """
    epochs = promise_epochs(snapshot)
    for key, record, read in stored_reads(snapshot.store, snapshot.id, after):
        given = promise_of(epochs, read.version)
        yield key, (*_row(record, read), None if given is None else given.promise.bytes)


def _row(record: QueryRecord, read: TableRead) -> Row:
    joins = (
        f"{each.column} = {'.'.join(part for part in (each.other_table, each.other_column) if part) or '?'}"
        for each in read.joins
    )
    return (
        None if record.time is None else record.time * 1000,
        record.door,
        record.user,
        record.seconds,
        record.shuffles,
        read.version,
        " AND ".join(f"({each.text})" if " OR " in each.text else each.text for each in read.conditions)
        or None,
        ", ".join(joins) or None,
        None if read.columns is None else ", ".join(read.columns),
        *_counts(read.partitions),
        *_counts(read.files),
        *_counts(read.bytes),
        read.rows,
        read.estimated_rows,
        ", ".join(f"{name} {count}" for name, count in read.left_out) or None,
        "; ".join(read.not_more) or None,
        record.statement,
    )


def _counts(count: ReadCount | None) -> tuple[int | None, int | None]:
    return (None, None) if count is None else (count.read, count.of)
