"""Settings that make a catalog known to Spark.

Nothing here imports pyspark, so that a cluster needs none of pip's.

`settings` is the entry point. `spark_in_use` finds the version of Spark, and the bridge's jar for it.
"""
