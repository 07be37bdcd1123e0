"""How a table changes: a transaction gathers changes, and the committer makes them visible at once.

`committer` tells the protocol, whose steps are in `attempt`. `validate` and `arrangement_rules` refuse, `conflicts` compares with others' commits, and `apply` makes
the new rows.
"""
