"""Plan scans for Iceberg's clients: the files of a scan, page by page, from Iceberg's filters.

`plan` is the entrance, and `expressions` reads filters and shortens them for each file.
"""
