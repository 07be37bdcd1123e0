"""How Spark's JVM reaches the planner: as an object that Py4J calls.

`callbacks` puts a `gateway` into a JVM, and opens it only to who has a token.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.spark.serving.callbacks import install

lazy_exports(__name__)
