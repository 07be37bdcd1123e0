"""Facts of a session for the adviser: queries as Spark plans them, and places of Spark's own tables.

`planned_queries` has the first, and `stock_tables` the second.
"""
