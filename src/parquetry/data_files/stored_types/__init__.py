"""Stored types: what Spark's readers make of a column whose type in a file is not the one that the table has.

`by_format` is the entrance, `conversion` names the answers, and each format has a module.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.data_files.stored_types.by_format import find_conversion, without_table_types
    from parquetry.data_files.stored_types.conversion import Conversion
    from parquetry.data_files.stored_types.orc_types import LOCAL_TIMESTAMP, parse_orc_type

lazy_exports(__name__)
