"""Check whether a metastore and its files agree, and repair differences; check the storage of a warehouse.

`fsck` is the entrance to the former. It runs the checks; each check has a module. `storage_check` is the
latter.
"""
