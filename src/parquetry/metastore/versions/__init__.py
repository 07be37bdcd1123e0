"""One version of a table, read: its partitions, their files, and what has changed since another version.

`snapshot` is the entrance. Nothing here is written.
"""
