"""Queries on Spark: each module is a benchmark of its own."""
