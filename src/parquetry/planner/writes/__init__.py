"""Prepare a write before Spark runs it: whether it is allowed, its arrangement, and its folders.

`destinations` is the entrance. `statement_reads` finds the commits of others that conflict with the
statement.
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
