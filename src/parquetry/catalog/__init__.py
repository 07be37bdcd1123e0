"""A warehouse's tables, partitions and files in plain Python, for scripts, notebooks and the command line.

`Catalog` is the entrance, and returns the values in `shapes` and `arrangements`. This package is part of the
public API. It also exports the results of `parquetry.maintenance`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.catalog.arrangements import Arrangement as Arrangement
    from parquetry.catalog.arrangements import Buckets as Buckets
    from parquetry.catalog.arrangements import Skew as Skew
    from parquetry.catalog.catalog import Catalog as Catalog
    from parquetry.catalog.shapes import Column as Column
    from parquetry.catalog.shapes import Commit as Commit
    from parquetry.catalog.shapes import DataFile as DataFile
    from parquetry.catalog.shapes import Partition as Partition
    from parquetry.catalog.shapes import Plan as Plan
    from parquetry.catalog.shapes import Statistics as Statistics
    from parquetry.catalog.shapes import Table as Table
    from parquetry.catalog.views import full_name as full_name
    from parquetry.maintenance import Check as Check
    from parquetry.maintenance import Compacted as Compacted
    from parquetry.maintenance import Difference as Difference
    from parquetry.maintenance import Finding as Finding
    from parquetry.maintenance import Misplacement as Misplacement
    from parquetry.maintenance import Relocated as Relocated
    from parquetry.maintenance import Removed as Removed
    from parquetry.metastore.ownership import Claimed as Claimed

lazy_exports(__name__)
