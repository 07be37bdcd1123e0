"""Let Spark's JVM call the planner, as an object of Py4J.

`callbacks` gives a JVM the `gateway`, which only a caller with the token can reach.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.spark.serving.callbacks import install

lazy_exports(__name__)
