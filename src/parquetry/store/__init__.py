"""Ordered maps of bytes: all that a metastore asks of a database.

`base` says what is promised, `memory` and `sqlite` keep it, `tests/conformance` checks it. What the bytes
mean is the metastore's business.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.store.base import Fields as Fields
    from parquetry.store.base import Store as Store
    from parquetry.store.condition import FALSE as FALSE
    from parquetry.store.condition import TRUE as TRUE
    from parquetry.store.condition import AllOf as AllOf
    from parquetry.store.condition import AnyOf as AnyOf
    from parquetry.store.condition import Condition as Condition
    from parquetry.store.condition import FieldCompare as FieldCompare
    from parquetry.store.condition import FieldIn as FieldIn
    from parquetry.store.condition import FieldMatches as FieldMatches
    from parquetry.store.condition import Operator as Operator
    from parquetry.store.condition import all_of as all_of
    from parquetry.store.condition import any_of as any_of
    from parquetry.store.groups import Groups as Groups
    from parquetry.store.groups import Range as Range
    from parquetry.store.memory import MemoryStore as MemoryStore
    from parquetry.store.opening import open_store as open_store
    from parquetry.store.opening import others_nearby as others_nearby
    from parquetry.store.sqlite import SQLiteStore as SQLiteStore

lazy_exports(
    __name__,
    {
        ".base": ["Fields", "Store"],
        ".condition": [
            "AllOf",
            "AnyOf",
            "Condition",
            "FALSE",
            "FieldCompare",
            "FieldIn",
            "FieldMatches",
            "Operator",
            "TRUE",
            "all_of",
            "any_of",
        ],
        ".groups": ["Groups", "Range"],
        ".memory": ["MemoryStore"],
        ".opening": ["open_store", "others_nearby"],
        ".sqlite": ["SQLiteStore"],
    },
)
