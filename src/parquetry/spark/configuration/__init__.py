"""Settings that make a catalog known to Spark.

`catalog_settings` writes them. `spark_in_use` finds the version of Spark, and the bridge's jar for it.
Nothing here imports pyspark, so that a cluster needs none of pip's.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.spark.configuration.catalog_settings import (
        BRIDGE_PACKAGE,
        CATALOG_CLASS,
        EXTENSIONS_CLASS,
        SPARK_DEFAULTS,
        session_settings,
        settings,
    )
    from parquetry.spark.configuration.spark_in_use import defaults_file, version_in_use, version_of_home

lazy_exports(__name__)
