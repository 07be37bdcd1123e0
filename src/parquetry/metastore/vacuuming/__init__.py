"""Vacuum: delete what only old versions of a table need, data files first, then rows.

`vacuum` is the entrance. It calls `find_unneeded_files`, `delete_files` and `delete_rows` in this order.
`clocks` decides what is old. `parquetry.metastore.deletion` says which files belong to the table.
"""
