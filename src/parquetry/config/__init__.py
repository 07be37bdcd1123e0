"""The settings: which there are, what their texts mean, and which of several values of one setting holds.

`registry` lists them, `setting` says what one is, `parse` reads texts, `precedence` decides between read or write option, session,
table and catalog. `reference` writes `docs/configuration.md`. `spark` names Spark's own settings that matter, and `foreign_options`
refuses options of other table formats.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.config.foreign_options import refuse_foreign as refuse_foreign
    from parquetry.config.parse import count_up_to as count_up_to
    from parquetry.config.parse import parse_boolean as parse_boolean
    from parquetry.config.parse import parse_size as parse_size
    from parquetry.config.precedence import Settings as Settings
    from parquetry.config.precedence import settle as settle
    from parquetry.config.registry import BLOOM_FILTER_COLUMNS as BLOOM_FILTER_COLUMNS
    from parquetry.config.registry import BUCKET_BEGIN_PARTITION as BUCKET_BEGIN_PARTITION
    from parquetry.config.registry import BUCKET_JOIN as BUCKET_JOIN
    from parquetry.config.registry import BUCKETING_VERSION as BUCKETING_VERSION
    from parquetry.config.registry import CATALOG_OPTIONS as CATALOG_OPTIONS
    from parquetry.config.registry import CLUSTERED_BY as CLUSTERED_BY
    from parquetry.config.registry import HIVE_COMPATIBLE as HIVE_COMPATIBLE
    from parquetry.config.registry import ISOLATION as ISOLATION
    from parquetry.config.registry import LIST_BUCKETING_RULES as LIST_BUCKETING_RULES
    from parquetry.config.registry import PARTITION_INDEXES as PARTITION_INDEXES
    from parquetry.config.registry import PURGE_ON_OVERWRITE as PURGE_ON_OVERWRITE
    from parquetry.config.registry import RUNTIME_PRUNING as RUNTIME_PRUNING
    from parquetry.config.registry import RUNTIME_PRUNING_MAX_BUILD_SIZE as RUNTIME_PRUNING_MAX_BUILD_SIZE
    from parquetry.config.registry import RUNTIME_PRUNING_MAX_WAIT as RUNTIME_PRUNING_MAX_WAIT
    from parquetry.config.registry import SKEWED_BY as SKEWED_BY
    from parquetry.config.registry import SKEWED_LOCATIONS as SKEWED_LOCATIONS
    from parquetry.config.registry import SORT_BY as SORT_BY
    from parquetry.config.registry import TABLE_SETTINGS as TABLE_SETTINGS
    from parquetry.config.registry import WRITERS as WRITERS
    from parquetry.config.registry import check_catalog_options as check_catalog_options
    from parquetry.config.registry import check_properties as check_properties
    from parquetry.config.registry import is_fixed as is_fixed
    from parquetry.config.registry import naming as naming
    from parquetry.config.registry import our_name as our_name
    from parquetry.config.registry import our_names as our_names
    from parquetry.config.registry import rename_column as rename_column
    from parquetry.config.setting import SESSION_PREFIX as SESSION_PREFIX
    from parquetry.config.spark import SPARK_SERIES as SPARK_SERIES
    from parquetry.config.spark import SPARK_SETTINGS as SPARK_SETTINGS

lazy_exports(
    __name__,
    {
        ".foreign_options": ["refuse_foreign"],
        ".parse": ["count_up_to", "parse_boolean", "parse_size"],
        ".precedence": ["Settings", "settle"],
        ".registry": [
            "BLOOM_FILTER_COLUMNS",
            "BUCKETING_VERSION",
            "BUCKET_BEGIN_PARTITION",
            "BUCKET_JOIN",
            "CATALOG_OPTIONS",
            "CLUSTERED_BY",
            "HIVE_COMPATIBLE",
            "ISOLATION",
            "LIST_BUCKETING_RULES",
            "PARTITION_INDEXES",
            "PURGE_ON_OVERWRITE",
            "RUNTIME_PRUNING",
            "RUNTIME_PRUNING_MAX_BUILD_SIZE",
            "RUNTIME_PRUNING_MAX_WAIT",
            "SKEWED_BY",
            "SKEWED_LOCATIONS",
            "SORT_BY",
            "TABLE_SETTINGS",
            "WRITERS",
            "check_catalog_options",
            "check_properties",
            "is_fixed",
            "naming",
            "our_name",
            "our_names",
            "rename_column",
        ],
        ".setting": ["SESSION_PREFIX"],
        ".spark": ["SPARK_SERIES", "SPARK_SETTINGS"],
    },
)
