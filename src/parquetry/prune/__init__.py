"""Which partitions and files can hold an answer, what the metastore answers alone, and the report of it."""
