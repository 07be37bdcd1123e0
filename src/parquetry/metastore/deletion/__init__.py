"""Delete a table's files: find the files that it owns, other tables' claims to them, and files to delete.

`vacuum` is the entrance; `owned_files` has the rule.
"""
