"""What CREATE, ALTER, DROP and SHOW do to namespaces, tables, partitions and views.

`namespaces`, `tables`, `partitions` and `views` answer the bridge's questions. The other modules decide what a new table is, and where.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.tables.partitions import agreeing, values_of
    from parquetry.planner.tables.tables import load

lazy_exports(__name__)
