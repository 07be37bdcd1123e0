"""Changes as rows: the files that versions added and removed, and the difference of their rows.

`plan` finds the files, by the metastore alone. `difference` compares their rows by PyArrow, as multisets: a
statement writes whole files anew, and most rows of these are only carried over.
`bounds` turns what a caller names into versions.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.changes.bounds import RangeEnd as RangeEnd, changed_versions as changed_versions
    from parquetry.changes.columns import (
        DELETE as DELETE,
        INSERT as INSERT,
        change_schema as change_schema,
        require_free_names as require_free_names,
        require_keys as require_keys,
    )
    from parquetry.changes.plan import (
        ChangedVersion as ChangedVersion,
        ChangeMode as ChangeMode,
        PartitionChange as PartitionChange,
        changed_version as changed_version,
        plan_changes as plan_changes,
    )
    from parquetry.changes.rows import ChangeRequest as ChangeRequest, change_batches as change_batches

lazy_exports(__name__)
