"""A metastore as a folder of text files, written and read, whatever store the metastore is in.

`dump` writes it, `restore` reads it, and `format` is what both agree on.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.dump.format import Manifest
    from parquetry.maintenance.dump.restore import look_into

lazy_exports(__name__)
