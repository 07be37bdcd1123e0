"""The choice of an access path: the way to a filter's partitions that reads the fewest keys.

The candidates are the table's own keys and its indexes. `access_paths` is the entrance. In stores that count
fast, `counted_paths` compares paths by counts of their keys. In others, `access_paths` and `ways` count a few
keys and take a sample. `metastore.partition_rows.skip_scan` decides, while a range of keys is read, whether
to jump.
"""
