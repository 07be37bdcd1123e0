"""Select the partitions and files that can hold an answer, answer from the metastore alone, and report both.

`select` runs the rules in the order of `steps.STEPS`. `rules` has a module for each rule. `report` says what
was left out, and why.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.prune.condition import (
        BucketMembership as BucketMembership,
        Condition as Condition,
        Origin as Origin,
    )
    from parquetry.prune.metadata_aggregates import (
        answer_aggregate as answer_aggregate,
        answer_whole_table as answer_whole_table,
    )
    from parquetry.prune.needed_rows import (
        AggregateCall as AggregateCall,
        AggregateFunction as AggregateFunction,
        FirstRows as FirstRows,
        Hindrance as Hindrance,
        SortKey as SortKey,
        WholeAggregate as WholeAggregate,
    )
    from parquetry.prune.partition_plans import (
        candidates as candidates,
        on_partitions as on_partitions,
        partition_plan as partition_plan,
    )
    from parquetry.prune.query_cache import PartitionCache as PartitionCache, rejects_null as rejects_null
    from parquetry.prune.reader_filters import (
        Usable as Usable,
        before_gregorian as before_gregorian,
        same_order_in_orc as same_order_in_orc,
        usable as usable,
    )
    from parquetry.prune.report.audit import AuditReport as AuditReport
    from parquetry.prune.report.html import (
        CELL_STYLE as CELL_STYLE,
        NUMBER_STYLE as NUMBER_STYLE,
        PLAIN_STYLE as PLAIN_STYLE,
        page_style as page_style,
    )
    from parquetry.prune.report.join import (
        BucketReport as BucketReport,
        HeavyKeysReport as HeavyKeysReport,
        JoinReport as JoinReport,
    )
    from parquetry.prune.report.join_values import (
        How as How,
        RunTimeReport as RunTimeReport,
        RuntimeValues as RuntimeValues,
        StepReduction as StepReduction,
        ValuesReport as ValuesReport,
        found_values as found_values,
        reductions as reductions,
    )
    from parquetry.prune.report.report import (
        Report as Report,
        ReportRow as ReportRow,
        report_rows as report_rows,
    )
    from parquetry.prune.report.scan import (
        IneffectiveCondition as IneffectiveCondition,
        NativeReport as NativeReport,
        RowsReport as RowsReport,
        ScanReport as ScanReport,
        Step as Step,
    )
    from parquetry.prune.report.sql_words import (
        join_words as join_words,
        key_of_not_in as key_of_not_in,
        node_words as node_words,
        plain_text as plain_text,
    )
    from parquetry.prune.report.text import condition_text as condition_text
    from parquetry.prune.rule import PruningRequest as PruningRequest, Remaining as Remaining
    from parquetry.prune.rules.arrangements import (
        bucket_specs as bucket_specs,
        may_have_directories as may_have_directories,
    )
    from parquetry.prune.rules.bucket_reasons import without_buckets as without_buckets
    from parquetry.prune.rules.bytes import BytesRule as BytesRule
    from parquetry.prune.rules.directory_knowledge import (
        ColumnValues as ColumnValues,
        directory_values as directory_values,
    )
    from parquetry.prune.rules.file_constants import file_constants as file_constants
    from parquetry.prune.rules.file_knowledge import (
        FileKnowledge as FileKnowledge,
        names_identify_columns as names_identify_columns,
        reading_by_position as reading_by_position,
        spelled as spelled,
    )
    from parquetry.prune.rules.files import FileRule as FileRule
    from parquetry.prune.rules.partitions import PartitionRule as PartitionRule
    from parquetry.prune.rules.results.constant_files import (
        ConstantFiles as ConstantFiles,
        constant_files as constant_files,
    )
    from parquetry.prune.rules.results.file_order import (
        file_order as file_order,
        order_columns as order_columns,
    )
    from parquetry.prune.rules.results.sort_keys import sort_type as sort_type, spark_columns as spark_columns
    from parquetry.prune.select import (
        SelectedFile as SelectedFile,
        Selection as Selection,
        decided_conditions as decided_conditions,
        each_file as each_file,
        each_file_of as each_file_of,
        exact_conditions as exact_conditions,
        files_by_arrangement as files_by_arrangement,
        select_for as select_for,
    )

lazy_exports(__name__)
