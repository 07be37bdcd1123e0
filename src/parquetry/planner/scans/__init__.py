"""Questions about a scan: its files, its partitioning, and runtime filters that arrive while it runs.

`scans` is the entrance. `parquetry.prune` decides what is pruned.
"""
