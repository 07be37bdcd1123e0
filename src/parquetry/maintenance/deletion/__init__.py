"""Which files belong to a table, who else claims them, and which of them may be deleted.

`vacuum` is the entrance, `owned_files` the rule.
"""
