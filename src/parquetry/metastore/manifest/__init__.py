"""The manifest: the list of a partition's files, in its entry while it is short, in chunks when it is long.

`entries` is the entrance. `columns` and `inline` encode and decode the files, `summary` sums up a chunk's
statistics, and `merge_policy` decides when chunks are merged.
"""
