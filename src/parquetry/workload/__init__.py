"""Queries and their cost: the history that a warehouse keeps, and the examples that teach the adviser.

Records of queries have one form, whether a report, an event log or a list of SQL told them.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.workload.model import (
        QueryCondition as QueryCondition,
        QueryJoin as QueryJoin,
        QueryRecord as QueryRecord,
        ReadCount as ReadCount,
        TableRead as TableRead,
    )

lazy_exports(__name__)
