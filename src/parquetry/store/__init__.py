"""Ordered maps of bytes: all that a metastore needs of a database.

`base` states the contract; `memory`, `sqlite`, `postgresql` and `hbase` implement it; `tests/conformance`
checks it. Only the metastore knows the meaning of the bytes.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.store.base import Clock, Fields, Store
    from parquetry.store.condition import (
        FALSE,
        TRUE,
        AllOf,
        AnyOf,
        Condition,
        FieldCompare,
        FieldIn,
        FieldMatches,
        Operator,
        all_of,
        any_of,
        holds,
    )
    from parquetry.store.groups import Groups, Range
    from parquetry.store.memory import MemoryStore
    from parquetry.store.opening import (
        EMBEDDED,
        IN_MEMORY,
        METASTORE_FOLDER,
        open_store,
        others_nearby,
        recorded_url,
        reopen_store,
        split_store,
    )
    from parquetry.store.passwords import (
        NO_PASSWORDS,
        PASSWORD_VARIABLE,
        passwords_among,
        without_password,
    )
    from parquetry.store.sqlite import SQLiteStore

lazy_exports(__name__)
