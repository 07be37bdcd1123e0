"""Sessions of other series of Spark, with jars of Iceberg or Delta from Maven Central and without ours.

They run in JVMs of their own, from Spark's jars alone: no PySpark of these series is installed.
"""
