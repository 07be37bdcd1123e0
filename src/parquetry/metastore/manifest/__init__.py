"""The lists of files of a partition: in its entry while they are short, in chunks when they are long.

`entries` is the entrance. `columns` and `inline` code the files, `summary` says what a chunk's files have in common, and
`merge_policy` says when chunks are written anew.
"""
