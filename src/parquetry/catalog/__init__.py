"""A warehouse's tables, partitions and files in plain Python, for scripts, notebooks and the command line.

`Catalog` is the entrance, and returns the values in `shapes` and `arrangements`. This package is part of the
public API. It also exports the results of operations.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.adoption import Difference as Difference
    from parquetry.adviser import Advice as Advice
    from parquetry.catalog.advising import (
        SampleOptions as SampleOptions,
        advise_on_folder as advise_on_folder,
        advise_on_table as advise_on_table,
        is_folder as is_folder,
    )
    from parquetry.catalog.arrangements import Arrangement as Arrangement, Buckets as Buckets, Skew as Skew
    from parquetry.catalog.catalog import Catalog as Catalog
    from parquetry.catalog.key_plans import plan_partitions as plan_partitions
    from parquetry.catalog.lookup import find_table as find_table
    from parquetry.catalog.scans.planning import bind_filter as bind_filter
    from parquetry.catalog.scans.reading import ScanTask as ScanTask
    from parquetry.catalog.scans.scan import Scan as Scan
    from parquetry.catalog.shapes import (
        Column as Column,
        Commit as Commit,
        CommitChanges as CommitChanges,
        DataFile as DataFile,
        Partition as Partition,
        Plan as Plan,
        Statistics as Statistics,
        Table as Table,
    )
    from parquetry.catalog.upkeep import UpkeepContext as UpkeepContext
    from parquetry.catalog.views import full_name as full_name
    from parquetry.metastore import (
        Check as Check,
        Claimed as Claimed,
        Compacted as Compacted,
        Finding as Finding,
        Relocated as Relocated,
        Removed as Removed,
    )
    from parquetry.verification import Misplacement as Misplacement

lazy_exports(__name__)
