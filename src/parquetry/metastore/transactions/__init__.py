"""Transactions: the changes to one table, gathered before anything is written.

`transaction` is the entrance. `prepared` works out the effects on the base, and whether they are possible.
`parquetry.metastore.commits` makes a version of them.
"""
