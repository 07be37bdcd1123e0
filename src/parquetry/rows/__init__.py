"""Read the rows of a data file as the table says: with its names, its types, its defaults and its partitions.

The entrances are `reader.read_file`, which yields batches of one file, and `small_files.read_small_files`,
which yields batches of many. They give the rows that Spark's readers give. What they cannot read as Spark
does, they refuse with an error that names the file, the column and a remedy. The choice of files is for
`parquetry.prune`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.rows.arrow_types import arrow_schema as arrow_schema, constant_scalar as constant_scalar
    from parquetry.rows.calendars import require_certain_days as require_certain_days
    from parquetry.rows.reader import read_file as read_file, require_plain_file as require_plain_file
    from parquetry.rows.request import FileRows as FileRows, ReadRequest as ReadRequest
    from parquetry.rows.row_filter import matching_rows as matching_rows, require_exact as require_exact
    from parquetry.rows.small_files import read_small_files as read_small_files
    from parquetry.rows.stored_file import StoredFile as StoredFile, plain as plain
    from parquetry.rows.valid_texts import require_valid_texts as require_valid_texts

lazy_exports(__name__)
