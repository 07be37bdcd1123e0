"""A warehouse has one metastore: a mark in the warehouse's folder names it, and only this one writes.

`mark` is the file in the folder, and `identity` the row in the store. `owner` compares them before writes.
`handover` gives the warehouse to another metastore.
"""
