"""The commands that show a warehouse.

Imports are in the commands, so that each loads only what it needs. `output` prints.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import (
    FilterOptions,
    JsonOption,
    LimitOption,
    StorageOptions,
    TableArgument,
    filter_argument,
)

if TYPE_CHECKING:
    from parquetry.catalog import CommitChanges


@app.command(epilog="Example: parquetry databases --json")
def databases(
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """List the databases, and how many tables each has."""
    from parquetry.identifiers import parse_name

    with warehouse.open() as catalog:
        counts = Counter(parse_name(name)[0] for name in catalog.tables())
        rows = [(name, counts[name]) for name in catalog.databases()]
    if as_json:
        output.print_json({"database": name, "tables": count} for name, count in rows)
        return
    output.print_table(
        ("database", "tables"),
        ((name, texts.count(count)) for name, count in rows),
        numbers=("tables",),
        empty="The warehouse has no databases.",
    )


@app.command(epilog="Example: parquetry tables --json")
def tables(
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """List the tables and their sizes."""
    from parquetry.errors import TableNotFoundError

    listing = []
    with warehouse.open() as catalog:
        for name in catalog.tables():
            try:
                listing.append(catalog.table(name))
            except TableNotFoundError:  # dropped since it was listed
                continue
    if as_json:
        output.print_json(
            {"table": t.name, "partitions": t.partitions, "files": t.files, "rows": t.rows, "bytes": t.bytes}
            for t in listing
        )
        return
    output.print_table(
        ("table", "partitions", "files", "rows", "size"),
        (
            (
                t.name,
                texts.count(t.partitions),
                texts.count(t.files),
                texts.count(t.rows),
                texts.size_text(t.bytes),
            )
            for t in listing
        ),
        numbers=("partitions", "files", "rows", "size"),
        empty="The warehouse has no tables.",
    )


@app.command(epilog="Example: parquetry describe sales.orders")
def describe(
    table: TableArgument,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """Show a table's columns, location and totals."""
    with warehouse.open() as catalog:
        info = catalog.table(table)
    if as_json:
        fields = dataclasses.asdict(info)
        if info.arrangement is None:
            del fields["arrangement"]
        output.print_json([{"table": fields.pop("name"), **fields}])
        return
    positions = {name: str(position) for position, name in enumerate(info.partition_by, 1)}
    output.print_table(
        ("column", "type", "partition", "comment"),
        (
            (
                c.name,
                c.type if c.nullable else f"{c.type} not null",
                positions.get(c.name, ""),
                c.comment or "",
            )
            for c in info.columns
        ),
        numbers=("partition",),
    )
    print()
    facts = info.facts()
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:{width}}  {texts.cell(value)}")


@app.command(epilog="Example: parquetry partitions sales.orders \"day >= '2024-01-01'\"")
def partitions(
    table: TableArgument,
    filter: FilterOptions,
    *,
    limit: LimitOption = None,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """List the partitions of a table or of a filter.

    They are in the order of their values.
    """
    from parquetry.locations import path_within

    with warehouse.open() as catalog:
        listing = catalog.partitions(table, filter.text(), limit)
        if as_json:
            output.print_json(
                {
                    "values": p.values,
                    "location": p.location,
                    "files": p.files,
                    "rows": p.rows,
                    "bytes": p.bytes,
                    **({} if p.arrangement is None else {"arrangement": dataclasses.asdict(p.arrangement)}),
                }
                for p in listing
            )
            return
        info = catalog.table(table)
        output.print_table(
            (*info.partition_by, "files", "rows", "size", "location"),
            (
                (
                    *p.values.values(),
                    texts.count(p.files),
                    texts.count(p.rows),
                    texts.size_text(p.bytes),
                    path_within(info.location, p.location),
                )
                for p in listing
            ),
            numbers=("files", "rows", "size"),
            empty="No partitions.",
        )


@dataclass(frozen=True, slots=True)
class FileFilterOptions(FilterOptions):
    """The filter of a command that lists files."""

    condition: Annotated[
        str | None, filter_argument("A filter on any columns, in SQL: only files that can hold rows of it.")
    ] = None


@app.command(epilog='Example: parquetry files sales.orders "customer = 17" --json')
def files(
    table: TableArgument,
    filter: FileFilterOptions,
    *,
    limit: LimitOption = None,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """List the data files of a table or of a filter.

    With a filter, these are the files that a query would read, by values of partitions and statistics of
    files.
    """
    from parquetry.locations import path_within

    with warehouse.open() as catalog:
        listing = catalog.files(table, filter.text(), limit)
        if as_json:
            output.print_json(
                {
                    "path": f.path,
                    "partition": f.partition,
                    "rows": f.rows,
                    "bytes": f.bytes,
                    **({} if f.cell is None else {"cell": f.cell}),
                    **({} if f.bucket is None else {"bucket": f.bucket}),
                    **({"sorted": True} if f.sorted else {}),
                }
                for f in listing
            )
            return
        location = catalog.table(table).location
        output.print_table(
            ("file", "rows", "size"),
            ((path_within(location, f.path), texts.count(f.rows), texts.size_text(f.bytes)) for f in listing),
            numbers=("rows", "size"),
            empty="No files.",
        )


@app.command(epilog='Example: parquetry plan sales.orders "hour > 7" --run')
def plan(
    table: TableArgument,
    filter: FilterOptions,
    *,
    run: Annotated[
        bool,
        typer.Option(
            "--run", help="Also read the partitions, and count them and the examined keys (HBase: returned)."
        ),
    ] = False,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """Show how the partitions of a filter are found.

    A plan has ranges of keys in the metastore, shown by their values, and conditions to test on these keys.
    With --json a bound is the bytes of a key, hexadecimal.
    """
    filter_text = filter.text()
    if filter_text is None:
        raise typer.BadParameter("There is no filter to plan: parquetry plan TABLE FILTER.")
    with warehouse.open() as catalog:
        explanation = catalog.plan(table, filter_text, run=run)
    print(output.json_text(explanation.to_dict()) if as_json else explanation)


@app.command(epilog="Example: parquetry history sales.orders")
def history(
    table: TableArgument,
    *,
    limit: LimitOption = None,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """List the versions of a table, newest first.

    VERSION AS OF can read these. Rows, files and bytes are what the version added and removed. --json has
    its totals, notes and application, too.
    """
    with warehouse.open() as catalog:
        commits = catalog.history(table, limit)
        if as_json:
            output.print_json(map(dataclasses.asdict, commits))
            return
        output.print_table(
            _HISTORY,
            (
                (
                    c.version,
                    f"{c.committed_at:%Y-%m-%d %H:%M:%S}",
                    c.operation,
                    *_changes(c.changes),
                    texts.count(c.rows),
                    c.user_name or "",
                    c.door or "",
                    " ".join((c.statement or c.application_name or "").split()),
                )
                for c in commits
            ),
            numbers=_HISTORY_NUMBERS,
        )


_HISTORY_NUMBERS = ("version", "partitions", "files", "size", "rows", "rows after")
_HISTORY = (
    *("version", "committed at (UTC)", "operation", "partitions", "files", "size", "rows", "rows after"),
    *("user", "door", "statement or program"),
)
"""The headings of the history."""


def _changes(changes: CommitChanges | None) -> tuple[str, ...]:
    """Return the cells of partitions, files, bytes and rows: what was added and removed."""
    if changes is None:
        return ("", "", "", "")

    def cell(added: str, removed: str) -> str:
        return " ".join(
            sign + text for sign, text in (("+", added), ("-", removed)) if text.split(" ")[0] != "0"
        )

    lost = changes.partitions_removed + changes.partitions_replaced
    return (
        cell(texts.count(changes.partitions_added), texts.count(lost)),
        cell(texts.count(changes.files_added), texts.count(changes.files_removed)),
        cell(texts.size_text(changes.bytes_added), texts.size_text(changes.bytes_removed)),
        cell(texts.count(changes.rows_added), texts.count(changes.rows_removed)),
    )
