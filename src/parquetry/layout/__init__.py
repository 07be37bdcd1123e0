"""How the rows of a partition are arranged: directories for heavy values, buckets, a sort order, and the schema's JSON.

Knows nothing of who asks: the metastore, pruning and the writers stand above it.
"""
