"""The command that shows the history of queries."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import JsonOption, LimitOption, WarehouseOptions, option, read_time

if TYPE_CHECKING:
    from parquetry.workload import QueryRecord, ReadCount, TableRead


@app.command(epilog="Example: parquetry queries sales.orders --since 7d")
def queries(
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="Only queries that read this table.", show_default=False),
    ] = None,
    *,
    since: Annotated[
        datetime | None,
        option(
            "--since",
            "TIME",
            "Only queries since this time, or this age, such as 7d or 12h.",
            parser=read_time,
        ),
    ] = None,
    source: Annotated[
        str | None,
        option(
            "--from",
            "PATH",
            "Instead of the history: Spark's event logs (a file or a folder), or a file of SQL (.sql).",
        ),
    ] = None,
    limit: LimitOption = None,
    warehouse: WarehouseOptions,
    as_json: JsonOption = False,
) -> None:
    """List the queries of the history, newest first.

    A query has a line for each table that it read. The setting pruning-history turns the history on. --json
    has columns, what left out files, and why not more, too. Below the queries of a table stand the promises
    of its layouts, and what queries have read since.
    """
    promises = []
    if source is not None:
        records = _read(source, table, since)[:limit]
    else:
        with warehouse.open() as catalog:
            records = catalog.queries(table, since=None if since is None else since.astimezone(), limit=limit)
            promises = [] if table is None else catalog.promises(table)
    if as_json:
        output.print_json(map(as_object, records))
        return
    output.print_table(
        _HEADINGS,
        _lines(records),
        numbers=("partitions", "files", "read", "rows", "seconds", "shuffles"),
        empty="There are no such queries."
        if source
        else "The history has no such queries: the setting pruning-history turns it on.",
    )
    for each in promises:
        print(f"Promise of {each}.")


def _read(source: str, table: str | None, since: datetime | None) -> list[QueryRecord]:
    """Return the queries of event logs or of a file, the newest first; a file's in their order."""
    import parquetry

    start = None if since is None else since.timestamp() * 1000
    records = [
        record
        for record in parquetry.read_queries(source)
        if (table is None or any(read.table.lower() == table.lower() for read in record.reads))
        and (start is None or (record.time or 0) >= start)
    ]
    return sorted(records, key=lambda record: -(record.time or 0))


_HEADINGS = (
    *("ended at (UTC)", "door", "table", "condition", "joined with", "partitions", "files", "read", "rows"),
    *("seconds", "shuffles"),
)


def as_object(record: QueryRecord) -> dict[str, Any]:
    """Return a query for JSON, with all fields."""
    import msgspec

    fields = msgspec.structs.asdict(record)
    return {
        **fields,
        "time": None if record.time is None else _time(record).isoformat(),
        "reads": [_read_object(read) for read in record.reads],
    }


def _read_object(read: TableRead) -> dict[str, Any]:
    import msgspec

    asdict = msgspec.structs.asdict
    counts = {"partitions": read.partitions, "files": read.files, "bytes": read.bytes}
    return {
        **asdict(read),
        **{name: None if count is None else asdict(count) for name, count in counts.items()},
        "conditions": [asdict(each) for each in read.conditions],
        "joins": [asdict(each) for each in read.joins],
    }


def _time(record: QueryRecord) -> datetime:
    return datetime.fromtimestamp((record.time or 0) / 1000, UTC)


def _lines(records: list[QueryRecord]) -> Iterator[tuple[str, ...]]:
    for record in records:
        for number, read in enumerate(record.reads):
            of_query = (
                "" if record.seconds is None else f"{record.seconds:.3f}",
                "" if record.shuffles is None else str(record.shuffles),
            )
            yield (
                "" if number or record.time is None else f"{_time(record):%Y-%m-%d %H:%M:%S}",
                "" if number else record.door,
                read.table,
                texts.shorten(" AND ".join(each.text for each in read.conditions), 100),
                ", ".join(dict.fromkeys(f"{each.column} = {_other(each)}" for each in read.joins)),
                _count(read.partitions),
                _count(read.files),
                ""
                if read.bytes is None
                else f"{texts.size_text(read.bytes.read)} of {texts.size_text(read.bytes.of)}",
                "" if read.rows is None else texts.count(read.rows),
                *(("", "") if number else of_query),
            )


def _other(join: Any) -> str:
    return ".".join(part for part in (join.other_table, join.other_column) if part) or "?"


def _count(count: ReadCount | None) -> str:
    return "" if count is None else f"{count.read:,} of {count.of:,}"
