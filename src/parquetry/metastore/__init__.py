"""The catalog in an ordered store: tables, their partitions and files, and the commits that change them.

| module      | task                                                                     |
|-------------|--------------------------------------------------------------------------|
| `metastore` | the entrance: databases and tables by name                               |
| `namespace` | names of databases and tables                                            |
| `commits`   | transactions; a commit makes a new version of a table                    |
| `cleanup`   | removing rows that no version needs                                      |
| `ownership` | the mark of a warehouse, which names its metastore                       |
| `access`    | choosing between a table's keys and its indexes for reading a version    |
| `versions`  | reading a version                                                        |
| `manifest`  | coding lists of files                                                    |
| `storage`   | the keys and values of all rows                                          |

`parquetry.prune`, above this package, decides which files a query needs.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.data_files import ColumnStatistics, FileRecord, TableColumn
    from parquetry.layout import PLAIN, ArrangementSpec, AutoSkew, BucketSpec, SkewMap, SortColumn
    from parquetry.metastore.commits import Transaction
    from parquetry.metastore.location_rewrite import rewrite_locations
    from parquetry.metastore.metastore import Metastore, marked_metastore, open_metastore
    from parquetry.metastore.namespace import StagedTable
    from parquetry.metastore.storage import CommitRecord, TableMetadata, Totals
    from parquetry.metastore.versions import Examined, PartitionSnapshot, TableSnapshot
    from parquetry.metastore.warehouse_store import WarehouseStore

lazy_exports(__name__)
