"""The needs of a table, in the words of `parquetry status`, and the gaps in what is known of its files."""

from __future__ import annotations

from itertools import islice
from typing import Any

from parquetry.catalog import UpkeepContext, full_name
from parquetry.metastore import Metastore, TableSnapshot
from parquetry.operations import table_status
from parquetry.texts import quantity
from parquetry.ui.survey import Survey

MAX_FILES_LOOKED_AT = 200_000
"""Files of a table whose lists are read at once: a second or two. For more, somebody presses a button."""
_MAX_FILES_OF_SAMPLE = 2_000
"""Files whose records are looked at for statistics."""


def needs_answer(metastore: Metastore, snapshot: TableSnapshot, *, anyway: bool) -> dict[str, Any]:
    """Return what a table needs, each with what to type.

    Args:
        metastore: of the warehouse.
        snapshot: the table's newest version.
        anyway: whether lists of files are read however many there are.
    """
    files = snapshot.totals.files
    rows = [*_unknown(snapshot), *_uneven(snapshot)]
    if files > MAX_FILES_LOOKED_AT and not anyway:
        return {"version": snapshot.version, "rows": rows, "looked": False, "files": files}
    rows += [
        {"need": need.need, "bytes": need.bytes, "detail": need.detail, "statement": need.statement}
        for need in table_status(UpkeepContext(metastore), snapshot)
    ]
    return {"version": snapshot.version, "rows": rows, "looked": True, "files": files}


def _uneven(snapshot: TableSnapshot) -> list[dict[str, Any]]:
    """Return the partition that is far larger than the others, if there is one."""
    if snapshot.totals.partitions > MAX_FILES_LOOKED_AT and not snapshot.ranges:
        return []
    survey = Survey(snapshot, 1)
    detail = survey.uneven()
    if detail is None:
        return []
    statement = f"CALL lake.system.suggest_skew('{full_name(snapshot.database, snapshot.name)}')"
    size, _ = survey.largest[0]
    return [{"need": "uneven partitions", "bytes": size, "detail": detail, "statement": statement}]


def _unknown(snapshot: TableSnapshot) -> list[dict[str, Any]]:
    """Return what pruning and counting lack: numbers of rows, and statistics of columns."""
    name = full_name(snapshot.database, snapshot.name)
    remedy = f"CALL lake.system.sync('{name}')"
    rows: list[dict[str, Any]] = []
    if snapshot.totals.uncounted:
        detail = (
            f"{quantity(snapshot.totals.uncounted, 'partition')} with files whose rows nobody has counted"
        )
        rows.append({"need": "unknown rows", "bytes": 0, "detail": detail, "statement": remedy})
    files = (file for partition in snapshot.partitions() for file in partition.each_file())
    sample = list(islice(files, _MAX_FILES_OF_SAMPLE))
    bare = sum(not file.columns for file in sample)
    if bare and snapshot.metadata.data_columns:
        looked = quantity(len(sample), "file")
        of = looked if len(sample) < _MAX_FILES_OF_SAMPLE else f"the first {looked}"
        detail = f"{bare:,} of {of} without statistics of columns: no condition on a column leaves them out"
        rows.append({"need": "no statistics", "bytes": 0, "detail": detail, "statement": remedy})
    return rows
