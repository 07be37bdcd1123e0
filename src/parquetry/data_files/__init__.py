"""Data files and their statistics. One file is a record; many files are arrays, one for each field.

`records` defines the record of one file, and `footers` reads it. `stored_types` compares a file's types with
the table's. `many_files` stores many files. `parquetry.prune` decides whether a query needs a file.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.data_files.bounds import (
        MAX_DAY as MAX_DAY,
        FileBounds as FileBounds,
        bounds_reader as bounds_reader,
    )
    from parquetry.data_files.bounds_vectorized import (
        BoundsInFiles as BoundsInFiles,
        bounds_in_files as bounds_in_files,
        list_bounds_in_files as list_bounds_in_files,
    )
    from parquetry.data_files.defaults import default_value as default_value, has_default as has_default
    from parquetry.data_files.field_ids import (
        SPARK_FIELD_ID as SPARK_FIELD_ID,
        assign_field_ids as assign_field_ids,
        ids_in_footer as ids_in_footer,
        type_parts as type_parts,
        types_by_path as types_by_path,
    )
    from parquetry.data_files.footers.calendars import has_old_calendar as has_old_calendar
    from parquetry.data_files.footers.footer_reader import (
        ArrowFooters as ArrowFooters,
        FooterReader as FooterReader,
    )
    from parquetry.data_files.footers.orc_statistics import from_bridge as from_bridge
    from parquetry.data_files.footers.parquet_footer import ParquetFooter as ParquetFooter
    from parquetry.data_files.footers.parquet_statistics import (
        FooterVisitor as FooterVisitor,
        footer_record as footer_record,
        from_writer as from_writer,
        open_footer as open_footer,
        read_parquet_footer as read_parquet_footer,
    )
    from parquetry.data_files.footers.spark_readable import (
        describe_mismatches as describe_mismatches,
        unfit_columns as unfit_columns,
        unfit_statistics as unfit_statistics,
        unknown_columns as unknown_columns,
    )
    from parquetry.data_files.many_files.file_batch import (
        FileColumns as FileColumns,
        RecordedFiles as RecordedFiles,
        without_earlier_rest as without_earlier_rest,
    )
    from parquetry.data_files.many_files.projected_files import (
        MAX_FILES_AS_RECORDS as MAX_FILES_AS_RECORDS,
        Interleaving as Interleaving,
        in_all_spellings as in_all_spellings,
        interleave_files as interleave_files,
        project_files as project_files,
    )
    from parquetry.data_files.many_files.statistics_batch import (
        UNKNOWN as UNKNOWN,
        Belief as Belief,
        Bound as Bound,
        Flags as Flags,
        Indices as Indices,
        Numbers as Numbers,
        RecordedColumn as RecordedColumn,
        StatisticsColumn as StatisticsColumn,
        numbers as numbers,
        optional as optional,
    )
    from parquetry.data_files.nested_fields import (
        StructField as StructField,
        bound_fields as bound_fields,
        struct_fields as struct_fields,
        with_owners as with_owners,
    )
    from parquetry.data_files.records import (
        CURRENT_DEFAULT as CURRENT_DEFAULT,
        EXISTS_DEFAULT as EXISTS_DEFAULT,
        NO_CELL as NO_CELL,
        PHYSICAL_NAME as PHYSICAL_NAME,
        ColumnStatistics as ColumnStatistics,
        FileRecord as FileRecord,
        IdsInFile as IdsInFile,
        TableColumn as TableColumn,
        Trust as Trust,
        is_same as is_same,
        physical_name as physical_name,
    )
    from parquetry.data_files.stored_types import (
        Conversion as Conversion,
        find_conversion as find_conversion,
        without_table_types as without_table_types,
    )
    from parquetry.data_files.tuple_statistics import Row as Row, StatedTuples as StatedTuples, lacks as lacks

lazy_exports(__name__)
