"""Upkeep of all tables of a warehouse: what each needs, and doing it within a budget.

`needs` finds what tables need from the metastore alone, `work` does it. Both know nothing of the door that
they are called through.
"""
