"""Write rows into a table with Spark: distribute them, arrange them into slots and buckets, and commit once.

`insert` is where an INSERT begins, and `rewrite_rows` where a DELETE, UPDATE or MERGE does.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.spark.write.committed_files import Uncommitted, collect
    from parquetry.spark.write.distribution import RowArrangement
    from parquetry.spark.write.heavy_hitters import counted
    from parquetry.spark.write.insert import file_options, write_files

lazy_exports(__name__)
