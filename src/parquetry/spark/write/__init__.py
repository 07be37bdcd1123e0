"""How Spark writes rows into a table: distributed, arranged into slots and buckets, and recorded in one commit.

`insert` is the entrance; `rewrite_rows` is that of DELETE, UPDATE and MERGE.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.spark.write.committed_files import Uncommitted, collect
    from parquetry.spark.write.distribution import RowArrangement
    from parquetry.spark.write.heavy_hitters import counted
    from parquetry.spark.write.insert import file_options, write_files

lazy_exports(__name__)
