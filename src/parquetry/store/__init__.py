"""Ordered maps of bytes: all that a metastore needs of a database.

`base` states the contract; `memory`, `sqlite`, `postgresql` and `hbase` implement it; `tests/conformance`
checks it. Only the metastore knows the meaning of the bytes.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.store.base import (
        Clock as Clock,
        Fields as Fields,
        KeepsDeletedRows as KeepsDeletedRows,
        Store as Store,
        Swap as Swap,
        SwapsTogether as SwapsTogether,
    )
    from parquetry.store.batches import in_batches as in_batches
    from parquetry.store.change_mark import ChangeMark as ChangeMark, read_change_mark as read_change_mark
    from parquetry.store.condition import (
        FALSE as FALSE,
        TRUE as TRUE,
        AllOf as AllOf,
        AnyOf as AnyOf,
        Condition as Condition,
        FieldCompare as FieldCompare,
        FieldIn as FieldIn,
        FieldMatches as FieldMatches,
        Operator as Operator,
        all_of as all_of,
        any_of as any_of,
        holds as holds,
    )
    from parquetry.store.groups import (
        Groups as Groups,
        KeyPage as KeyPage,
        KeyReader as KeyReader,
        Leading as Leading,
        Range as Range,
        ReadCosts as ReadCosts,
    )
    from parquetry.store.memory import MemoryStore as MemoryStore
    from parquetry.store.opening import (
        EMBEDDED as EMBEDDED,
        IN_MEMORY as IN_MEMORY,
        METASTORE_FOLDER as METASTORE_FOLDER,
        open_store as open_store,
        others_nearby as others_nearby,
        reopen_store as reopen_store,
        split_store as split_store,
        url_for_mark as url_for_mark,
    )
    from parquetry.store.passwords import (
        NO_PASSWORDS as NO_PASSWORDS,
        PASSWORD_VARIABLE as PASSWORD_VARIABLE,
        passwords_among as passwords_among,
        without_password as without_password,
    )
    from parquetry.store.sqlite import SQLiteStore as SQLiteStore

lazy_exports(__name__)
