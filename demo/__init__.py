"""`make demo`: TPC-DS through Parquetry, each answer checked against plain Spark. Not part of the library."""
