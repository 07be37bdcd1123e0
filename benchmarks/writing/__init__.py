"""Writes, beside the same writes into Spark's own tables and into Apache Iceberg's."""
