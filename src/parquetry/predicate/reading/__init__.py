"""Read conditions from text and from Spark's JSON.

`parse` and `operands` read text. `spark_json` reads trees; it uses `operand_trees` for columns,
literals and functions of columns, `char_padding`, and `join_values` for the values of joins.
"""
