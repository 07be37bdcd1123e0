"""What a data file holds, by its footer: records of files, statistics, bounds, and many files at once in columns.

`records` says what is kept of one file. `footer_reader` and `footer_statistics` read it; `file_batch`, `statistics_batch` and
`projected_files` hold many. Whether a query needs a file is decided in `parquetry.prune`.
"""
