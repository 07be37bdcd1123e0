"""Which layout a table should have: forecasts of what queries would read under other layouts, and advice.

`advice` is the entrance. `sources` learns of a table, `sampling` draws rows, and `questions` binds queries.
`cutting` cuts the rows into files as a writer would, `forecast` counts what queries read of these.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.adviser.advice import (
        Advice as Advice,
        Alternative as Alternative,
        QueryForecast as QueryForecast,
        Request as Request,
        advise_on as advise_on,
    )
    from parquetry.adviser.layouts import Grain as Grain, HeavyValues as HeavyValues, Layout as Layout
    from parquetry.adviser.query_files import Queries as Queries, queries_from as queries_from
    from parquetry.adviser.questions import Others as Others
    from parquetry.adviser.sampling import SamplePlan as SamplePlan
    from parquetry.adviser.sources import (
        TableSource as TableSource,
        folder_source as folder_source,
        lake_source as lake_source,
    )
    from parquetry.adviser.statements import bucket_clause as bucket_clause
    from parquetry.adviser.words import advice_text as advice_text

lazy_exports(__name__)
