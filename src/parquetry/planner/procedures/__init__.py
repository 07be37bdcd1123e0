"""`CALL catalog.system.name(…)`: the procedures, one to a file.

`PROCEDURES` is the registry. `procedure` says what a procedure is, and `calls` answers the bridge's questions
about them.
"""

from __future__ import annotations

from typing import Any

from parquetry.planner.procedures.claim import CLAIM
from parquetry.planner.procedures.compact import COMPACT
from parquetry.planner.procedures.compact_metadata import COMPACT_METADATA
from parquetry.planner.procedures.create_partition_index import CREATE_PARTITION_INDEX
from parquetry.planner.procedures.doctor import DOCTOR
from parquetry.planner.procedures.drop_partition_index import DROP_PARTITION_INDEX
from parquetry.planner.procedures.fsck import FSCK
from parquetry.planner.procedures.history import HISTORY, history_rows
from parquetry.planner.procedures.procedure import Procedure, Row, wire_rows
from parquetry.planner.procedures.publish import PUBLISH
from parquetry.planner.procedures.rebucket import REBUCKET
from parquetry.planner.procedures.rebuild_partition_index import REBUILD_PARTITION_INDEX
from parquetry.planner.procedures.reports import EXPLAIN, EXPLAIN_JSON, LAST_REPORTS
from parquetry.planner.procedures.rollback import ROLLBACK
from parquetry.planner.procedures.suggest_skew import SUGGEST_SKEW
from parquetry.planner.procedures.sync import SYNC
from parquetry.planner.procedures.vacuum import VACUUM
from parquetry.planner.procedures.verify import VERIFY

__all__ = ["HISTORY", "PROCEDURES", "Row", "history_rows", "wire_rows"]

PROCEDURES: dict[str, Procedure[Any]] = {
    procedure.name: procedure
    for procedure in (
        SYNC,
        HISTORY,
        ROLLBACK,
        VACUUM,
        COMPACT,
        REBUCKET,
        COMPACT_METADATA,
        CREATE_PARTITION_INDEX,
        DROP_PARTITION_INDEX,
        REBUILD_PARTITION_INDEX,
        FSCK,
        VERIFY,
        PUBLISH,
        SUGGEST_SKEW,
        EXPLAIN,
        EXPLAIN_JSON,
        LAST_REPORTS,
        DOCTOR,
        CLAIM,
    )
}
