"""Text of SQL, taken apart and put together: tokens, a cursor over them, literals, and edits that leave the rest of a text as it is.

Knows words and quotes, and no table. Hive's clauses (`ddl`) and conditions (`predicate.reading`) are read with it.
"""
