"""Read conditions from text and from Spark's JSON.

`parse` and `operands` read text. `spark_json` reads trees; it uses `packed_values`, `char_padding`, and
`monotone` for functions of columns.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.predicate.reading.char_padding import SparkColumns
    from parquetry.predicate.reading.packed_values import raw_values
    from parquetry.predicate.reading.parse import parse_filter
    from parquetry.predicate.reading.spark_json import filter_from_json

lazy_exports(__name__)
