"""Settings that make a catalog known to Spark.

`catalog_settings` writes them. `spark_in_use` finds the version of Spark, and the bridge's jar for it.
Nothing here imports pyspark, so that a cluster needs none of pip's.
"""
