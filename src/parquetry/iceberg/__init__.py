"""Serve a warehouse as a read-only Iceberg REST catalog; `server` is the entrance.

`catalog` answers the requests. `metadata` and `schema` make a table's metadata, and `plan` the files of a
scan from Iceberg's filters (`expressions`). `manifests` writes what engines need that plan by themselves.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.iceberg.catalog import IcebergCatalog as IcebergCatalog
    from parquetry.iceberg.server import application as application, serve as serve

lazy_exports(__name__)
