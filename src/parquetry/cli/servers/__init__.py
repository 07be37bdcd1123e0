"""The commands that serve a warehouse, each until it is interrupted.

`iceberg` has `serve-iceberg`, and `hive` has `serve-hive`, for other engines. `page` has `ui`, for people.
"""
