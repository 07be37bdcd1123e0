"""Hive's statements that Spark does not know, rewritten as statements that it knows: text in, text out, without Spark or a JVM.

`rewrite` is the entrance. Each clause has a module, which `definition` uses, too, for table properties that hold the same text.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.ddl.clustered_by import ClusteredBy, parse_clustered_by
    from parquetry.ddl.partition_spec import filter_text
    from parquetry.ddl.session import Session
    from parquetry.ddl.skewed_by import SkewedBy, is_not_directories, parse_skewed_by
    from parquetry.ddl.skewed_locations import SkewedLocations, parse_skewed_locations

lazy_exports(__name__)
