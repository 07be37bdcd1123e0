"""Dump a metastore into a folder of text files, and restore it into any store.

`dump` writes the folder, `restore` reads it, and `format` defines it.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.dump.format import Manifest
    from parquetry.maintenance.dump.restore import look_into

lazy_exports(__name__)
