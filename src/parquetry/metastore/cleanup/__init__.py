"""What commits leave behind: rows of those that failed, versions that nobody needs, entries of indexes.

Data files are deleted elsewhere, in `parquetry.maintenance.deletion`.
"""
