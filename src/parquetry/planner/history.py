"""Write queries that have run into the history of queries, where it is kept of their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from parquetry.errors import ParquetryError
from parquetry.joins import JoinFacts, Side
from parquetry.metastore import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conditions
from parquetry.planner.protocol import answers, questions
from parquetry.planner.report_facts import bare_condition, scan_reports
from parquetry.prune import plain_text
from parquetry.workload import (
    QueryCondition,
    QueryJoin,
    QueryRecord,
    ScannedTable,
    StoredQuery,
    TableRead,
    filter_conditions,
    strip_values,
    table_read,
    text_condition,
    without_null_tests,
)


def record_queries(lake: Lake, q: questions.RecordQueries) -> answers.Done:
    """Write the queries whose tables keep a history. What cannot be written is a warning, and no error."""
    lake.history.write([partial(_stored, lake, ran) for ran in q.queries])
    return answers.Done()


def _stored(lake: Lake, ran: questions.QueryThatRan) -> StoredQuery | None:
    """Return the record of a query, or None if no history is kept of its tables."""
    joins = msgspec.convert(ran.joins, list[JoinFacts])
    reads: list[TableRead] = []
    tables: list[bytes] = []
    with_values = False
    for scan in ran.scans:
        try:
            snapshot = lake.snapshot(scan.table)
            mode = lake.history.settings.mode_of(snapshot.metadata.properties, ran.settings)
        except ParquetryError:  # the table was dropped meanwhile
            continue
        if mode == "off":
            continue
        found = _read(lake, snapshot, scan, joins)
        if found is not None:
            with_values |= mode == "values"
            reads.append(found)
            tables.append(snapshot.id)
    if not reads:
        return None
    record = QueryRecord(
        tuple(reads), ran.time, ran.door, ran.user, ran.statement, ran.milliseconds / 1000, ran.shuffles
    )
    return StoredQuery(record if with_values else strip_values(record), tuple(tables))


def _read(
    lake: Lake, snapshot: TableSnapshot, scan: questions.ScanThatRan, joins: Sequence[JoinFacts]
) -> TableRead | None:
    """Return the read of a table, or None if another scan gave its rows."""
    reports = scan_reports([scan.outcome])
    if not reports:
        return None
    (report,) = reports
    untranslated = scan.outcome.get("untranslated", ())
    parts = [
        *_offered(snapshot, scan),
        *(text_condition(plain_text(bare_condition(text)), snapshot) for text in untranslated),
    ]
    joined = tuple(dict.fromkeys(_joins(lake, lake.full_name(snapshot), joins)))
    known = {column.name for column in snapshot.metadata.columns}  # a result of the metastore has others
    scanned = ScannedTable(
        snapshot,
        without_null_tests(parts, [each.column for each in joined]),
        tuple(name for name in scan.columns if name in known),
        joined,
        scan.given,
        None if report.rows is None else report.rows.estimated,
    )
    return table_read(report, scanned)


def _offered(snapshot: TableSnapshot, scan: questions.ScanThatRan) -> Iterator[QueryCondition]:
    """Yield the conditions that Spark offered to the scan."""
    for condition in conditions(snapshot, scan.asked):
        if condition.written is not None:
            yield text_condition(condition.written, snapshot)
            continue
        for part in filter_conditions([condition.filter]):
            found = text_condition(
                part.text, snapshot
            )  # it finds fields of structs in what is not understood
            yield found if found.columns else part


def _joins(lake: Lake, table: str, joins: Iterable[JoinFacts]) -> Iterator[QueryJoin]:
    """Yield the columns of a table that are joined by equality."""
    prefix = f"{lake.name}."
    for join in joins:
        for mine, other in (join.sides, join.sides[::-1]):
            for position, key in enumerate(mine.keys):
                if len(key.columns) != 1 or not (key.plain or key.cast):
                    continue
                column = key.columns[0]
                if column.scan < len(mine.scans) and mine.scans[column.scan].table == table:
                    other_table, other_column = _other(other, position)
                    yield QueryJoin(column.name, other_table.removeprefix(prefix), other_column)


def _other(side: Side, position: int) -> tuple[str, str | None]:
    """Return the other side's table and column for a key, or a name of what its rows come from."""
    key = side.keys[position]
    if len(key.columns) == 1 and key.columns[0].scan < len(side.scans):
        return side.scans[key.columns[0].scan].table, key.columns[0].name
    return side.name, None


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.RecordQueries: record_queries,
}
