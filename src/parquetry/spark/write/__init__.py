"""How Spark writes rows into a table: distributed, arranged into slots and buckets, and recorded in one commit.

`insert` is the entrance; `rewrite_rows` is that of DELETE, UPDATE and MERGE.
"""
