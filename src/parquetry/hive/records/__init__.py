"""Tables, views and partitions as records of Hive's metastore.

`tables` also says which tables are refused, and `spark_parameters` has what Spark adds to records.
"""
