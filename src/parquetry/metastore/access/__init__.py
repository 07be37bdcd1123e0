"""Which way to a filter's partitions reads the fewest keys: the table's own keys, or an index's.

`access_paths` chooses, `ways` counts, and `key_sample` estimates.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.access.access_paths import cheapest_plan

lazy_exports(__name__)
