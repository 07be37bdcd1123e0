"""A store on HBase, for metastores that outgrow one machine.

`store` keeps the promises of `base.Store`; `client` says them in Thrift2's words, for one table; `connection`
brings a request there and an answer back, whatever happens on the way; `filters` writes what HBase's own
filter language cannot say. Nothing has to be deployed on the servers.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.store.hbase.store import HBaseStore

lazy_exports(__name__)
