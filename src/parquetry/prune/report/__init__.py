"""Report what the scans of a query read and pruned, and why joins shuffle: as data, as text, as rows and as
HTML.

`report` is the report of a whole query; `scan`, `buckets`, `join`, `join_values` and `runtime` are its parts.
`sql_words` has words of SQL for Spark's inner names.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.prune.report.buckets import BucketReport
    from parquetry.prune.report.html import CELL_STYLE, NUMBER_STYLE, PLAIN_STYLE
    from parquetry.prune.report.join_values import How, ValuesReport
    from parquetry.prune.report.report import Report
    from parquetry.prune.report.rows import report_rows
    from parquetry.prune.report.runtime import (
        RunTimeReport,
        RuntimeValues,
        StepReduction,
        found_values,
        reductions,
    )
    from parquetry.prune.report.scan import BYTES_UNIT, IneffectiveCondition, ScanReport, Step
    from parquetry.prune.report.shuffle_reasons import SETTINGS, JoinFacts, explain_joins
    from parquetry.prune.report.sql_words import join_words, key_of_not_in, node_words, plain_text
    from parquetry.prune.report.text import NOT_RUN_TEXT, condition_text

lazy_exports(__name__)
