"""Read conditions from text and from Spark's JSON.

`parse` and `operands` read text. `spark_json` reads trees; it uses `operand_trees` for columns and literals,
`expressions` for functions of columns, `char_padding`, and `join_values`, `boxes` and `packed_values` for the
values of joins.
"""
