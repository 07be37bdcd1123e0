"""`status` and `maintain`: what all tables of a warehouse need, and doing it; see `upkeep`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from parquetry.errors import UnsupportedError
from parquetry.identifiers import join_name
from parquetry.metastore import TableSnapshot
from parquetry.operations.advising.follow import NEED, follow_queries, follows_queries
from parquetry.operations.operation import Context, DryRun, Option, Presentation, operation
from parquetry.operations.upkeep import (
    FAILED,
    PLANNED,
    Budget,
    TableChoice,
    UpkeepNeed,
    find_needs,
    meet,
    statement,
    table_needs,
)

_SECONDS_PER_MINUTE = 60
Pattern = Annotated[
    str | None,
    "Only tables whose name fits, such as 'sales.*'; * is any text.",
    Option(metavar="PATTERN", positional=True),
]


@dataclass(frozen=True, slots=True)
class StatusRow:
    """One need of a table. `bytes` is the size of the files that the work deletes or rewrites."""

    table: str
    need: str
    count: int
    bytes: int
    detail: str
    statement: str


def table_status(context: Context, snapshot: TableSnapshot) -> list[StatusRow]:
    """Return what one table needs, the greatest gain first, as `status` lists it."""
    needs = table_needs(snapshot, context.engine.target_file_size(snapshot.metadata))
    return [_row(context, need) for need in sorted(needs, key=lambda need: -need.gain)]


def _row(context: Context, need: UpkeepNeed) -> StatusRow:
    name = context.full_name(need.snapshot)
    return StatusRow(name, need.need, need.count, need.bytes, need.detail, _statement(context, need))


def _statement(context: Context, need: UpkeepNeed) -> str:
    """Return what to type: a CALL of the session's catalog, or a command outside of Spark."""
    return statement(need, getattr(context, "name", None))


@operation(
    "Lists what the tables of the warehouse need, the greatest gain first, with the statement to type.",
    command=Presentation(
        "Maintain a warehouse",
        "status 'sales.*'",
        {"table": "table", "need": "need", "count": "count", "bytes": "size", "detail": "detail", "statement": "statement"},
        empty="No table needs upkeep.",
        is_problem=lambda _: True,
    ),
)  # fmt: skip
def status(context: Context, tables: Pattern = None) -> list[StatusRow]:
    """List what the tables need, and the statements.

    The greatest gain comes first. The command reads the metastore alone. Its exit code is 1 if a table needs
    something.
    """
    needs = find_needs(context.metastore, TableChoice(tables), context.engine.target_file_size)
    return [_row(context, need) for need in needs]


@dataclass(frozen=True, slots=True)
class Maintained:
    """The outcome of one need of a table: `outcome` is ``done``, ``planned``, ``left`` or ``failed``."""

    table: str
    need: str
    outcome: str
    count: int
    bytes: int
    detail: str
    statement: str


def _misuse(arguments: Mapping[str, Any]) -> str | None:
    for name in ("max_minutes", "max_bytes"):
        if (arguments[name] or 1) < 1:
            return f"--{name.replace('_', '-')} is {arguments[name]}: give a number of 1 or more."
    return None


@operation(
    "Does what the tables of the warehouse need, the greatest gain first, within a budget.",
    changes=True,
    command=Presentation(
        "Maintain a warehouse",
        "maintain 'sales.*' --max-minutes 60 --dry-run",
        {"table": "table", "need": "need", "outcome": "outcome", "count": "count", "bytes": "size", "detail": "detail", "statement": "statement"},
        empty="No table needs upkeep.",
        misuse=_misuse,
        is_problem=lambda row: row.outcome == FAILED,
    ),
)  # fmt: skip
def maintain(
    context: Context,
    tables: Pattern = None,
    max_minutes: Annotated[
        int | None, "Minutes after which no further piece of work begins.", Option(metavar="N")
    ] = None,
    max_bytes: Annotated[
        int | None, "Bytes of data files that may be rewritten.", Option(metavar="N")
    ] = None,
    dry_run: DryRun = False,
) -> Iterator[Maintained]:
    """Do what the tables need, within a budget.

    Tables whose layout is `auto` follow their queries. Then the greatest gain comes first. Each piece is a
    commit of its own beside other writers, so the next run goes on where this one stopped. Outside of Spark
    no files are rewritten: such work is left, with the statement to type. The exit code is 1 if something
    failed.
    """
    for name, value in (("max_minutes", max_minutes), ("max_bytes", max_bytes)):
        if value is not None and value < 1:
            raise UnsupportedError(f"Argument {name} of maintain is {value}: give a number of 1 or more.")
    budget = Budget(None if max_minutes is None else max_minutes * _SECONDS_PER_MINUTE, max_bytes)
    for snapshot in TableChoice(tables).snapshots(context.metastore):
        if follows_queries(snapshot):
            yield _follow(context, snapshot, budget, dry_run=dry_run)
    for need in find_needs(context.metastore, TableChoice(tables), context.engine.target_file_size):
        row = _row(context, need)
        outcome, detail = PLANNED, need.detail
        if not dry_run:
            met = meet(context, need, budget)
            outcome, detail = met.outcome, met.detail
        yield Maintained(row.table, row.need, outcome, row.count, row.bytes, detail, row.statement)


def _follow(context: Context, snapshot: TableSnapshot, budget: Budget, *, dry_run: bool) -> Maintained:
    done = follow_queries(context, snapshot, budget, dry_run=dry_run)
    catalog = getattr(context, "name", "lake")
    call = f"CALL {join_name((catalog,))}.system.maintain('{join_name((snapshot.database, snapshot.name))}')"
    name, (outcome, detail) = context.full_name(snapshot), (done.outcome.outcome, done.outcome.detail)
    return Maintained(name, NEED, outcome, done.files, done.bytes, detail, call)
