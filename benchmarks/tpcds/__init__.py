"""TPC-DS beside Spark, Apache Iceberg and an oracle, and docs/benchmarks.md, which is made of the results.

Begin with `run`.
"""
