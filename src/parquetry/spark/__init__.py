"""Parquetry on Spark: the only package that imports pyspark.

`session` joins a session, the JVM calls `gateway`, `write` writes rows, and `report` says what queries read.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.spark.publishing import publish_table

lazy_exports(__name__)
