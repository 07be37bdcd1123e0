"""CREATE, ALTER, DROP and SHOW, for namespaces, tables, partitions and views.

`namespaces`, `tables`, `partitions` and `views` answer the bridge's questions. The other modules work out a
new table's metadata and location.
"""
