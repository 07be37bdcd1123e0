"""A store on PostgreSQL, for a metastore that a team shares.

- `store` implements `base.Store`.
- `pages` reads rows of many ranges in few statements.
- `statements` has the SQL.
- `connections` runs a statement, and tries again after a failure.
- `address` reads the URL.

Nothing has to be installed on the server. The store is one table there.
"""
