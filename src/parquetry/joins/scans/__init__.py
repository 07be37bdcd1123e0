"""Say what joins may rely on in the files of a scan.

`buckets` are those that Spark may see, `file_merges` keeps the order of files, and `heavy_keys` have many rows.
"""
