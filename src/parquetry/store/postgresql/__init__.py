"""A store on PostgreSQL, for a metastore that a team shares.

`store` keeps the promises of `base.Store`; `pages` reads rows of many ranges in few statements; `statements` has the
SQL; `connections` brings a statement there and an answer back, whatever happens on the way; `address` reads the URL.
Nothing has to be installed on the server, and one table is all that it holds.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.store.postgresql.store import PostgreSQLStore

lazy_exports(__name__)
