"""By which hash rows come into buckets: Hive's old and new one and Spark's, of the same values to the same bit.

`bucket_hash` is the entrance. `portability` names the types whose equal values may land in different buckets.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.hashing.bucket_hash import bucket_ids as bucket_ids
    from parquetry.hashing.bucket_hash import bucket_numbers as bucket_numbers
    from parquetry.hashing.bucket_hash import normalised as normalised
    from parquetry.hashing.hash_types import HashType as HashType
    from parquetry.hashing.portability import unsettled as unsettled

lazy_exports(
    __name__,
    {
        ".bucket_hash": ["bucket_ids", "bucket_numbers", "normalised"],
        ".hash_types": ["HashType"],
        ".portability": ["unsettled"],
    },
)
