"""Databases and the names of tables: their rows, how they change, and tables that no name leads to.

`databases` and `names` maintain the rows, `staging` fills a table before it gets its name, and `orphans`
finds tables without a name.
"""
