"""The common parts of servers of a warehouse: its start, its metastore, who may ask, and the texts of views.

`iceberg` and `hive` are such servers.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.serving.callers import require_secret as require_secret
    from parquetry.serving.opened import OpenedMetastore as OpenedMetastore
    from parquetry.serving.source import ServedSource as ServedSource, settle_memory as settle_memory
    from parquetry.serving.view_text import portable_text as portable_text

lazy_exports(__name__)
