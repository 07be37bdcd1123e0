"""From a condition on partition columns to ranges of keys, and to the keys in them.

"Scan" is said of keys here: a `ScanPlan` is a list of `KeyScan`s, each a key or a half-open range of keys in the
metastore. What Spark calls a scan, the reading of a table's files, is planned in `parquetry.prune`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.scan.coarse import ranges
    from parquetry.scan.execute import Test, compile_residual
    from parquetry.scan.generate import plan_scan
    from parquetry.scan.plan import EVERYTHING, Estimate, IndexOrder, KeyScan, ScanPlan
    from parquetry.scan.pushdown import scans_condition
    from parquetry.scan.unions import plan_by_index

lazy_exports(__name__)
