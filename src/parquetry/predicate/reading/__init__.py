"""Read conditions from text and from Spark's JSON.

`parse` and `operands` read text. `spark_json` reads trees; it uses `packed_values`, `char_padding`, and
`expressions` for functions of columns.
"""
