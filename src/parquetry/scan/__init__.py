"""From a condition on partition columns to ranges of keys, and to the keys in them (document 002)."""

from parquetry.scan.execute import compile_residual
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import EVERYTHING, KeyScan, ScanPlan

__all__ = ["EVERYTHING", "KeyScan", "ScanPlan", "compile_residual", "plan_scan"]
