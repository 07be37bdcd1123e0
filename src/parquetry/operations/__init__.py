"""The operations on a warehouse that CALL and the command line offer, each defined once.

`operation` says what an operation is, and `registry` lists them. `planner/procedures` makes procedures of
them, and `cli/operations.py` commands.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.operations.advising.advise import (
        advice_inputs as advice_inputs,
        folder_inputs as folder_inputs,
    )
    from parquetry.operations.engine import FinishedQuery as FinishedQuery, OperationEngine as OperationEngine
    from parquetry.operations.maintenance import (
        Maintained as Maintained,
        StatusRow as StatusRow,
        maintain as maintain,
        status as status,
        table_status as table_status,
    )
    from parquetry.operations.operation import (
        SPARK_TYPES as SPARK_TYPES,
        Argument as Argument,
        Operation as Operation,
        Timestamp as Timestamp,
    )
    from parquetry.operations.past.branches import table_refs as table_refs
    from parquetry.operations.past.versions import (
        TableDetail as TableDetail,
        detail as detail,
        readable_versions as readable_versions,
    )
    from parquetry.operations.publish import (
        follow_with_delta_log as follow_with_delta_log,
        follow_with_hive as follow_with_hive,
    )
    from parquetry.operations.registry import OPERATIONS as OPERATIONS
    from parquetry.operations.vacuum import VacuumOptions as VacuumOptions, checked_vacuum as checked_vacuum

lazy_exports(__name__)
