"""The command `parquetry`: a thin mirror of the Python API, data first (`--json`), tables for people."""
