"""The command `parquetry`: a thin mirror of the Python API, data first (`--json`), tables for people.

`main` is the entrance. Commands are grouped in `show`, `maintain`, `publish` and `system`; each loads what it needs when it runs.
"""
