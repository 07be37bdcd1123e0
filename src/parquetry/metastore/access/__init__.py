"""The choice of an access path: the way to a filter's partitions that reads the fewest keys.

The candidates are the table's own keys and its indexes. `access_paths` chooses, `ways` counts keys, and
`key_sample` estimates.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.access.access_paths import cheapest_plan

lazy_exports(__name__)
