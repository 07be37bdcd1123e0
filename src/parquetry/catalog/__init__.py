"""A warehouse's tables, partitions and files in plain Python, for scripts, notebooks and the command line."""

from parquetry.catalog.arrangements import Arrangement, Buckets, Skew
from parquetry.catalog.catalog import Catalog
from parquetry.catalog.shapes import Column, Commit, DataFile, Partition, Plan, Statistics, Table
from parquetry.maintenance.results import Compacted, Difference, Finding, Misplacement, Relocated, Removed

__all__ = [
    "Arrangement",
    "Buckets",
    "Catalog",
    "Column",
    "Commit",
    "Compacted",
    "DataFile",
    "Difference",
    "Finding",
    "Misplacement",
    "Partition",
    "Plan",
    "Relocated",
    "Removed",
    "Skew",
    "Statistics",
    "Table",
]
