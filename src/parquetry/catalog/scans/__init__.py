"""Scans: rows of a table for Arrow, pandas, Polars and DuckDB, without Spark.

`scan` is the entrance and has the public class. `planning` asks `parquetry.prune` for the files, and
`reading` reads them with `parquetry.rows`.
"""
