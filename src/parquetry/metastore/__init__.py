"""What tables there are, which partitions and files they have, and how that changes, in an ordered store.

`metastore` is the entrance: databases and tables by name. Below it, `namespace` keeps the names, `commits` makes versions, `cleanup`
removes what no version needs, `access` and `versions` read one, `manifest` codes lists of files, and `storage` knows every row.
Which files a query needs is decided above, in `parquetry.prune`.
"""

from parquetry.layout.arrangement import PLAIN, ArrangementSpec, AutoSkew, BucketSpec, SkewMap, SortColumn
from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.metastore import Metastore, open_metastore
from parquetry.metastore.namespace.staging import StagedTable
from parquetry.metastore.storage.model import (
    ColumnStatistics,
    CommitRecord,
    Database,
    FileRecord,
    TableColumn,
    TableMetadata,
    Totals,
)
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.metastore.versions.visible_rows import Examined

__all__ = [
    "PLAIN",
    "ArrangementSpec",
    "AutoSkew",
    "BucketSpec",
    "ColumnStatistics",
    "CommitRecord",
    "Database",
    "Examined",
    "FileRecord",
    "Metastore",
    "PartitionSnapshot",
    "SkewMap",
    "SortColumn",
    "StagedTable",
    "TableColumn",
    "TableMetadata",
    "TableSnapshot",
    "Totals",
    "Transaction",
    "open_metastore",
]
