"""Compact small files right after a write, for tables with the property `auto-compact`.

The rows of the write are committed already. So a failure here is a warning in the log, never an error of the
statement: users who see an error write the rows again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from parquetry.compaction import rewrites_after_write
from parquetry.config import AUTO_COMPACT, AUTO_COMPACT_MAX_BYTES, AUTO_COMPACT_MIN_FILES, Settings
from parquetry.errors import CommitConflictError
from parquetry.metastore import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.writes.destinations import partitions_of
from parquetry.progress import silent

_LOG = logging.getLogger("parquetry")
_OPERATION = "auto-compact"


def compact_after_write(
    lake: Lake, committed: TableSnapshot, settings: Settings, keys: Collection[bytes]
) -> None:
    """Compact the partitions that a write has changed, if the table's settings say so.

    Args:
        lake: the catalog.
        committed: the version that the write has made.
        settings: of the write.
        keys: of the partitions that it has changed.
    """
    if not settings[AUTO_COMPACT] or not keys:
        return
    try:
        rewrites = rewrites_after_write(
            committed,
            partitions_of(committed, keys),
            settings["target-file-size"],
            settings[AUTO_COMPACT_MIN_FILES],
            settings[AUTO_COMPACT_MAX_BYTES],
        )
        if rewrites:
            table = lake.full_name(committed)
            lake.cache(lake.engine.compact(table, committed, rewrites, _OPERATION, silent))
    except CommitConflictError as conflict:
        _LOG.info("%s is not compacted, as others changed it meanwhile: %s", committed.label, conflict)
    except Exception as error:  # noqa: BLE001  # the engine raises whatever a file system, a codec or Spark does
        _LOG.warning(
            "The rows of a write into %s are committed, but its small files could not be compacted. The next "
            "write or CALL system.compact tries again: %s",
            committed.label, error,
        )  # fmt: skip
