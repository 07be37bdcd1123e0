"""Databases and the names of tables: their rows, how they change, and tables that no name leads to.

`databases` and `names` maintain the rows, `staging` fills a table before it gets its name, and `orphans`
finds tables without a name.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.namespace.databases import Databases
    from parquetry.metastore.namespace.names import NamedTable, TableNames, new_token
    from parquetry.metastore.namespace.orphans import Orphan, Orphans
    from parquetry.metastore.namespace.staging import StagedTable

lazy_exports(__name__)
