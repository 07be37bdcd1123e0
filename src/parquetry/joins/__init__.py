"""Decide what joins need: which runtime filters, in how many buckets, and why Spark shuffles.

- `runtime` judges which values of joins are worth their cost, and makes conditions of them.
- `buckets` has the buckets of a scan, and `bucket_counts` chooses the number of both sides.
- `placement` chooses the scans that are read in place, so that one side alone is shuffled.
- `file_merges` decides whether sorted files are merged, and `bucket_splits` which buckets several tasks read.
- `skew_joins` decides which heavy keys are joined apart; `heavy_keys` finds them.
- `shuffle_reasons` explains the joins of a plan for a report, from `join_facts`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.joins.bucket_counts import (
        BucketGraph as BucketGraph,
        choose_bucket_counts as choose_bucket_counts,
    )
    from parquetry.joins.bucket_splits import (
        BucketSizes as BucketSizes,
        SplitCandidate as SplitCandidate,
        SplitDecision as SplitDecision,
        bucket_sizes as bucket_sizes,
        decide_split as decide_split,
    )
    from parquetry.joins.buckets import (
        BucketPlace as BucketPlace,
        ScanBuckets as ScanBuckets,
        buckets_in_place as buckets_in_place,
        scan_buckets as scan_buckets,
    )
    from parquetry.joins.heavy_keys import (
        HeavyKeys as HeavyKeys,
        find_heavy_keys as find_heavy_keys,
        is_skewed as is_skewed,
    )
    from parquetry.joins.join_facts import JoinFacts as JoinFacts
    from parquetry.joins.placement import (
        PlacementGraph as PlacementGraph,
        choose_placement as choose_placement,
    )
    from parquetry.joins.runtime.candidates import Candidate as Candidate, Verdict as Verdict
    from parquetry.joins.runtime.cost_model import LIMITS as LIMITS, Limits as Limits
    from parquetry.joins.runtime.dense_keys import dense_key_count as dense_key_count
    from parquetry.joins.runtime.estimates import (
        KeyFiles as KeyFiles,
        Spread as Spread,
        estimate_rows as estimate_rows,
        key_files as key_files,
        spread as spread,
    )
    from parquetry.joins.runtime.filterable import filterable as filterable, has_parts as has_parts
    from parquetry.joins.runtime.judge import (
        TRANSPARENT_JOINS as TRANSPARENT_JOINS,
        decide as decide,
        reason_against as reason_against,
    )
    from parquetry.joins.runtime.key_ranges import partition_key_ranges as partition_key_ranges
    from parquetry.joins.runtime.outcomes import CandidateOutcome as CandidateOutcome, reports as reports
    from parquetry.joins.runtime.row_group_ranges import (
        ColumnRanges as ColumnRanges,
        have_one_row_group as have_one_row_group,
        ranges_for_readers as ranges_for_readers,
    )
    from parquetry.joins.runtime.totals import (
        estimate_from_totals as estimate_from_totals,
        is_not_null as is_not_null,
    )
    from parquetry.joins.runtime.tuples import placement_columns as placement_columns
    from parquetry.joins.shuffle_reasons import SETTINGS as SETTINGS, explain_joins as explain_joins
    from parquetry.joins.skew_joins import (
        SKEW_LIMITS as SKEW_LIMITS,
        SkewFacts as SkewFacts,
        SkewSplit as SkewSplit,
        choose_sides as choose_sides,
        refuse_cost as refuse_cost,
        refuse_shape as refuse_shape,
    )

lazy_exports(__name__)
