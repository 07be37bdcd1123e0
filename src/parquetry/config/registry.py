"""The settings users can make: options of a catalog and settings of tables, with their types and defaults.

One registry, from which values are checked and `reference` writes `docs/configuration.md`. Which value holds where
several are set is decided in `precedence`; what a setting does is the business of the part that uses it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from parquetry.config.parse import (
    choice_parser,
    count_up_to,
    parse_boolean,
    parse_bucketing_version,
    parse_share,
    parse_size,
    parse_size_or_none,
    parse_wait,
)
from parquetry.config.setting import EVERYWHERE, SESSION_PREFIX, Setting
from parquetry.errors import ConfigurationError, PropertyError
from parquetry.identifiers import (
    ordered_columns_text,
    parse_column_lists,
    parse_columns,
    parse_ordered_columns,
    parse_paths,
    paths_text,
)

SORT_BY = "sort-by"
BLOOM_FILTER_COLUMNS = "bloom-filter-columns"
PARTITION_INDEXES = "partition-indexes"
SKEWED_BY = "skewed-by"
SKEWED_LOCATIONS = "skewed-locations"
LIST_BUCKETING_RULES = "list-bucketing-rules"
CLUSTERED_BY = "clustered-by"
BUCKETING_VERSION = "bucketing-version"
BUCKET_JOIN = "bucket-join"
PURGE_ON_OVERWRITE = "purge-on-overwrite"
ISOLATION = "isolation"
RUNTIME_PRUNING = "runtime-pruning"
RUNTIME_PRUNING_MAX_BUILD_SIZE = "runtime-pruning-max-build-size"
RUNTIME_PRUNING_MAX_WAIT = "runtime-pruning-max-wait"
HIVE_COMPATIBLE = "hive-compatible"
WRITERS = ("parquet.", "orc.")
"""What names begin with that only the files' writers understand."""
_SPELLINGS = {"bucketing_version": BUCKETING_VERSION}
"""Names that Hive has for properties of ours."""
BUCKET_BEGIN_PARTITION = "bucket-begin-partition"

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
)

TABLE_SETTINGS = (
    Setting(
        "target-file-size",
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
        parse_paths,
        "Columns, or fields of structs (`s.a`), by which rows are sorted inside each file, so that statistics separate the files better. "
        "The clause `CLUSTER BY` says the same.",
        levels=EVERYWHERE,
    ),
    Setting(
        BLOOM_FILTER_COLUMNS,
        None,
        parse_columns,
        "Columns for which files are written with Bloom filters, so that readers leave out row groups that hold none of a few values, "
        "also where these lie between their least and greatest.",
        levels=EVERYWHERE,
    ),
    Setting(
        "distribution",
        "auto",
        choice_parser("auto", "none"),
        "`auto` shuffles rows before a write, by partition, bucket and directory, or by `sort-by`. Where there is nothing to cluster by, it keeps "
        "their order, and [small tasks write together](sql.md#how-rows-are-distributed). `none` leaves rows in the tasks that they are in.",
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
        "Which values are so frequent that their rows are kept apart: Hive's clause behind the words `SKEWED BY`, such as "
        "`(x) ON (10, 20) STORED AS DIRECTORIES` or `(x) ON AUTO STORED AS DIRECTORIES`. See "
        "[list bucketing](list-bucketing.md). For partitions made from then on.",
        levels=("property",),
    ),
    Setting(
        SKEWED_LOCATIONS,
        None,
        str,
        "Where the directories of some of these values are instead of in their usual places: Hive's clause behind the words "
        "`SET SKEWED LOCATION`, such as `(10 = 'hdfs://h/far/x=10')`.",
        levels=("property",),
    ),
    Setting(
        "auto-skew-share",
        "0.05",
        parse_share,
        "With `ON AUTO`: the share of a partition's rows from which on a value is heavy.",
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
        LIST_BUCKETING_RULES,
        "strict",
        choice_parser("strict", "relaxed"),
        "`strict` refuses what Hive's design does not let go together with directories for heavy values; `relaxed` allows "
        "what Parquetry can do all the same. See [the rules](list-bucketing.md#what-does-not-go-together).",
        levels=("property",),
    ),
    Setting(
        CLUSTERED_BY,
        None,
        str,
        "Into which buckets rows are spread: Hive's clause behind the words `CLUSTERED BY`, such as "
        "`(id) SORTED BY (day DESC) INTO 16 BUCKETS`. See [buckets](buckets.md). For partitions made from then on.",
        levels=("property",),
    ),
    Setting(
        BUCKETING_VERSION,
        "2",
        parse_bucketing_version,
        "The hash of buckets: `1` (Hive 1 and 2), `2` (Hive 3 and later) or `spark` (Spark's own bucketed tables). For "
        "partitions made from then on.",
        levels=("property",),
    ),
    Setting(
        HIVE_COMPATIBLE,
        None,
        parse_boolean,
        "Whether Hive finds rows in the buckets where it looks for them: shown of a bucketed table, `true` for versions 1 and 2, "
        "`false` for `spark`. It follows from `bucketing-version`; anything else is refused.",
        levels=("property",),
    ),
    Setting(
        "empty-buckets",
        None,
        parse_boolean,
        "Whether a bucket without rows gets an empty file, as Hive 1 wants it; without it, with version 1 alone.",
        levels=EVERYWHERE,
    ),
    Setting(
        PURGE_ON_OVERWRITE,
        "false",
        parse_boolean,
        "Whether INSERT OVERWRITE and REPLACE TABLE delete the files that they replace as soon as the statement is committed, those of others in an external table, too: "
        "for tables whose folders are read by their paths. Older versions of these partitions cannot be read any more.",
        levels=("property",),
    ),
    Setting(
        ISOLATION,
        "snapshot",
        choice_parser("snapshot", "serializable"),
        "What a statement that changes the table conflicts with: `snapshot`: whoever changes a partition that it changes, and for rows that `MERGE` inserts "
        "one in which it looked for their matches; `serializable`: also whoever changes a partition of the table that it has read. "
        "See [Versions and commits](concepts.md#versions-and-commits).",
        levels=EVERYWHERE,
    ),
    Setting(
        BUCKET_JOIN,
        "smaller",
        choice_parser("smaller", "larger"),
        "How tables of different numbers of buckets are joined without a shuffle: `smaller` folds both to their greatest "
        "common divisor; `larger` reads the side of fewer buckets once for each of the larger's, if one number is a multiple "
        "of the other.",
        levels=EVERYWHERE,
    ),
    Setting(
        RUNTIME_PRUNING,
        "true",
        parse_boolean,
        "Whether values that a join finds while a query runs leave out what of a table cannot match them: partitions, "
        "directories, buckets, files. See [runtime pruning](runtime-pruning.md).",
        levels=EVERYWHERE,
    ),
    Setting(
        RUNTIME_PRUNING_MAX_BUILD_SIZE,
        "10mb",
        parse_size_or_none,
        "Up to which size, as estimated, the small side of a join that is not broadcast is read once more, for its values to "
        "leave files of this table unread; `0`: none is.",
        levels=EVERYWHERE,
    ),
    Setting(
        RUNTIME_PRUNING_MAX_WAIT,
        "60s",
        parse_wait,
        "How long values are waited for for which a side of a join is read once more, from when that begins (`500ms`, `60s`, `5min`); "
        "then it is stopped, and the table is read without them. `none`: until they are there. Of a broadcast, which the join waits "
        "for in any case, Spark knows when to give up.",
        levels=EVERYWHERE,
    ),
    Setting(
        BUCKET_BEGIN_PARTITION,
        None,
        str,
        "From which partition on files lie in buckets, for tables that others bucketed later on: a value of the first "
        "partition column, or a condition on partition columns. Partitions before it are read as not bucketed.",
        levels=("property",),
    ),
)

_SETTINGS = {setting.name: setting for setting in TABLE_SETTINGS}
_PROPERTIES = {setting.name: setting for setting in TABLE_SETTINGS if "property" in setting.levels}


def our_name(name: str) -> str:
    """Return the name of a table property, given that or Hive's name for it.

    >>> our_name("bucketing_version"), our_name("owner.team")
    ('bucketing-version', 'owner.team')
    """
    return _SPELLINGS.get(name, name)


def our_names(properties: Mapping[str, str]) -> dict[str, str]:
    """Return table properties under our names, where Hive has others.

    Raises:
        PropertyError: one is given under both names, with two values.
    """
    named: dict[str, str] = {}
    for name, value in properties.items():
        ours = our_name(name)
        if named.setdefault(ours, value) != value:
            other = next(name for name, same in _SPELLINGS.items() if same == ours)
            raise PropertyError(
                f"Table property {ours!r} is {properties[ours]!r}, and {other!r}, which is the same, {properties[other]!r}: "
                "give one."
            )
    return named


def check_properties(properties: Mapping[str, str]) -> None:
    """Check table properties a user has set.

    Names outside the registry are the user's own and are kept, save those so near a known name that they are a
    slip, and those in Parquetry's own name space. Those of the files' writers are theirs.

    Raises:
        PropertyError: an unknown name or a value that cannot be used.
    """
    for name, value in properties.items():
        if (setting := _PROPERTIES.get(name)) is not None:
            setting.read(value, "property")
        elif name.startswith(WRITERS):
            continue
        elif (near := _nearest(name, _PROPERTIES)) is not None:
            raise PropertyError(f"Table property {name!r} is unknown; did you mean {near!r}?")
        elif name.startswith(SESSION_PREFIX):
            raise PropertyError(
                f"Table property {name!r} is unknown; known are {', '.join(sorted(_PROPERTIES))}."
            )


def check_options(options: Iterable[str]) -> None:
    """Check the names of options of a read or write; values are checked where they are used.

    Names that are nobody's are left alone, as Spark's own sources leave them: other parts of Spark may know them.

    Raises:
        PropertyError: the setting cannot be given for one read or write.
    """
    for key in options:
        setting = _SETTINGS.get(key.lower())
        if setting is not None and "option" not in setting.levels:
            raise PropertyError(
                f"Option {key!r} cannot be given for one read or write: set the table property {setting.name!r}."
            )


def check_session(session: Mapping[str, str]) -> None:
    """Check the names of a session's settings; values are checked where they are used.

    All names that begin with `parquetry.` are Parquetry's own. An unknown one is a misspelt setting, which would
    otherwise do nothing and say nothing.

    Raises:
        ConfigurationError: such a name is unknown, or the setting cannot be given for a session.
    """
    known = [name for name, setting in _SETTINGS.items() if "session" in setting.levels]
    for key in session:
        name = key.removeprefix(SESSION_PREFIX)
        if name == key or name in known:
            continue
        if name in _SETTINGS:
            says = f"cannot be given for a session: set the table property {name!r}"
        elif (near := _nearest(name, known)) is not None:
            says = f"is unknown: did you mean '{SESSION_PREFIX}{near}'?"
        else:
            says = f"is unknown: known are {', '.join(f'{SESSION_PREFIX}{each}' for each in sorted(known))}"
        raise ConfigurationError(f"Session setting {key!r} {says}; RESET `{key}` takes it back.")


def _nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the known name that another is probably a slip for."""
    kebab = name.lower().replace("_", "-").replace(".", "-")
    near = difflib.get_close_matches(kebab, list(names), 1, 0.85)
    return near[0] if near else None


def is_fixed(name: str) -> bool:
    """Return whether a table property may be given only when the table is created."""
    return name in _PROPERTIES and _PROPERTIES[name].fixed


def rename_column(properties: Mapping[str, str], path: Sequence[str], new: str) -> dict[str, str]:
    """Return table properties in which a column, or a field of a struct, has another name.

    >>> rename_column({"sort-by": "A, b.a"}, ["a"], "x y"), rename_column({"sort-by": "a, b.a"}, ["b", "a"], "c")
    ({'sort-by': '`x y`, b.a'}, {'sort-by': 'a, b.c'})
    """
    renamed = dict(properties)
    for name, setting in _PROPERTIES.items():
        if name not in properties:
            continue
        if setting.parse == parse_paths:
            paths = parse_paths(properties[name])
            if any(_begins(each, path) for each in paths):
                renamed[name] = paths_text(
                    (*each[: len(path) - 1], new, *each[len(path) :]) if _begins(each, path) else each
                    for each in paths
                )
        elif setting.parse in (parse_columns, parse_ordered_columns) and len(path) == 1:
            columns = parse_ordered_columns(properties[name])
            if any(_begins([column], path) for column, _ in columns):
                renamed[name] = ordered_columns_text(
                    (new if _begins([column], path) else column, down) for column, down in columns
                )
    return renamed


def naming(properties: Mapping[str, str], path: Sequence[str]) -> list[str]:
    """Return the table properties that name a column or a field of a struct, what it is within, or what is within it.

    >>> naming({"sort-by": "A.x, b", "bloom-filter-columns": "b"}, ["a"]), naming({"sort-by": "a.x"}, ["a", "y"])
    (['sort-by'], [])
    """
    return [
        name
        for name, text in properties.items()
        if any(_begins(each, path) or _begins(path, each) for each in _paths(name, text))
    ]


def _paths(name: str, text: str) -> tuple[tuple[str, ...], ...]:
    """Return the columns and fields that a table property names."""
    parse = _PROPERTIES[name].parse if name in _PROPERTIES else str
    if parse == parse_paths:
        return tuple(parse_paths(text))
    if parse in (parse_columns, parse_ordered_columns):
        return tuple((column,) for column, _ in parse_ordered_columns(text))
    return ()


def _begins(path: Sequence[str], begin: Sequence[str]) -> bool:
    """Return whether a path is another or leads on from it; letter case does not count."""
    return [part.lower() for part in path[: len(begin)]] == [part.lower() for part in begin]


def check_catalog_options(catalog: str, options: Mapping[str, str]) -> None:
    """Check the options `spark.sql.catalog.<catalog>.*`.

    Raises:
        ConfigurationError: one is unknown, or the warehouse is missing.
    """
    known = {setting.name for setting in CATALOG_OPTIONS}
    for name in options:
        if name not in known:
            raise ConfigurationError(
                f"spark.sql.catalog.{catalog}.{name} is unknown; known are {', '.join(sorted(known))}."
            )
    if not options.get("warehouse"):
        raise ConfigurationError(
            f"Catalog {catalog} has no warehouse: set spark.sql.catalog.{catalog}.warehouse to a folder."
        )
