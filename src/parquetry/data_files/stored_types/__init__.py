"""Stored types: what Spark's readers make of a column whose type in a file is not the one that the table has.

`by_format` is the entrance, `conversion` names the answers, and each format has a module.
"""
