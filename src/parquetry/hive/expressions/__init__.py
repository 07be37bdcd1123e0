"""Conditions of Hive's clients as they send them: bytes of Kryo, read by a list of classes.

`read_partition_expression` in `conditions` is the entrance. `stream` and `objects` read the bytes by the
table in `layouts`, `tree` makes an expression of the objects, and the others a condition of that.
"""
