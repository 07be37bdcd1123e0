"""The rows of a table's partitions in the store: which belong to a version, and how a plan finds them.

`visible_rows` is the entrance. Nothing here writes, or decodes files.
"""
