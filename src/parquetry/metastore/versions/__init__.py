"""Reading one version of a table: its partitions, their files, and what has changed since another version.

`snapshot` is the entrance. Nothing here writes.
"""
