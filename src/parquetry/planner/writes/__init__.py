"""What a write needs to know before Spark writes: whether it is allowed, for which arrangement, and in which folders.

`destinations` is the entrance. `statement_reads` says what a statement has read, and so which commits of others conflict with it.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.writes.checks import require_writable_so
    from parquetry.planner.writes.destinations import (
        Destinations,
        own_destinations,
        partitions_of,
        plan_destinations,
    )
    from parquetry.planner.writes.partition_locations import own_locations
    from parquetry.planner.writes.statement_reads import (
        REWRITING_OPERATIONS,
        is_serializable,
        rely_on_reads,
        rely_on_search,
    )

lazy_exports(__name__)
