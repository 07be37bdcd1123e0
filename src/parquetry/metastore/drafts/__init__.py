"""Transactions of several tables under way: a view of the store that shows a transaction its own changes.

`draft_store` is that view, and `draft` makes one commit of the changes.
"""
