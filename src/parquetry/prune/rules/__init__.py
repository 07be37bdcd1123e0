"""The rules of selection, one a module, each with what it knows of partitions, directories, buckets or files."""
