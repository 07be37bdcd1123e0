"""Adopt files that others wrote into a table's folders: find, compare and describe them.

`sync` is the entrance. `table_diff` compares, `discover` lists, and `cells` and `buckets` find out which rows
the files hold.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.adoption.buckets import adopt_files as adopt_files
    from parquetry.adoption.compare import Difference as Difference
    from parquetry.adoption.footers import read_records as read_records
    from parquetry.adoption.sync import SyncOptions as SyncOptions, synchronise as synchronise

lazy_exports(__name__)
