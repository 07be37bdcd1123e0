"""Say when a static INSERT OVERWRITE takes out partitions that its rows do not touch.

This is Spark's default (`spark.sql.sources.partitionOverwriteMode`). A daily load that forgets to change it
leaves one day of ten. The history says so in each such version, the log once for each table of a session.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from parquetry.identifiers import join_name
from parquetry.metastore import TableSnapshot, Transaction
from parquetry.planner import Lake
from parquetry.predicate import Compare, Filter, IsNull
from parquetry.texts import quantity

_LOG = logging.getLogger("parquetry")
_TAKEN_OUT = "partitions taken out"
_UNDO = "undo"


def note_untouched(
    lake: Lake, transaction: Transaction, mode: str, where: Sequence[Filter], *, is_chosen: bool
) -> None:
    """Make the history say how many partitions an overwrite takes out without giving them rows.

    Args:
        lake: the catalog.
        transaction: of the overwrite.
        mode: see `questions.Write`.
        where: the condition of the overwrite.
        is_chosen: whether the statement itself has the condition, such as `replaceWhere`.
    """
    if mode not in ("truncate", "overwrite") or is_chosen or not all(map(_is_static, where)):
        return
    base = transaction.base
    table = join_name((base.database, base.name))

    def notes(untouched: int, before: int) -> Mapping[str, str]:
        return {
            _TAKEN_OUT: f"{quantity(untouched, 'partition')} without new rows, since partitionOverwriteMode is static",
            _UNDO: f"CALL {join_name((lake.name,))}.system.rollback('{table}', {before})",
        }

    transaction.note_untouched(notes)


def _is_static(predicate: Filter) -> bool:
    """Return whether a condition is a value in the PARTITION clause of an INSERT."""
    match predicate.node:
        case Compare("<=>") | IsNull():
            return True
    return False


def warn_of_untouched(lake: Lake, committed: TableSnapshot) -> None:
    """Log what the history says of a version that took out such partitions, once for each table."""
    summary = committed.commit.summary
    if _TAKEN_OUT not in summary or committed.id in lake.warned:
        return
    lake.warned.add(committed.id)
    _LOG.warning(
        "INSERT OVERWRITE of %s took out %s. %s brings them back. SET spark.sql.sources.partitionOverwriteMode = dynamic "
        "replaces only partitions with new rows.",
        lake.full_name(committed), summary[_TAKEN_OUT], summary[_UNDO],
    )  # fmt: skip
