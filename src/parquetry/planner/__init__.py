"""Answer an engine's questions about tables, without pyspark or a JVM.

The package `parquetry.spark` is the engine's side. `planner` takes a question and hands it on to `tables`,
`scans`, `streams`, `writes` or a procedure. `protocol` defines how questions and answers are written.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.engine import Failure, FinishedQuery
    from parquetry.planner.lake import Lake
    from parquetry.planner.planner import Planner
    from parquetry.planner.predicates import conjuncts, replace_where, whole
    from parquetry.planner.report_facts import report_from_facts, report_from_json
    from parquetry.planner.statements import REFUSED_STATEMENT_WORDS, STATEMENT_WORDS

lazy_exports(__name__)
