"""Prepare a write before Spark runs it: whether it is allowed, its arrangement, and its folders.

`destinations` is the entrance. `statement_reads` finds the commits of others that conflict with the
statement.
"""
