"""Data files and their statistics. One file is a record; many files are arrays, one for each field.

`records` defines the record of one file, and `footers` reads it. `stored_types` compares a file's types with
the table's. `file_batch`, `statistics_batch` and `projected_files` store many files. `parquetry.prune`
decides whether a query needs a file.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.data_files.bounds import EXACT_INTEGERS, MAX_DAY, FileBounds, bounds_reader
    from parquetry.data_files.bounds_vectorized import BoundsInFiles, bounds_in_files, each_in_files
    from parquetry.data_files.file_batch import FileColumns, RecordedFiles, without_earlier_rest
    from parquetry.data_files.interleave import Interleaving
    from parquetry.data_files.projected_files import (
        MAX_FILES_AS_RECORDS,
        in_all_spellings,
        joined,
        project_files,
    )
    from parquetry.data_files.records import (
        CURRENT_DEFAULT,
        NO_CELL,
        PHYSICAL_NAME,
        ColumnStatistics,
        FileRecord,
        TableColumn,
        Trust,
        is_same,
    )
    from parquetry.data_files.statistics_batch import (
        UNKNOWN,
        Belief,
        Bound,
        Flags,
        Indices,
        Numbers,
        RecordedColumn,
        StatisticsColumn,
        numbers,
        optional,
    )
    from parquetry.data_files.tuple_statistics import Row, StatedTuples, lacks

lazy_exports(__name__)
