"""Removing what commits leave behind: rows of failed commits, unneeded versions, entries of indexes.

`parquetry.metastore.deletion` deletes data files.
"""
