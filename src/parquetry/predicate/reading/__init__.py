"""From text, and from Spark's JSON, to the nodes of a condition.

`parse` and `operands` read text; `spark_json` reads trees, with `packed_values`, `char_padding`, and what functions say of their
columns (`monotone`).
"""
