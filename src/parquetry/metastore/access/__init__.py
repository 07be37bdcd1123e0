"""The choice of an access path: the way to a filter's partitions that reads the fewest keys.

The candidates are the table's own keys and its indexes. `access_paths` chooses and estimates, `ways` counts
keys.
"""
