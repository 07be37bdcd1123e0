"""The command `parquetry`: a thin mirror of the Python API, with JSON for programs (`--json`) and tables for
people.

`main` is the entrance. The commands are in `show`, `maintain`, `publish` and `system`. Each loads only what
it needs.
"""
