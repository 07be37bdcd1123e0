"""How rows become directories and files: path names, what a file holds, what lies below a location.

Knows nothing of who asks: the metastore, pruning and the writers stand above it.
"""
