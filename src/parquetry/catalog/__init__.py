"""A warehouse's tables, partitions and files in plain Python, for scripts, notebooks and the command line."""

from parquetry.catalog.arrangements import Arrangement, Buckets, Skew
from parquetry.catalog.catalog import Catalog
from parquetry.catalog.shapes import Column, Commit, DataFile, Partition, Plan, Statistics, Table
from parquetry.maintenance.compacted import Compacted
from parquetry.maintenance.difference import Difference
from parquetry.maintenance.finding import Finding
from parquetry.maintenance.misplacement import Misplacement
from parquetry.maintenance.relocated import Relocated
from parquetry.maintenance.removed import Removed

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
