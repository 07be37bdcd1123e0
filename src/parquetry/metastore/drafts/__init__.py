"""Transactions of several tables under way: a store that shows their changes to themselves alone."""
