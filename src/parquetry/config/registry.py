"""The settings of users: options of a catalog and settings of tables, with their types and defaults.

`checks` checks names and values by this one registry, and `reference` writes `docs/configuration.md` from it.
`precedence` decides which of several values applies. Each setting takes effect in the part that uses it.
"""

from __future__ import annotations

from parquetry.config.setting import (
    EVERYWHERE,
    Setting,
    choice_parser,
    count_up_to,
    parse_age,
    parse_audit,
    parse_boolean,
    parse_bucketing_version,
    parse_follower,
    parse_history_mode,
    parse_share,
    parse_size,
    parse_size_or_none,
    parse_statistics_fields,
    parse_wait,
)
from parquetry.identifiers import parse_column_lists, parse_columns, parse_ordered_columns, parse_sorted_by

SORT_BY = "sort-by"
BLOOM_FILTER_COLUMNS = "bloom-filter-columns"
FIELD_STATISTICS = "field-statistics"
PARTITION_INDEXES = "partition-indexes"
SKEWED_BY = "skewed-by"
SKEWED_LOCATIONS = "skewed-locations"
LIST_BUCKETING_RULES = "list-bucketing-rules"
CLUSTERED_BY = "clustered-by"
BUCKETING_VERSION = "bucketing-version"
BUCKET_JOIN = "bucket-join"
HOT_BUCKET_ROWS = "hot-bucket-rows"
SKEW_JOIN = "skew-join"
PURGE_ON_OVERWRITE = "purge-on-overwrite"
ISOLATION = "isolation"
RUNTIME_PRUNING = "runtime-pruning"
RUNTIME_PRUNING_MAX_BUILD_SIZE = "runtime-pruning-max-build-size"
RUNTIME_PRUNING_MAX_WAIT = "runtime-pruning-max-wait"
NATIVE_SCANS = "native-scans"
HIVE_COMPATIBLE = "hive-compatible"
PARTITION_COLUMNS_IN_FILES = "partition-columns-in-files"
WRITERS = ("parquet.", "orc.")
"""Prefixes of names that only the files' writers understand."""
BUCKET_BEGIN_PARTITION = "bucket-begin-partition"
LAYOUT = "layout"
TARGET_FILE_SIZE = "target-file-size"
AUTO_COMPACT = "auto-compact"
AUTO_COMPACT_MIN_FILES = "auto-compact-min-files"
AUTO_COMPACT_MAX_BYTES = "auto-compact-max-bytes"
HISTORY_STATEMENTS = "history-statements"
PRUNING_HISTORY = "pruning-history"
PRUNING_HISTORY_KEEP = "pruning-history-keep"
PRUNING_HISTORY_ROWS = "pruning-history-rows"
TRANSACTION_MAX_IDLE = "transaction-max-idle"
AUDIT = "audit"
VACUUM_RETENTION_CHECK = "vacuum-retention-check"
VACUUM_GRACE_HOURS = "vacuum-grace-hours"

CATALOG_OPTIONS = (
    Setting(
        "warehouse",
        None,
        str,
        "Folder (or URI) of the catalog: tables without a LOCATION, and the embedded metastore.",
    ),
    Setting(
        "store",
        "sqlite",
        str,
        "Where the metastore is kept: `sqlite`, inside the warehouse; `sqlite:///path`; `postgresql://user@host:port/database`; "
        "or `hbase://host:port/table`.",
    ),
    Setting(
        "store.password",
        None,
        str,
        "The password of a store on PostgreSQL, apart from its URL: Spark shows no setting whose name has `password` in "
        "it. See [where passwords come from](postgresql.md#passwords).",
    ),
    Setting(
        "store.sslpassword",
        None,
        str,
        "The password of the client's key (`sslkey`), apart from the store's URL.",
    ),
    Setting(
        PRUNING_HISTORY,
        "off",
        parse_history_mode,
        "Whether a [history of queries](operating.md#history-of-queries) is kept of all tables of the warehouse, unless "
        "a session or a table says otherwise: `off`, `on` or `values`. The file `parquetry.toml` may say it, too.",
    ),
    Setting(
        PRUNING_HISTORY_KEEP,
        "30d",
        parse_age,
        "How long the history keeps a query: `90min`, `12h`, `30d`, `8w`. Of several writers, the shortest time holds.",
    ),
    Setting(
        PRUNING_HISTORY_ROWS,
        "100000",
        count_up_to(100_000_000),
        "How many queries the history keeps at most; the oldest go first. Of several writers, the smallest number holds.",
    ),
    Setting(
        TRANSACTION_MAX_IDLE,
        "1d",
        parse_age,
        "How long a [transaction](transactions.md) may ask nothing, before it is given up: `90min`, `12h`, `1d`. It must be "
        "longer than the longest statement.",
    ),
)

TABLE_SETTINGS = (
    Setting(
        TARGET_FILE_SIZE,
        "128mb",
        parse_size,
        "Size to aim at for one data file. A partition gets one file for each of these.",
        levels=EVERYWHERE,
    ),
    Setting(
        "compression",
        None,
        choice_parser("none", "uncompressed", "snappy", "gzip", "lz4", "zstd", "brotli", "zlib", "lzo"),
        "Codec of the data files; without it Spark's own setting for the format holds.",
        levels=EVERYWHERE,
    ),
    Setting(
        SORT_BY,
        None,
        parse_sorted_by,
        "Columns, or fields of structs (`s.a`), that rows are sorted by inside each file, so that "
        "statistics separate the files better. The clause `CLUSTER BY` sets it, too. `zorder(a, b)` sorts along a curve, "
        "so that conditions on either column leave out files.",
        levels=EVERYWHERE,
    ),
    Setting(
        LAYOUT,
        "manual",
        choice_parser("manual", "auto"),
        "`auto` lets `maintain` set `sort-by` and buckets as the [history of queries](operating.md#history-of-queries) "
        "advises, and sort old files anew where that pays. See [Let the layout follow the "
        "queries](choose-a-layout.md#let-the-layout-follow-the-queries).",
        levels=("property",),
    ),
    Setting(
        BLOOM_FILTER_COLUMNS,
        None,
        parse_columns,
        "Columns that get Bloom filters in the files. Readers then skip row groups without any of a few "
        "values, even if these are between the row group's minimum and maximum.",
        levels=EVERYWHERE,
    ),
    Setting(
        FIELD_STATISTICS,
        "32",
        parse_statistics_fields,
        "Fields of structs whose minimum, maximum and NULLs are recorded with each new file, as those of all columns are: "
        "a number, which counts from the first field on, or names (`s.a, t`), which include all fields within. `0` "
        "records none.",
        levels=("property",),
    ),
    Setting(
        "distribution",
        "auto",
        choice_parser("auto", "none"),
        "`auto` shuffles rows before a write: by partition, bucket and directory, or by `sort-by`. Without "
        "any of these it keeps their order, and [small tasks write "
        "together](sql.md#how-rows-are-distributed). `none` leaves rows in their tasks.",
        levels=EVERYWHERE,
    ),
    Setting(
        "partition-order",
        None,
        parse_ordered_columns,
        "Partition columns whose keys sort downwards in the metastore, so that the newest come first.",
        levels=("property",),
        fixed=True,
    ),
    Setting(
        PARTITION_INDEXES,
        None,
        parse_column_lists,
        "Partition columns to index for filters that skip the first: one or more lists, such as `region; hour, region`. "
        "Later on, `CALL system.create_partition_index` and `drop_partition_index` change them.",
        levels=("property",),
        fixed=True,
    ),
    Setting(
        SKEWED_BY,
        None,
        str,
        "The values that are so frequent that their rows are kept apart: Hive's clause after the words "
        "`SKEWED BY`, such as `(x) ON (10, 20) STORED AS DIRECTORIES`, or `(x) ON AUTO`, which means "
        "directories. See [list bucketing](list-bucketing.md). It applies to partitions made afterwards.",
        levels=("property",),
    ),
    Setting(
        SKEWED_LOCATIONS,
        None,
        str,
        "Other locations for the directories of some of these values: Hive's clause after the words `SET "
        "SKEWED LOCATION`, such as `(10 = 'hdfs://h/far/x=10')`.",
        levels=("property",),
    ),
    Setting(
        "auto-skew-share",
        "0.05",
        parse_share,
        "With `ON AUTO`: a value is heavy if it has at least this share of a partition's rows.",
        levels=("property",),
    ),
    Setting(
        "auto-skew-values",
        "16",
        count_up_to(1000),
        "With `ON AUTO`: the greatest number of heavy values of a partition, at most 1000.",
        levels=("property",),
    ),
    Setting(
        "light-values",
        "sorted",
        choice_parser("sorted", "as-written"),
        "How the rows of the values that are not heavy are stored, in the default directory of a table with directories: "
        "`sorted` by the skewed columns in each file, so that a query on a light value reads a few row groups and pages, or "
        "`as-written`. `sort-by` and `SORTED BY` take precedence.",
        levels=EVERYWHERE,
    ),
    Setting(
        LIST_BUCKETING_RULES,
        "strict",
        choice_parser("strict", "relaxed"),
        "`strict` refuses the combinations with directories for heavy values that Hive's design excludes. "
        "`relaxed` allows those that Parquetry supports, and is the default of tables `ON AUTO`. See [the "
        "rules](list-bucketing.md#what-does-not-go-together).",
        levels=("property",),
    ),
    Setting(
        CLUSTERED_BY,
        None,
        str,
        "The buckets that rows are spread over: Hive's clause after the words `CLUSTERED BY`, such as `(id) "
        "SORTED BY (day DESC) INTO 16 BUCKETS`. See [buckets](buckets.md). It applies to partitions made "
        "afterwards.",
        levels=("property",),
    ),
    Setting(
        BUCKETING_VERSION,
        "2",
        parse_bucketing_version,
        "The hash of buckets: `1` (Hive 1 and 2), `2` (Hive 3 and later) or `spark` (Spark's own bucketed "
        "tables). It applies to partitions made afterwards.",
        levels=("property",),
    ),
    Setting(
        HIVE_COMPATIBLE,
        None,
        parse_boolean,
        "Whether Hive finds rows in the buckets where it expects them. It is read-only: a bucketed table "
        "shows `true` for versions 1 and 2 of the hash, and `false` for `spark`. Any other value is "
        "refused.",
        levels=("property",),
    ),
    Setting(
        "empty-buckets",
        None,
        parse_boolean,
        "Whether a bucket without rows gets an empty file, as Hive 1 needs it. The default is yes for "
        "version 1 of the hash only.",
        levels=EVERYWHERE,
    ),
    Setting(
        AUTO_COMPACT,
        "false",
        parse_boolean,
        "Whether a write compacts the partitions that it has changed, right after its commit, where they have "
        "many small files. See [small files](operating.md#small-files).",
        levels=EVERYWHERE,
    ),
    Setting(
        AUTO_COMPACT_MIN_FILES,
        "50",
        count_up_to(100_000),
        "With `auto-compact`: the number of small files, on average for each directory and bucket of a partition, "
        "from which a write compacts it.",
        levels=EVERYWHERE,
    ),
    Setting(
        AUTO_COMPACT_MAX_BYTES,
        "1gb",
        parse_size,
        "With `auto-compact`: the most bytes that one write compacts.",
        levels=EVERYWHERE,
    ),
    Setting(
        PURGE_ON_OVERWRITE,
        "false",
        parse_boolean,
        "Whether INSERT OVERWRITE and REPLACE TABLE delete the replaced files right after the commit. They "
        "also delete files of other writers in an external table. This is for tables whose folders are read "
        "by path. Older versions of these partitions become unreadable.",
        levels=("property",),
    ),
    Setting(
        "publish",
        "none",
        parse_follower,
        "`delta` adds each new version to the [Delta log](delta.md) in the table's folder, right after its commit. "
        "`thrift://host:9083/database.table` brings that table of a [Hive metastore](hive-clients.md#a-hive-metastore-of-your-own) "
        "to each new version.",
        levels=("property",),
    ),
    Setting(
        PARTITION_COLUMNS_IN_FILES,
        "false",
        parse_boolean,
        "Whether new files have the partition columns, too, behind the others. This is for readers of single "
        "files. Some readers of whole folders fail on a column that is in the path and in the file.",
        levels=("property",),
    ),
    Setting(
        VACUUM_GRACE_HOURS,
        "24",
        count_up_to(24 * 365),
        "The age in hours at which `vacuum` deletes a file that no version lists. A write with a file older "
        "than half of it looks for its files before it commits.",
        levels=("property",),
    ),
    Setting(
        VACUUM_RETENTION_CHECK,
        "true",
        parse_boolean,
        "Whether a `vacuum` is refused that takes versions which others replaced less than 168 hours ago, "
        "however it is called.",
        levels=("property",),
    ),
    Setting(
        HISTORY_STATEMENTS,
        "true",
        parse_boolean,
        "Whether the history records the first 200 characters of the statement that made a version. Switch it "
        "off if statements name people or secrets; `SET` it in a session, or set it for a table.",
        levels=("session", "property"),
    ),
    Setting(
        PRUNING_HISTORY,
        None,
        parse_history_mode,
        "Whether the [history of queries](operating.md#history-of-queries) has the queries of the session, or of the "
        "table: `off`; `on`, without the values in conditions; or `values`, with them and with statements. The default "
        "is the catalog's.",
        levels=("session", "property"),
    ),
    Setting(
        ISOLATION,
        "snapshot",
        choice_parser("snapshot", "serializable"),
        "The commits of others that a changing statement conflicts with. `snapshot`: changes of a partition "
        "that it changes, and additions to a partition that `MERGE` searched for matches of the rows that "
        "it inserts. `serializable`: also changes of a partition of the table that it read. See [Versions "
        "and commits](concepts.md#versions-and-commits).",
        levels=EVERYWHERE,
    ),
    Setting(
        BUCKET_JOIN,
        "smaller",
        choice_parser("smaller", "larger"),
        "How tables of different numbers of buckets are joined without a shuffle. `smaller` folds both to "
        "their greatest common divisor. `larger` keeps the larger number if it is a multiple of the other: "
        "with 4 and 8 buckets, each file of the first table is read twice.",
        levels=EVERYWHERE,
        of_reads=True,
    ),
    Setting(
        HOT_BUCKET_ROWS,
        "1000000",
        count_up_to(1 << 60),
        "The fewest rows of a bucket that several tasks of a join read. It also has to have twice as many rows "
        "as the average bucket, and the join has to be faster by that. A large number turns it off.",
        levels=EVERYWHERE,
        of_reads=True,
    ),
    Setting(
        SKEW_JOIN,
        "auto",
        choice_parser("auto", "always", "off"),
        "Whether the rows of heavy keys are joined apart from all others, by a broadcast of the other side's rows for "
        "them. `auto` does it where the estimate says that it pays clearly, `always` wherever the answer stays the "
        "same. See [joins of skewed tables](list-bucketing.md#joins).",
        levels=EVERYWHERE,
        of_reads=True,
    ),
    Setting(
        RUNTIME_PRUNING,
        "true",
        parse_boolean,
        "Whether values from the build side of a join prune the other table while a query runs: partitions, "
        "directories, buckets, files. See [runtime pruning](runtime-pruning.md).",
        levels=EVERYWHERE,
        of_reads=True,
    ),
    Setting(
        RUNTIME_PRUNING_MAX_BUILD_SIZE,
        "10mb",
        parse_size_or_none,
        "Largest estimated size of a build side that is not broadcast and is read once more for its values, "
        "to prune this table's files. `0`: no build side is read twice.",
        levels=EVERYWHERE,
        of_reads=True,
    ),
    Setting(
        RUNTIME_PRUNING_MAX_WAIT,
        "60s",
        parse_wait,
        "How long to wait for a build side that is read once more for its values (`500ms`, `60s`, `5min`). "
        "After that it is stopped, and the table is read without them. `none`: without limit. It does not "
        "apply to a broadcast, which the join needs anyway: Spark has a limit of its own for it.",
        levels=EVERYWHERE,
        of_reads=True,
    ),
    Setting(
        NATIVE_SCANS,
        "auto",
        choice_parser("auto", "on", "off"),
        "Whether plain scans take the form of Spark's own scan of files, which native engines read by themselves. `auto` "
        "does it where a session has such an engine, `on` always, `off` never. See [accelerators](accelerators.md).",
        levels=EVERYWHERE,
        of_reads=True,
    ),
    Setting(
        BUCKET_BEGIN_PARTITION,
        None,
        str,
        "The first partition whose files are in buckets, for tables that others bucketed later on: a value "
        "of the first partition column, or a condition on partition columns. Partitions before it are read "
        "as not bucketed.",
        levels=("property",),
    ),
    Setting(
        "audit-values",
        "off",
        choice_parser("on", "off"),
        "Whether the file that a failed audit leaves has the values that joins found while the query ran.",
        levels=("session",),
    ),
    Setting(
        AUDIT,
        "off",
        parse_audit,
        "Whether what Parquetry claims about rows is checked against the rows themselves: `on`, `off`, or the share of "
        "statements that are checked, such as `0.01`. A claim that does not hold fails the statement with "
        "`PARQUETRY_AUDIT`.",
        levels=("session",),
    ),
)
SETTINGS = {setting.name: setting for setting in TABLE_SETTINGS}
"""All settings of tables, by name."""
PROPERTIES = {setting.name: setting for setting in TABLE_SETTINGS if "property" in setting.levels}
"""Settings that a property of a table may give, by name."""
