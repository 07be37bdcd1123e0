"""Report what the scans of a query read and pruned, and why joins shuffle: as data, as text, as rows and as
HTML.

`report` is the report of a whole query; `scan`, `join`, `join_values` and `audit` are its parts. `text` draws
it. `sql_words` has words of SQL for Spark's inner names.
"""
