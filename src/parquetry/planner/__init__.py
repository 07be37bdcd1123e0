"""Answer an engine's questions about tables, without pyspark or a JVM.

The package `parquetry.spark` is the engine's side. `planner` takes a question and hands it on to `tables`,
`scans`, `streams`, `writes` or a procedure. `protocol` defines how questions and answers are written.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.engine import Failure as Failure, NoEngine as NoEngine
    from parquetry.planner.lake import Lake as Lake
    from parquetry.planner.planner import Planner as Planner
    from parquetry.planner.predicates import (
        conjuncts as conjuncts,
        replace_where as replace_where,
        whole as whole,
    )
    from parquetry.planner.protocol.terms import terms as terms
    from parquetry.planner.protocol.values import from_wire as from_wire, to_wire as to_wire
    from parquetry.planner.report_facts import (
        report_from_facts as report_from_facts,
        report_from_json as report_from_json,
    )
    from parquetry.planner.scans.file_subset import (
        CHOSEN_FILES_OPTION as CHOSEN_FILES_OPTION,
        chosen_files as chosen_files,
    )
    from parquetry.planner.statements import (
        REFUSED_STATEMENT_WORDS as REFUSED_STATEMENT_WORDS,
        STATEMENT_WORDS as STATEMENT_WORDS,
    )
    from parquetry.planner.tables.partitions import agreeing as agreeing, values_of as values_of
    from parquetry.planner.tracing import (
        TRACE_VARIABLE as TRACE_VARIABLE,
        AnsweredQuestion as AnsweredQuestion,
        Recorder as Recorder,
        record_by as record_by,
        record_process as record_process,
        stop_recording as stop_recording,
    )
    from parquetry.planner.writes import (
        Destinations as Destinations,
        compact_after_write as compact_after_write,
        is_serializable as is_serializable,
        own_destinations as own_destinations,
        partitions_of as partitions_of,
        plan_destinations as plan_destinations,
        rely_on_reads as rely_on_reads,
        rely_on_search as rely_on_search,
        require_writable_so as require_writable_so,
    )

lazy_exports(__name__)
