"""Serve a warehouse as a read-only Iceberg REST catalog; `server` is the entrance.

`application` reads requests, and `catalog` answers them. `metadata` makes a table's metadata, and
`planning` the files of a scan from Iceberg's filters. `manifests` writes what engines need that
plan by themselves.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.iceberg.application import Application as Application
    from parquetry.iceberg.catalog import IcebergCatalog as IcebergCatalog
    from parquetry.iceberg.server import ServedWarehouse as ServedWarehouse, serve as serve

lazy_exports(__name__)
