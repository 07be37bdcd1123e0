"""By which hash rows come into buckets: Hive's old and new one and Spark's, of the same values to the same bit.

`bucket_hash` is the entrance. `portability` names the types whose equal values may land in different buckets.
"""
