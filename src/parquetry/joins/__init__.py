"""Decide what joins need: which runtime filters, in how many buckets, and why Spark shuffles.

- `runtime` judges which values of joins are worth their cost, and makes conditions of them.
- `plan` decides how joins use buckets, and which heavy keys are joined apart; it explains each shuffle.
- `scans` says what joins may rely on in a scan's files: buckets, their order, and keys with many rows.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.joins.plan.bucket_splits import SplitDecision as SplitDecision
    from parquetry.joins.plan.decide import decide_layouts as decide_layouts
    from parquetry.joins.plan.graph import PlanGraph as PlanGraph
    from parquetry.joins.plan.join_facts import JoinFacts as JoinFacts, Side as Side
    from parquetry.joins.plan.shuffle_reasons import SETTINGS as SETTINGS, explain_joins as explain_joins
    from parquetry.joins.plan.skew_joins import (
        SKEW_LIMITS as SKEW_LIMITS,
        SkewFacts as SkewFacts,
        SkewSplit as SkewSplit,
        choose_sides as choose_sides,
        refuse_cost as refuse_cost,
        refuse_shape as refuse_shape,
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
        implied_ranges as implied_ranges,
        ranges_for_readers as ranges_for_readers,
    )
    from parquetry.joins.runtime.totals import (
        estimate_from_totals as estimate_from_totals,
        is_not_null as is_not_null,
    )
    from parquetry.joins.runtime.tuples import placement_columns as placement_columns
    from parquetry.joins.scans.buckets import (
        BucketPlace as BucketPlace,
        BucketSizes as BucketSizes,
        ScanBuckets as ScanBuckets,
        bucket_sizes as bucket_sizes,
        buckets_in_place as buckets_in_place,
        scan_buckets as scan_buckets,
    )
    from parquetry.joins.scans.heavy_keys import (
        HeavyKeys as HeavyKeys,
        find_heavy_keys as find_heavy_keys,
        is_skewed as is_skewed,
    )

lazy_exports(__name__)
