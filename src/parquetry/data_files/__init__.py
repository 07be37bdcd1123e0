"""What a data file holds, by its footer: records of files, statistics, bounds, and many files at once in columns.

`records` says what is kept of one file. `footer_reader` and `footer_statistics` read it; `file_batch`, `statistics_batch` and
`projected_files` hold many. Whether a query needs a file is decided in `parquetry.prune`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.data_files.bounds import EXACT_INTEGERS as EXACT_INTEGERS
    from parquetry.data_files.bounds import MAX_DAY as MAX_DAY
    from parquetry.data_files.bounds import FileBounds as FileBounds
    from parquetry.data_files.bounds import bounds_reader as bounds_reader
    from parquetry.data_files.bounds_vectorized import BoundsInFiles as BoundsInFiles
    from parquetry.data_files.bounds_vectorized import bounds_in_files as bounds_in_files
    from parquetry.data_files.bounds_vectorized import each_in_files as each_in_files
    from parquetry.data_files.file_batch import FileColumns as FileColumns
    from parquetry.data_files.file_batch import RecordedFiles as RecordedFiles
    from parquetry.data_files.file_batch import without_earlier_rest as without_earlier_rest
    from parquetry.data_files.footer_reader import ArrowFooters as ArrowFooters
    from parquetry.data_files.footer_reader import FooterReader as FooterReader
    from parquetry.data_files.footer_statistics import Look as Look
    from parquetry.data_files.footer_statistics import from_bridge as from_bridge
    from parquetry.data_files.footer_statistics import read_parquet_footer as read_parquet_footer
    from parquetry.data_files.interleave import Interleaving as Interleaving
    from parquetry.data_files.projected_files import MAX_FILES_AS_RECORDS as MAX_FILES_AS_RECORDS
    from parquetry.data_files.projected_files import in_all_spellings as in_all_spellings
    from parquetry.data_files.projected_files import joined as joined
    from parquetry.data_files.projected_files import project_files as project_files
    from parquetry.data_files.records import CURRENT_DEFAULT as CURRENT_DEFAULT
    from parquetry.data_files.records import NO_CELL as NO_CELL
    from parquetry.data_files.records import PHYSICAL_NAME as PHYSICAL_NAME
    from parquetry.data_files.records import ColumnStatistics as ColumnStatistics
    from parquetry.data_files.records import FileRecord as FileRecord
    from parquetry.data_files.records import TableColumn as TableColumn
    from parquetry.data_files.records import is_same as is_same
    from parquetry.data_files.spark_readable import mixed_columns as mixed_columns
    from parquetry.data_files.spark_readable import twice_named as twice_named
    from parquetry.data_files.spark_readable import unfit_columns as unfit_columns
    from parquetry.data_files.spark_readable import unknown_columns as unknown_columns
    from parquetry.data_files.statistics_batch import UNKNOWN as UNKNOWN
    from parquetry.data_files.statistics_batch import Bound as Bound
    from parquetry.data_files.statistics_batch import Flags as Flags
    from parquetry.data_files.statistics_batch import Indices as Indices
    from parquetry.data_files.statistics_batch import Numbers as Numbers
    from parquetry.data_files.statistics_batch import RecordedColumn as RecordedColumn
    from parquetry.data_files.statistics_batch import StatisticsColumn as StatisticsColumn
    from parquetry.data_files.statistics_batch import numbers as numbers
    from parquetry.data_files.statistics_batch import optional as optional
    from parquetry.data_files.tuple_statistics import Row as Row
    from parquetry.data_files.tuple_statistics import StatedTuples as StatedTuples
    from parquetry.data_files.tuple_statistics import lacks as lacks

lazy_exports(
    __name__,
    {
        ".bounds": ["EXACT_INTEGERS", "FileBounds", "MAX_DAY", "bounds_reader"],
        ".bounds_vectorized": ["BoundsInFiles", "bounds_in_files", "each_in_files"],
        ".file_batch": ["FileColumns", "RecordedFiles", "without_earlier_rest"],
        ".footer_reader": ["ArrowFooters", "FooterReader"],
        ".footer_statistics": ["Look", "from_bridge", "read_parquet_footer"],
        ".interleave": ["Interleaving"],
        ".projected_files": ["MAX_FILES_AS_RECORDS", "in_all_spellings", "joined", "project_files"],
        ".records": [
            "CURRENT_DEFAULT",
            "ColumnStatistics",
            "FileRecord",
            "NO_CELL",
            "PHYSICAL_NAME",
            "TableColumn",
            "is_same",
        ],
        ".spark_readable": ["mixed_columns", "twice_named", "unfit_columns", "unknown_columns"],
        ".statistics_batch": [
            "Bound",
            "Flags",
            "Indices",
            "Numbers",
            "RecordedColumn",
            "StatisticsColumn",
            "UNKNOWN",
            "numbers",
            "optional",
        ],
        ".tuple_statistics": ["Row", "StatedTuples", "lacks"],
    },
)
