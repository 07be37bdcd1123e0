"""Queries and their cost: the history that a warehouse keeps, and the examples that teach the adviser.

Records of queries have one form, from reports, event logs and lists of SQL (`model`).
`history` keeps them in the store, and `writer` writes them in the background. `event_log` reads Spark's event
logs, and `sql_file` lists of queries.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.workload.event_log import read_event_log as read_event_log
    from parquetry.workload.history import (
        HistorySettings as HistorySettings,
        StoredQuery as StoredQuery,
        forget_values as forget_values,
        now as now,
        read_queries as read_queries,
        stored_reads as stored_reads,
        strip_values as strip_values,
    )
    from parquetry.workload.model import (
        QueryCondition as QueryCondition,
        QueryJoin as QueryJoin,
        QueryRecord as QueryRecord,
        ReadCount as ReadCount,
        TableRead as TableRead,
    )
    from parquetry.workload.plan_info import (
        PlanInfo as PlanInfo,
        count_shuffles as count_shuffles,
        reads_of as reads_of,
    )
    from parquetry.workload.promises import (
        LayoutPromise as LayoutPromise,
        PromiseBesideTruth as PromiseBesideTruth,
        kept_promises as kept_promises,
        promise_epochs as promise_epochs,
        promise_of as promise_of,
    )
    from parquetry.workload.reads import (
        ScannedTable as ScannedTable,
        filter_conditions as filter_conditions,
        table_read as table_read,
        text_condition as text_condition,
        without_null_tests as without_null_tests,
    )
    from parquetry.workload.served import ServedReads as ServedReads
    from parquetry.workload.sql_file import read_sql_file as read_sql_file, read_statements as read_statements
    from parquetry.workload.writer import HistoryWriter as HistoryWriter

lazy_exports(__name__)
