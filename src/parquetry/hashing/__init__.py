"""The hashes that put rows into buckets: Hive's version 1, Hive's version 2, and Spark's, exact to the bit.

`bucket_hash` is the entry point. `hash_types` names the types whose equal values may land in different
buckets.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.hashing.bucket_hash import (
        bucket_ids as bucket_ids,
        bucket_numbers as bucket_numbers,
        normalise_zero as normalise_zero,
    )
    from parquetry.hashing.hash_types import (
        HashType as HashType,
        arrow_type_name as arrow_type_name,
        number_type as number_type,
        unsettled_reason as unsettled_reason,
    )

lazy_exports(__name__)
