"""Changes of a table: a transaction gathers changes, and the committer makes them visible in one step.

- `committer` is the protocol; `attempt` has its steps.
- `validate` and `arrangement_rules` refuse impossible changes.
- `conflicts` compares a transaction with others' commits.
- `apply` makes the new rows.
"""
