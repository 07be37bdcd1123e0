"""What the scans of a query read and left out, and why joins shuffle: as data, as text and as HTML.

`report` is the whole of a query; `scan`, `buckets`, `join`, `join_values` and `runtime` are its parts.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.prune.report.buckets import BucketReport as BucketReport
    from parquetry.prune.report.html import CELL_STYLE as CELL_STYLE
    from parquetry.prune.report.html import NUMBER_STYLE as NUMBER_STYLE
    from parquetry.prune.report.html import PLAIN_STYLE as PLAIN_STYLE
    from parquetry.prune.report.join_values import How as How
    from parquetry.prune.report.join_values import ValuesReport as ValuesReport
    from parquetry.prune.report.report import Report as Report
    from parquetry.prune.report.runtime import RunTimeReport as RunTimeReport
    from parquetry.prune.report.runtime import RuntimeValues as RuntimeValues
    from parquetry.prune.report.runtime import StepReduction as StepReduction
    from parquetry.prune.report.runtime import found_values as found_values
    from parquetry.prune.report.runtime import reductions as reductions
    from parquetry.prune.report.scan import BYTES_UNIT as BYTES_UNIT
    from parquetry.prune.report.scan import IneffectiveCondition as IneffectiveCondition
    from parquetry.prune.report.scan import ScanReport as ScanReport
    from parquetry.prune.report.scan import Step as Step
    from parquetry.prune.report.shuffle_reasons import SETTINGS as SETTINGS
    from parquetry.prune.report.shuffle_reasons import JoinFacts as JoinFacts
    from parquetry.prune.report.shuffle_reasons import explain_joins as explain_joins
    from parquetry.prune.report.text import condition_text as condition_text

lazy_exports(
    __name__,
    {
        ".buckets": ["BucketReport"],
        ".html": ["CELL_STYLE", "NUMBER_STYLE", "PLAIN_STYLE"],
        ".join_values": ["How", "ValuesReport"],
        ".report": ["Report"],
        ".runtime": ["RunTimeReport", "RuntimeValues", "StepReduction", "found_values", "reductions"],
        ".scan": ["BYTES_UNIT", "IneffectiveCondition", "ScanReport", "Step"],
        ".shuffle_reasons": ["JoinFacts", "SETTINGS", "explain_joins"],
        ".text": ["condition_text"],
    },
)
