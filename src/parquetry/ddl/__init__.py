"""Rewrite Hive's statements that Spark does not know as ones that it knows: text in, text out, no JVM.

`rewrite` is the entry point. Each clause has a module. `definition` uses these modules, too, for table
properties whose values are such clauses.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.ddl.clustered_by import (
        ClusteredBy as ClusteredBy,
        filter_text as filter_text,
        parse_clustered_by as parse_clustered_by,
    )
    from parquetry.ddl.habits import UNPARSED_WORDS as UNPARSED_WORDS, procedure_answer as procedure_answer
    from parquetry.ddl.session import Session as Session
    from parquetry.ddl.skewed_by import (
        NOT_DIRECTORIES as NOT_DIRECTORIES,
        SkewedBy as SkewedBy,
        SkewedLocations as SkewedLocations,
        is_not_directories as is_not_directories,
        parse_skewed_by as parse_skewed_by,
        parse_skewed_locations as parse_skewed_locations,
    )

lazy_exports(__name__)
