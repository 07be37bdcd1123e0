"""From a condition on partition columns to ranges of keys, and to the keys in them.

"Scan" is said of keys here: a `ScanPlan` is a list of `KeyScan`s, each a key or a half-open range of keys in the
metastore. What Spark calls a scan, the reading of a table's files, is planned in `parquetry.prune`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.scan.coarse import ranges as ranges
    from parquetry.scan.execute import Test as Test
    from parquetry.scan.execute import compile_residual as compile_residual
    from parquetry.scan.generate import plan_scan as plan_scan
    from parquetry.scan.plan import EVERYTHING as EVERYTHING
    from parquetry.scan.plan import Estimate as Estimate
    from parquetry.scan.plan import IndexOrder as IndexOrder
    from parquetry.scan.plan import KeyScan as KeyScan
    from parquetry.scan.plan import ScanPlan as ScanPlan
    from parquetry.scan.pushdown import scans_condition as scans_condition
    from parquetry.scan.unions import plan_by_index as plan_by_index

lazy_exports(
    __name__,
    {
        ".coarse": ["ranges"],
        ".execute": ["Test", "compile_residual"],
        ".generate": ["plan_scan"],
        ".plan": ["EVERYTHING", "Estimate", "IndexOrder", "KeyScan", "ScanPlan"],
        ".pushdown": ["scans_condition"],
        ".unions": ["plan_by_index"],
    },
)
