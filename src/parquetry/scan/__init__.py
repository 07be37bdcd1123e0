"""From a condition on partition columns to ranges of keys, and to the keys in them.

"Scan" is said of keys here: a `ScanPlan` is a list of `KeyScan`s, each a key or a half-open range of keys in the
metastore. What Spark calls a scan, the reading of a table's files, is planned in `parquetry.prune`.
"""

from parquetry.scan.execute import compile_residual
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import EVERYTHING, KeyScan, ScanPlan

__all__ = ["EVERYTHING", "KeyScan", "ScanPlan", "compile_residual", "plan_scan"]
