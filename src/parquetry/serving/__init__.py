"""The common parts of servers of a warehouse: start, HTTP, its metastore, who may ask, and texts of views.

`iceberg`, `hive` and `ui` are such servers.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.serving.asgi import Receive as Receive, Send as Send, live as live
    from parquetry.serving.callers import refuse_caller as refuse_caller, require_secret as require_secret
    from parquetry.serving.http import run_application as run_application
    from parquetry.serving.opened import OpenedMetastore as OpenedMetastore
    from parquetry.serving.source import ServedSource as ServedSource, settle_memory as settle_memory
    from parquetry.serving.view_text import portable_text as portable_text

lazy_exports(__name__)
