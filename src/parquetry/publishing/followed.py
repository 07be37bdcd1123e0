"""A followed table stays one that its Delta log can follow: what would end that is refused before it is done.

The log cannot show a version whose files Delta's readers would read otherwise. After such a change the log
would stay at the version before, and its readers would notice nothing.
"""

from __future__ import annotations

from parquetry.data_files import has_default
from parquetry.errors import UnsupportedError
from parquetry.exchange import DELTA
from parquetry.metastore import PUBLISH, TableMetadata, TableSnapshot


def require_followable(snapshot: TableSnapshot, metadata: TableMetadata) -> None:
    """Make sure that a table's log can follow a change of its definition, if it has followed until now.

    Args:
        snapshot: the table before the change.
        metadata: its definition after the change.

    Raises:
        UnsupportedError: the log would stay behind.
    """
    if metadata.properties.get(PUBLISH) != "delta":
        return
    before = snapshot.metadata
    if before.properties.get(PUBLISH) == "delta" and _refusal(snapshot, before) is not None:
        return  # the log has stayed behind already
    if (reason := _refusal(snapshot, metadata)) is not None:
        raise UnsupportedError(
            f"Table {snapshot.label} is followed by a Delta log, which would stay at version {snapshot.version}: {reason}. To make the change "
            "nevertheless, say ALTER TABLE … UNSET TBLPROPERTIES ('publish') before. Files that lack a column with a DEFAULT are "
            "written anew by CALL system.compact(table, for_other_readers => true); then CALL system.publish follows again."
        )


def _refusal(snapshot: TableSnapshot, metadata: TableMetadata) -> str | None:
    """Return why no log can show a table with a definition, or None."""
    reason = DELTA.definition_refusal(metadata) or DELTA.widened_refusal(metadata, ())
    if reason is None and snapshot.totals.files:
        known = {column.physical for column in snapshot.metadata.columns}
        for column in metadata.data_columns:
            if column.physical not in known and has_default(column):
                return (
                    f"files of before lack column {column.name}, and Delta's readers would read NULL there instead of its default "
                    "value"
                )
    return reason
