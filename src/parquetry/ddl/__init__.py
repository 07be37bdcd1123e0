"""Hive's statements that Spark does not know, rewritten as statements that it knows: text in, text out, without Spark or a JVM.

`rewrite` is the entrance. Each clause has a module, which `definition` uses, too, for table properties that hold the same text.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.ddl.clustered_by import ClusteredBy as ClusteredBy
    from parquetry.ddl.clustered_by import parse_clustered_by as parse_clustered_by
    from parquetry.ddl.partition_spec import filter_text as filter_text
    from parquetry.ddl.session import Session as Session
    from parquetry.ddl.skewed_by import SkewedBy as SkewedBy
    from parquetry.ddl.skewed_by import is_not_directories as is_not_directories
    from parquetry.ddl.skewed_by import parse_skewed_by as parse_skewed_by
    from parquetry.ddl.skewed_locations import SkewedLocations as SkewedLocations
    from parquetry.ddl.skewed_locations import parse_skewed_locations as parse_skewed_locations

lazy_exports(
    __name__,
    {
        ".clustered_by": ["ClusteredBy", "parse_clustered_by"],
        ".partition_spec": ["filter_text"],
        ".session": ["Session"],
        ".skewed_by": ["SkewedBy", "is_not_directories", "parse_skewed_by"],
        ".skewed_locations": ["SkewedLocations", "parse_skewed_locations"],
    },
)
