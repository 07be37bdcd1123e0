"""A metastore as a text file, written and read: `dump`, `restore`, and the format of both."""
