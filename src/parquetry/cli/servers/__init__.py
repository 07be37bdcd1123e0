"""The commands that serve a warehouse to other engines, each until it is interrupted.

`iceberg` has `serve-iceberg`, and `hive` has `serve-hive`.
"""
