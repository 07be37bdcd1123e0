"""The rows of a metastore: their keys, their records, a table's head, checksums, and versions of the format.

`keyspace` lists every kind of row.
"""
