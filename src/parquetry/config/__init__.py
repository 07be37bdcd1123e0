"""The settings: their list, the meaning of their texts, and the precedence among several values of one.

- `registry` lists the settings, `setting` defines one, and `parse` reads texts.
- `precedence` decides between the levels: option of the read or write, session, table, catalog.
- `reference` writes `docs/configuration.md`.
- `defaults_file` reads and writes spark-defaults.conf.
- `spark` names Spark's own settings that matter.
- `spark_versions` lists the series of Spark, and what each of them lacks.
- `foreign_options` refuses options of other table formats.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.config.defaults_file import (
        LIST_SETTINGS,
        beside_existing,
        defaults_entries,
        defaults_line,
        with_settings,
    )
    from parquetry.config.foreign_options import refuse_foreign
    from parquetry.config.parse import count_up_to, parse_boolean, parse_size
    from parquetry.config.precedence import Settings, settle
    from parquetry.config.registry import (
        BLOOM_FILTER_COLUMNS,
        BUCKET_BEGIN_PARTITION,
        BUCKET_JOIN,
        BUCKETING_VERSION,
        CATALOG_OPTIONS,
        CLUSTERED_BY,
        HIVE_COMPATIBLE,
        ISOLATION,
        LIST_BUCKETING_RULES,
        PARTITION_INDEXES,
        PURGE_ON_OVERWRITE,
        RUNTIME_PRUNING,
        RUNTIME_PRUNING_MAX_BUILD_SIZE,
        RUNTIME_PRUNING_MAX_WAIT,
        SKEWED_BY,
        SKEWED_LOCATIONS,
        SORT_BY,
        TABLE_SETTINGS,
        VACUUM_GRACE_HOURS,
        VACUUM_RETENTION_CHECK,
        WRITERS,
        check_catalog_options,
        check_properties,
        is_fixed,
        naming,
        our_name,
        our_names,
        rename_column,
    )
    from parquetry.config.setting import SESSION_PREFIX
    from parquetry.config.spark import SPARK_SETTINGS
    from parquetry.config.spark_versions import SPARK_SERIES, listed_series, series_of

lazy_exports(__name__)
