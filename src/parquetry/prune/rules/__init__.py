"""The rules of selection, one per module, with statistics of partitions, directories, buckets, files.

`parquetry.prune.steps` lists them in their order. No other module depends on a single rule.
"""
