"""The manifest: the list of a partition's files, in its entry while it is short, in chunks when it is long.

`entries` is the entrance. `columns` and `inline` encode and decode the files, `summary` sums up a chunk's
statistics, and `chunks` decides when chunks are merged.
"""
