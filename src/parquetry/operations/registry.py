"""The list of operations, in the order of the command line's help."""

from __future__ import annotations

from parquetry.operations.advising.advise import advise
from parquetry.operations.checks import doctor, fsck, verify
from parquetry.operations.erase import erase
from parquetry.operations.indexes import create_partition_index, drop_partition_index, rebuild_partition_index
from parquetry.operations.maintenance import maintain, status
from parquetry.operations.past.branches import branch, branches, drop_branch, publish_branch
from parquetry.operations.past.tags import drop_tag, tag, tags
from parquetry.operations.past.versions import detail, history, rollback, rollback_transaction
from parquetry.operations.publish import claim, publish, sync
from parquetry.operations.reports import explain, explain_json, last_reports
from parquetry.operations.rewrites import compact, compact_metadata, rebucket
from parquetry.operations.suggest_skew import suggest_skew
from parquetry.operations.vacuum import vacuum

OPERATIONS = {
    operation.name: operation
    for operation in (
        *(history, detail, doctor, fsck, verify, sync, vacuum, erase, rollback, compact_metadata, publish),
        *(rollback_transaction, tags, tag, drop_tag),
        *(branches, branch, publish_branch, drop_branch),
        *(compact, rebucket, suggest_skew, advise),
        *(create_partition_index, drop_partition_index, rebuild_partition_index),
        *(status, maintain),
        *(claim, explain, explain_json, last_reports),
    )
}
"""The operations by name."""
