"""CREATE, ALTER, DROP and SHOW, for namespaces, tables, partitions and views.

`namespaces`, `tables`, `partitions` and `views` answer the bridge's questions. The other modules work out a
new table's metadata and location.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.tables.partitions import agreeing, values_of
    from parquetry.planner.tables.tables import load

lazy_exports(__name__)
