"""Range manifests: the files of some thousand neighbouring partitions in one row, in columns.

`records` has the rows and their state, `view` reads a version's partitions by them, `numbers` adds up what
they have, and `upkeep` writes them. No answer depends on them: each partition's own row stays, and a reader
falls back to it.
"""
