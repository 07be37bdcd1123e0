"""Plan ranges of keys in the metastore from a condition on partition columns, and test the keys in them.

Here a "scan" reads keys: a `ScanPlan` is a list of `KeyScan`s, each a single key or a half-open range of keys
in the metastore. Spark's scans, which read a table's files, are planned in `parquetry.prune`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.scan.bound import whole_field as whole_field
    from parquetry.scan.coarse import ranges as ranges
    from parquetry.scan.execute import Test as Test, compile_residual as compile_residual
    from parquetry.scan.generate import NestedCondition as NestedCondition, plan_scan as plan_scan
    from parquetry.scan.plan import (
        EVERYTHING as EVERYTHING,
        Estimate as Estimate,
        IndexOrder as IndexOrder,
        KeyScan as KeyScan,
        ScanPlan as ScanPlan,
    )
    from parquetry.scan.pushdown import scans_condition as scans_condition
    from parquetry.scan.unions import plan_by_index as plan_by_index

lazy_exports(__name__)
