"""Which files and lists of files are worth writing anew, and how: small files, other buckets, other heavy values.

Pure planning, but for lists of files, which `compact_metadata` writes. Spark writes data files.
"""
