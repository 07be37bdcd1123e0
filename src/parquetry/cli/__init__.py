"""The command `parquetry`: a thin mirror of the Python API, with tables for people and JSON for programs.

`main` is the entrance. The commands are in `show`, `rows`, `operations`, `publish` and `system`. Each loads
only what it needs.
"""
