"""Operations on a metastore that Spark, the command line and Python offer, one module each.

They take a `Metastore`, and read and write its rows.
"""
