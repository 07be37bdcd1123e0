"""Many files as arrays, one for each field: `file_batch` has the files, `statistics_batch` their statistics.

`projected_files` takes some files of a batch, with the statistics of some columns, and puts batches in order.
"""
