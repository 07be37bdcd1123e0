"""Reads of tables, made from the reports of scans: the files read of how many, and what left out the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from parquetry.metastore import TableSnapshot
from parquetry.predicate import Filter, columns_of, conjuncts
from parquetry.prune import ScanReport, Step
from parquetry.workload.model import QueryCondition, QueryJoin, ReadCount, TableRead
from parquetry.workload.redaction import named_columns

_NOT_NULL = " IS NOT NULL"
MAX_CONDITION_CHARACTERS = 20_000
"""Characters of a condition that are kept: a list of some thousand values."""
_FILES, _PARTITIONS = "files", "partitions"


@dataclass(frozen=True, slots=True)
class ScannedTable:
    """Facts about a scan besides its report.

    Attributes:
        snapshot: the version that was read.
        conditions: of the query on this table.
        columns: that the query reads, or None if that is not known.
        joins: of the table with others.
        rows: that the scan gave, or None.
        estimated_rows: that were expected of it, or None.
    """

    snapshot: TableSnapshot
    conditions: tuple[QueryCondition, ...] = ()
    columns: tuple[str, ...] | None = None
    joins: tuple[QueryJoin, ...] = field(default=())
    rows: int | None = None
    estimated_rows: int | None = None


def filter_conditions(filters: Iterable[Filter]) -> tuple[QueryCondition, ...]:
    """Return filters as conditions of a record; the parts of one AND are conditions of their own.

    Spark adds `c IS NOT NULL` to each comparison and join of `c`. It is left out where another condition
    names the column, which says more.
    """
    parts = [
        QueryCondition(str(node)[:MAX_CONDITION_CHARACTERS], tuple(sorted(columns_of(node))))
        for each in filters
        for node in conjuncts(each.node)
    ]
    return without_null_tests(parts)


def without_null_tests(
    parts: Sequence[QueryCondition], joined: Iterable[str] = ()
) -> tuple[QueryCondition, ...]:
    """Return conditions without `c IS NOT NULL` where a join or another one names `c`, each once."""
    others = set(joined) | {
        name for each in parts if not each.text.endswith(_NOT_NULL) for name in each.columns
    }
    kept = (each for each in parts if not (each.text.endswith(_NOT_NULL) and others.issuperset(each.columns)))
    return tuple(dict.fromkeys(kept))


def text_condition(text: str, snapshot: TableSnapshot) -> QueryCondition:
    """Return a condition that is known by its text alone."""
    metadata = snapshot.metadata
    names = [column.name for column in (*metadata.columns, *metadata.fields)]
    return QueryCondition(text[:MAX_CONDITION_CHARACTERS], named_columns(text, names))


def table_read(report: ScanReport, scanned: ScannedTable) -> TableRead:
    """Return the read of a table.

    Args:
        report: of the scan.
        scanned: what else is known of it.
    """
    snapshot = scanned.snapshot
    totals = snapshot.totals
    partitions, files, size = (report.step(name) for name in (_PARTITIONS, _FILES, "bytes"))
    read = 0 if report.not_read or files is None else max(0, files.kept - report.counted)
    columns = scanned.columns
    return TableRead(
        f"{snapshot.database}.{snapshot.name}",
        snapshot.version,
        _with_shares(scanned, partitions, totals.rows),
        scanned.joins,
        columns,
        None if partitions is None else ReadCount(partitions.kept, partitions.of),
        None if files is None else ReadCount(read, totals.files),
        None if size is None else ReadCount(0 if report.not_read else size.kept, _of_columns(size)),
        scanned.rows,
        scanned.estimated_rows,
        tuple(_left_out(report, totals.files)),
        _not_more(report),
    )


def _with_shares(
    scanned: ScannedTable, partitions: Step | None, rows: int | None
) -> tuple[QueryCondition, ...]:
    """Return the conditions, each with the share of rows that satisfies it where the run has shown it.

    A single condition's share is counted: the rows that the scan gave. If the values of partitions decide a
    condition alone, the partitions that were kept tell its share.
    """
    conditions = scanned.conditions
    if len(conditions) == 1 and scanned.rows is not None and rows:
        return (_with_share(conditions[0], scanned.rows / rows),)
    keys = set(scanned.snapshot.metadata.partition_by)
    of_keys = [each for each in conditions if each.columns and keys.issuperset(each.columns)]
    if len(of_keys) != 1 or partitions is None or not partitions.of:
        return conditions
    share = partitions.kept / partitions.of
    return tuple(_with_share(each, share) if each in of_keys else each for each in conditions)


def _with_share(condition: QueryCondition, share: float) -> QueryCondition:
    return QueryCondition(condition.text, condition.columns, condition.has_values, min(1.0, share))


def _of_columns(size: Step) -> int:
    """Return the bytes of the query's columns in all files, in the proportion of the files that were read.

    >>> _of_columns(Step("bytes", 10, 1000, ("a",), unit="bytes", whole=100))
    100
    """
    return size.of if not size.whole else max(size.kept, round(size.of * size.kept / size.whole))


def _left_out(report: ScanReport, total: int) -> Iterable[tuple[str, int]]:
    """Yield what left out files, with their number."""
    if report.not_read:
        yield "the run", total
        return
    before, pruned = total, []
    for step in report.steps:
        if step.counts_bytes:
            continue
        if step.unit != _FILES:
            pruned += [step.name] if step.kept < step.of else []
            continue
        if step.of < before:
            yield " and ".join(pruned) or _PARTITIONS, before - step.of
        if step.kept < step.of:
            yield step.name, step.of - step.kept
        before, pruned = step.kept, []
    if report.counted:
        yield "metastore", report.counted


def _not_more(report: ScanReport) -> tuple[str, ...]:
    """Return why conditions left out nothing, and why a scan was not read."""
    reasons = [f"{note.condition}: {note.reason}" for note in report.unused()]
    return tuple([report.not_read, *reasons] if report.not_read else reasons)
