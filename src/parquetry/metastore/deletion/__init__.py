"""Delete a table's files: find the files that it owns, other tables' claims to them, and files to delete.

`vacuum` is the entrance. It calls `find_unneeded_files`, `delete_files` and `delete_rows` in this order.
`owned_files` has the rule.
"""
