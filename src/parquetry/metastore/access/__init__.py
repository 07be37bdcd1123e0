"""The choice of an access path: the way to a filter's partitions that reads the fewest keys.

The candidates are the table's own keys and its indexes. `access_paths` is the entrance. `counted_paths`
compares paths by counts of their keys, in stores that count fast; in others `access_paths` and `ways` count a
few keys and take a sample. Whether a range of keys is read in jumps is decided while it is read
(`metastore.versions.skip_scan`).
"""
