"""What a write needs to know before Spark writes: whether it is allowed, for which arrangement, and in which folders.

`destinations` is the entrance. `statement_reads` says what a statement has read, and so which commits of others conflict with it.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.writes.checks import require_writable_so as require_writable_so
    from parquetry.planner.writes.destinations import Destinations as Destinations
    from parquetry.planner.writes.destinations import own_destinations as own_destinations
    from parquetry.planner.writes.destinations import partitions_of as partitions_of
    from parquetry.planner.writes.destinations import plan_destinations as plan_destinations
    from parquetry.planner.writes.partition_locations import own_locations as own_locations
    from parquetry.planner.writes.statement_reads import REWRITING_OPERATIONS as REWRITING_OPERATIONS
    from parquetry.planner.writes.statement_reads import is_serializable as is_serializable
    from parquetry.planner.writes.statement_reads import rely_on_reads as rely_on_reads
    from parquetry.planner.writes.statement_reads import rely_on_search as rely_on_search

lazy_exports(
    __name__,
    {
        ".checks": ["require_writable_so"],
        ".destinations": ["Destinations", "own_destinations", "partitions_of", "plan_destinations"],
        ".partition_locations": ["own_locations"],
        ".statement_reads": ["REWRITING_OPERATIONS", "is_serializable", "rely_on_reads", "rely_on_search"],
    },
)
