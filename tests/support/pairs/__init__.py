"""Small statements over shared tables: in each, two mechanisms meet that read less.

`statements` makes the statement of each pair, `tables` the tables, `files_read` the golden file's lines, and
`contradictions` what a report must not say. The test is `tests/spark/pairs/test_pairs.py`.
"""
