"""Changes of a table: a transaction gathers changes, and the committer makes them visible in one step.

- `committer` is the protocol. A commit is `prepared`, takes a `ticket`, makes an `attempt`, and becomes
  visible by `swap_head`.
- `arrangement_rules` refuse files that do not fit their partition.
- `conflicts` compares a transaction with others' commits.
"""
