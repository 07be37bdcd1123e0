"""A warehouse has one metastore: a mark in the warehouse's folder names it, and only this one writes.

`mark` is the file in the folder, with the row in the store that it names. `owner` compares them before
writes. `handover` gives the warehouse to another metastore.
"""
