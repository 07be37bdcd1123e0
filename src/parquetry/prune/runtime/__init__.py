"""Values that a join finds while a query runs: which are worth collecting, what they cost, and what they leave out.

`candidates` are the joins, `judge` decides, by the costs in `cost_model` and the estimates in `estimates`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.prune.runtime.candidates import Candidate as Candidate
    from parquetry.prune.runtime.candidates import Verdict as Verdict
    from parquetry.prune.runtime.cost_model import LIMITS as LIMITS
    from parquetry.prune.runtime.cost_model import Limits as Limits
    from parquetry.prune.runtime.dense_keys import dense_key_count as dense_key_count
    from parquetry.prune.runtime.estimates import KeyFiles as KeyFiles
    from parquetry.prune.runtime.estimates import Spread as Spread
    from parquetry.prune.runtime.estimates import estimate_rows as estimate_rows
    from parquetry.prune.runtime.estimates import key_files as key_files
    from parquetry.prune.runtime.estimates import spread as spread
    from parquetry.prune.runtime.filterable import has_parts as has_parts
    from parquetry.prune.runtime.judge import TRANSPARENT_JOINS as TRANSPARENT_JOINS
    from parquetry.prune.runtime.judge import decide as decide
    from parquetry.prune.runtime.key_ranges import partition_key_ranges as partition_key_ranges
    from parquetry.prune.runtime.outcomes import CandidateOutcome as CandidateOutcome
    from parquetry.prune.runtime.outcomes import reports as reports
    from parquetry.prune.runtime.row_group_ranges import ColumnRanges as ColumnRanges
    from parquetry.prune.runtime.row_group_ranges import have_one_row_group as have_one_row_group
    from parquetry.prune.runtime.row_group_ranges import ranges_for_readers as ranges_for_readers
    from parquetry.prune.runtime.totals import estimate_from_totals as estimate_from_totals
    from parquetry.prune.runtime.totals import is_not_null as is_not_null
    from parquetry.prune.runtime.tuples import placement_columns as placement_columns

lazy_exports(
    __name__,
    {
        ".candidates": ["Candidate", "Verdict"],
        ".cost_model": ["LIMITS", "Limits"],
        ".dense_keys": ["dense_key_count"],
        ".estimates": ["KeyFiles", "Spread", "estimate_rows", "key_files", "spread"],
        ".filterable": ["has_parts"],
        ".judge": ["TRANSPARENT_JOINS", "decide"],
        ".key_ranges": ["partition_key_ranges"],
        ".outcomes": ["CandidateOutcome", "reports"],
        ".row_group_ranges": ["ColumnRanges", "have_one_row_group", "ranges_for_readers"],
        ".totals": ["estimate_from_totals", "is_not_null"],
        ".tuples": ["placement_columns"],
    },
)
