"""Where files are: URIs as text, file systems, paths of partitions, and names of data files.

`uri` is the one module that takes a URI apart, and `filesystem` opens one. Nothing here knows a table.
"""
