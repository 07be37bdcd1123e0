"""What a query asks for: conditions read, fitted to a table, rewritten and judged.

`nodes` are the conditions, `filter` one that is ready for use. `reading` makes them of text and of Spark's trees, `pruning` judges
them for many containers at once.
"""
