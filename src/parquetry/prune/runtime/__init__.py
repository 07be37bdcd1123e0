"""Runtime filters: judge which values of a join to collect while the query runs, and report them.

`candidates` describes the joins. `judge` decides, by the limits in `cost_model` and the estimates in
`estimates`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.prune.runtime.candidates import Candidate, Verdict
    from parquetry.prune.runtime.cost_model import LIMITS, Limits
    from parquetry.prune.runtime.dense_keys import dense_key_count
    from parquetry.prune.runtime.estimates import KeyFiles, Spread, estimate_rows, key_files, spread
    from parquetry.prune.runtime.filterable import has_parts
    from parquetry.prune.runtime.judge import TRANSPARENT_JOINS, decide
    from parquetry.prune.runtime.key_ranges import partition_key_ranges
    from parquetry.prune.runtime.outcomes import CandidateOutcome, reports
    from parquetry.prune.runtime.row_group_ranges import ColumnRanges, have_one_row_group, ranges_for_readers
    from parquetry.prune.runtime.totals import estimate_from_totals, is_not_null
    from parquetry.prune.runtime.tuples import placement_columns

lazy_exports(__name__)
