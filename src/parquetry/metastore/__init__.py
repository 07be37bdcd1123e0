"""What tables there are, which partitions and files they have, and how that changes, in an ordered store.

`metastore` is the entrance: databases and tables by name. Below it, `namespace` keeps the names, `commits` makes versions, `cleanup`
removes what no version needs, `access` and `versions` read one, `manifest` codes lists of files, and `storage` knows every row.
Which files a query needs is decided above, in `parquetry.prune`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.data_files import ColumnStatistics as ColumnStatistics
    from parquetry.data_files import FileRecord as FileRecord
    from parquetry.data_files import TableColumn as TableColumn
    from parquetry.layout import PLAIN as PLAIN
    from parquetry.layout import ArrangementSpec as ArrangementSpec
    from parquetry.layout import AutoSkew as AutoSkew
    from parquetry.layout import BucketSpec as BucketSpec
    from parquetry.layout import SkewMap as SkewMap
    from parquetry.layout import SortColumn as SortColumn
    from parquetry.metastore.commits import Transaction as Transaction
    from parquetry.metastore.location_rewrite import rewrite_locations as rewrite_locations
    from parquetry.metastore.metastore import Metastore as Metastore
    from parquetry.metastore.metastore import open_metastore as open_metastore
    from parquetry.metastore.namespace import StagedTable as StagedTable
    from parquetry.metastore.storage import CommitRecord as CommitRecord
    from parquetry.metastore.storage import TableMetadata as TableMetadata
    from parquetry.metastore.storage import Totals as Totals
    from parquetry.metastore.versions import Examined as Examined
    from parquetry.metastore.versions import PartitionSnapshot as PartitionSnapshot
    from parquetry.metastore.versions import TableSnapshot as TableSnapshot
    from parquetry.metastore.warehouse_store import WarehouseStore as WarehouseStore

lazy_exports(
    __name__,
    {
        "parquetry.data_files": ["ColumnStatistics", "FileRecord", "TableColumn"],
        "parquetry.layout": ["ArrangementSpec", "AutoSkew", "BucketSpec", "PLAIN", "SkewMap", "SortColumn"],
        ".commits": ["Transaction"],
        ".location_rewrite": ["rewrite_locations"],
        ".metastore": ["Metastore", "open_metastore"],
        ".namespace": ["StagedTable"],
        ".storage": ["CommitRecord", "TableMetadata", "Totals"],
        ".versions": ["Examined", "PartitionSnapshot", "TableSnapshot"],
        ".warehouse_store": ["WarehouseStore"],
    },
)
