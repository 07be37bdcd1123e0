"""A warehouse has one metastore: a mark in the warehouse's folder names it, and only this one writes.

`mark` is the file in the folder, and `identity` the row in the store. `owner` compares them before writes.
`handover` gives the warehouse to another metastore.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.ownership.handover import Claimed, Source, claim, receive, review_shared
    from parquetry.metastore.ownership.identity import read_identity
    from parquetry.metastore.ownership.mark import canonical, is_same_folder, read_mark
    from parquetry.metastore.ownership.owner import Ownership, Unmarked, ownership_of

lazy_exports(__name__)
