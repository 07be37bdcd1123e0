"""What tables there are, which partitions and files they have, and how that changes, in an ordered store.

`metastore` is the entrance: databases and tables by name. Below it, `namespace` keeps the names, `commits` makes versions, `cleanup`
removes what no version needs, `access` and `versions` read one, `manifest` codes lists of files, and `storage` knows every row.
Which files a query needs is decided above, in `parquetry.prune`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.data_files import ColumnStatistics, FileRecord, TableColumn
    from parquetry.layout import PLAIN, ArrangementSpec, AutoSkew, BucketSpec, SkewMap, SortColumn
    from parquetry.metastore.commits import Transaction
    from parquetry.metastore.location_rewrite import rewrite_locations
    from parquetry.metastore.metastore import Metastore, open_metastore
    from parquetry.metastore.namespace import StagedTable
    from parquetry.metastore.storage import CommitRecord, TableMetadata, Totals
    from parquetry.metastore.versions import Examined, PartitionSnapshot, TableSnapshot
    from parquetry.metastore.warehouse_store import WarehouseStore

lazy_exports(__name__)
