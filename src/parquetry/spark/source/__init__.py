"""Spark's Python data source `parquetry`, for sessions that take no jar.

`python_source` is the entrance. `pushed_filters` reads the filters that Spark hands over.
"""
