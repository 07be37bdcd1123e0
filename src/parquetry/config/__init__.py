"""The settings: their list, the meaning of their texts, and the precedence among several values of one.

- `registry` lists the settings, and `setting` defines one and reads its text.
- `checks` checks what users set, and refuses options of other table formats.
- `column_names` knows the columns that properties name.
- `precedence` decides between the levels: option of the read or write, session, table, catalog.
- `reference` writes `docs/configuration.md`.
- `defaults_file` reads and writes spark-defaults.conf.
- `spark` names Spark's own settings that matter.
- `spark_versions` lists the series of Spark, and what each of them lacks.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.config.checks import (
        check_catalog_options as check_catalog_options,
        check_codec as check_codec,
        check_properties as check_properties,
        is_fixed as is_fixed,
        is_of_reads as is_of_reads,
        our_name as our_name,
        our_names as our_names,
        read_catalog_option as read_catalog_option,
        refuse_foreign as refuse_foreign,
    )
    from parquetry.config.column_names import naming as naming, rename_column as rename_column
    from parquetry.config.defaults_file import (
        LIST_SETTINGS as LIST_SETTINGS,
        beside_existing as beside_existing,
        defaults_entries as defaults_entries,
        defaults_line as defaults_line,
        with_part as with_part,
        with_settings as with_settings,
    )
    from parquetry.config.precedence import Settings as Settings, settle as settle
    from parquetry.config.registry import (
        AUDIT as AUDIT,
        AUTO_COMPACT as AUTO_COMPACT,
        AUTO_COMPACT_MAX_BYTES as AUTO_COMPACT_MAX_BYTES,
        AUTO_COMPACT_MIN_FILES as AUTO_COMPACT_MIN_FILES,
        BLOOM_FILTER_COLUMNS as BLOOM_FILTER_COLUMNS,
        BUCKET_BEGIN_PARTITION as BUCKET_BEGIN_PARTITION,
        BUCKET_JOIN as BUCKET_JOIN,
        BUCKETING_VERSION as BUCKETING_VERSION,
        CATALOG_OPTIONS as CATALOG_OPTIONS,
        CLUSTERED_BY as CLUSTERED_BY,
        FIELD_STATISTICS as FIELD_STATISTICS,
        HISTORY_STATEMENTS as HISTORY_STATEMENTS,
        HIVE_COMPATIBLE as HIVE_COMPATIBLE,
        HOT_BUCKET_ROWS as HOT_BUCKET_ROWS,
        ISOLATION as ISOLATION,
        LAYOUT as LAYOUT,
        LIST_BUCKETING_RULES as LIST_BUCKETING_RULES,
        NATIVE_SCANS as NATIVE_SCANS,
        PARTITION_COLUMNS_IN_FILES as PARTITION_COLUMNS_IN_FILES,
        PARTITION_INDEXES as PARTITION_INDEXES,
        PRUNING_HISTORY as PRUNING_HISTORY,
        PRUNING_HISTORY_KEEP as PRUNING_HISTORY_KEEP,
        PRUNING_HISTORY_ROWS as PRUNING_HISTORY_ROWS,
        PURGE_ON_OVERWRITE as PURGE_ON_OVERWRITE,
        RUNTIME_PRUNING as RUNTIME_PRUNING,
        RUNTIME_PRUNING_MAX_BUILD_SIZE as RUNTIME_PRUNING_MAX_BUILD_SIZE,
        RUNTIME_PRUNING_MAX_WAIT as RUNTIME_PRUNING_MAX_WAIT,
        SETTINGS as SETTINGS,
        SKEW_JOIN as SKEW_JOIN,
        SKEWED_BY as SKEWED_BY,
        SKEWED_LOCATIONS as SKEWED_LOCATIONS,
        SORT_BY as SORT_BY,
        TABLE_SETTINGS as TABLE_SETTINGS,
        TARGET_FILE_SIZE as TARGET_FILE_SIZE,
        TRANSACTION_MAX_IDLE as TRANSACTION_MAX_IDLE,
        VACUUM_GRACE_HOURS as VACUUM_GRACE_HOURS,
        VACUUM_RETENTION_CHECK as VACUUM_RETENTION_CHECK,
        WRITERS as WRITERS,
    )
    from parquetry.config.setting import (
        SESSION_PREFIX as SESSION_PREFIX,
        HistoryMode as HistoryMode,
        Setting as Setting,
        count_up_to as count_up_to,
        parse_boolean as parse_boolean,
        parse_size as parse_size,
    )
    from parquetry.config.spark import SPARK_SETTINGS as SPARK_SETTINGS
    from parquetry.config.spark_versions import (
        PREVIEW as PREVIEW,
        SPARK_SERIES as SPARK_SERIES,
        series_of as series_of,
        series_text as series_text,
    )

lazy_exports(__name__)
