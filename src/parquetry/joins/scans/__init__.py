"""Say what joins may rely on in the files of a scan.

`buckets` decides which buckets Spark may see, `file_merges` whether files are merged in their order, and
`heavy_keys` finds the keys with many rows.
"""
