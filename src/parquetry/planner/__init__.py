"""Questions of an engine about tables, answered: no pyspark, no JVM. The package `spark` is the engine's side.

`planner` takes a question and hands it on: to `tables`, `scans`, `streams`, `writes`, or a procedure. `protocol` says how questions and
answers are written.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.engine import Failure as Failure
    from parquetry.planner.lake import Lake as Lake
    from parquetry.planner.planner import Planner as Planner
    from parquetry.planner.predicates import conjuncts as conjuncts
    from parquetry.planner.predicates import replace_where as replace_where
    from parquetry.planner.predicates import whole as whole

lazy_exports(
    __name__,
    {
        ".engine": ["Failure"],
        ".lake": ["Lake"],
        ".planner": ["Planner"],
        ".predicates": ["conjuncts", "replace_where", "whole"],
    },
)
