"""Finding partitions among a million, beside Hive's metastore, and on HBase; `run` is the entrance."""
