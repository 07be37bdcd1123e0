"""Queries and their cost: the history that a warehouse keeps, and the examples that teach the adviser.

Records of queries have one form, from reports, event logs and lists of SQL (`model`).
`history` keeps them in the store, and `writer` writes them in the background.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.workload.history import (
        HistorySettings as HistorySettings,
        StoredQuery as StoredQuery,
        forget_values as forget_values,
        now as now,
        read_queries as read_queries,
        strip_values as strip_values,
    )
    from parquetry.workload.model import (
        QueryCondition as QueryCondition,
        QueryJoin as QueryJoin,
        QueryRecord as QueryRecord,
        ReadCount as ReadCount,
        TableRead as TableRead,
    )
    from parquetry.workload.reads import (
        ScannedTable as ScannedTable,
        filter_conditions as filter_conditions,
        table_read as table_read,
        text_condition as text_condition,
        without_null_tests as without_null_tests,
    )
    from parquetry.workload.writer import HistoryWriter as HistoryWriter

lazy_exports(__name__)
