"""Advice on the layout of a table, by forecasts of what queries would read under other layouts.

`advice` is the entrance. `input` has a table's files, a sample of its rows, and its queries. `cutting` cuts
the rows into files as a writer would, and `forecast` counts what queries read of these.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.adviser.advice import advise_on as advise_on
    from parquetry.adviser.input.bound_queries import Others as Others
    from parquetry.adviser.input.query_files import Queries as Queries, queries_from as queries_from
    from parquetry.adviser.input.sampling import SamplePlan as SamplePlan
    from parquetry.adviser.input.sources import (
        TableSource as TableSource,
        folder_source as folder_source,
        lake_source as lake_source,
    )
    from parquetry.adviser.layouts import (
        Grain as Grain,
        HeavyDirectories as HeavyDirectories,
        TableLayout as TableLayout,
    )
    from parquetry.adviser.results import Advice as Advice, Alternative as Alternative
    from parquetry.adviser.statements import bucket_clause as bucket_clause
    from parquetry.adviser.steps import LayoutStep as LayoutStep, next_step as next_step
    from parquetry.adviser.study import AdviceRequest as AdviceRequest, TableStudy as TableStudy

lazy_exports(__name__)
