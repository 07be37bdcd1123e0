"""Questions about a scan: its files, its partitioning, and the values of joins that come while it runs.

`scans` is the entrance. What is left out is decided in `parquetry.prune`.
"""
