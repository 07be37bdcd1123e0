"""Random joins over mixed tables: buckets of some partitions, of others, or of none, and heavy keys.

`tables` makes the tables, each beside a table of Spark's own with the same rows. `queries` makes the joins,
`expressions` makes joins by computed keys, and `settings` what a session may have set. `__main__` runs many
of them in one session.
"""
