"""Find the files of a table that may be deleted: its own files, and other tables' claims to folders.

`owned_files` has the rule, and `dropped_files` follows it for DROP, REPLACE and PURGE.
"""
