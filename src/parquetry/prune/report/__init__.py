"""Report what the scans of a query read and pruned, and why joins shuffle: as data, as text, as rows and as
HTML.

`report` is the report of a whole query; `scan`, `buckets`, `join`, `heavy_keys`, `join_values` and `runtime`
are its parts. `sql_words` has words of SQL for Spark's inner names.
"""
