"""Whether rows lie where their files' records say: in the right bucket, in the right directory, in order.

Reads columns of data files; `verify` looks through a table.
"""
