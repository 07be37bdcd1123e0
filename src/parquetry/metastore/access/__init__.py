"""Which way to a filter's partitions reads the fewest keys: the table's own keys, or an index's.

`access_paths` chooses, `ways` counts, and `key_sample` estimates.
"""
