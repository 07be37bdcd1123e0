"""Write rows into a table with Spark: distribute them, arrange them into slots and buckets, and commit once.

`insert` is where an INSERT begins, and `rewrite_rows` where a DELETE, UPDATE or MERGE does.
"""
