"""What tables there are, which partitions and files they have, and how that changes, in an ordered store.

`metastore` is the entrance: databases and tables by name. `snapshot` is a table as of one version,
`transaction` collects `changes` to be made to it, `commit` is the protocol that makes them visible at once. `keyspace` lists the
rows. Which files a query needs is decided above, in `parquetry.prune`.
"""

from parquetry.layout.arrangement import PLAIN, Arrangement, AutoSkew, BucketSpec, SkewMap, SortColumn
from parquetry.metastore.metastore import Metastore, open_metastore
from parquetry.metastore.model import (
    Column,
    ColumnStatistics,
    Commit,
    Database,
    DataFile,
    TableMetadata,
    Totals,
)
from parquetry.metastore.partition import Partition
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.metastore.staging import StagedTable
from parquetry.metastore.transaction import Transaction
from parquetry.metastore.visible_rows import Examined

__all__ = [
    "PLAIN",
    "Arrangement",
    "AutoSkew",
    "BucketSpec",
    "Column",
    "ColumnStatistics",
    "Commit",
    "DataFile",
    "Database",
    "Examined",
    "Metastore",
    "Partition",
    "SkewMap",
    "SortColumn",
    "StagedTable",
    "TableMetadata",
    "TableSnapshot",
    "Totals",
    "Transaction",
    "open_metastore",
]
