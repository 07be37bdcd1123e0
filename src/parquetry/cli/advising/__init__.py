"""The commands about queries that have run: their history, their reports, and advice on layouts.

`queries`, `reports` and `advise` have a command each.
"""
