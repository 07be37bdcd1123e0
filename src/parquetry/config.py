"""The settings users can make: options of a catalog and settings of tables, with their types and defaults.

One registry, from which values are checked and `config_reference` writes `docs/configuration.md`. Which value holds where
several are set is decided in `precedence`; what a setting does is the business of the part that uses it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from parquetry.errors import ConfigurationError, PropertyError
from parquetry.identifiers import (
    ordered_columns_text,
    parse_column_lists,
    parse_columns,
    parse_ordered_columns,
)

_SIZE = re.compile(r"(\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


_LARGEST = 1 << 60


def parse_size(text: str) -> int:
    """Return a size in bytes, from a number with an optional unit (powers of 1024).

    Raises:
        ValueError: it is not a size, is zero, or more than any file can have.

    >>> parse_size("64kb"), parse_size("1 GiB"), parse_size("10")
    (65536, 1073741824, 10)
    """
    match = _SIZE.fullmatch(text.strip())
    if not match or int(match[1]) == 0:
        raise ValueError("not a size such as 128mb")
    size = int(match[1]) * _FACTORS[match[2].lower()]
    if size > _LARGEST:
        raise ValueError("more than an exbibyte")
    return size


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"not one of {', '.join(choices)}")
        return text.lower()

    return parse


def _boolean(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("not true or false")
    return text.strip().lower() == "true"


def _version(text: str) -> int | str:
    known: dict[str, int | str] = {"1": 1, "2": 2, "spark": "spark"}
    if text.strip().lower() not in known:
        raise ValueError("not one of 1, 2, spark")
    return known[text.strip().lower()]


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ValueError("not a share of the rows such as 0.05, above 0 and at most 1")
    return share


def _count(most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        stripped = text.strip()
        if not (stripped.isascii() and stripped.isdigit() and 1 <= int(stripped) <= most):
            raise ValueError(f"not a number from 1 to {most}")
        return int(stripped)

    return parse


Level = Literal["option", "session", "property", "default"]
"""Where the value of a setting comes from: an option of one read or write, the session, a property of the table."""
EVERYWHERE: tuple[Level, ...] = ("option", "session", "property")
"""All levels at which users make settings; the first comes before the others."""
SESSION_PREFIX = "parquetry."
"""What names of the session's settings begin with."""
_LABELS: dict[Level, str] = {
    "option": "Option",
    "session": "Session setting",
    "property": "Table property",
    "default": "The default of",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting users can make.

    Attributes:
        name: in kebab-case.
        default: as text; None: no default.
        parse: from text to value; raises ValueError saying what the text is not.
        text: what it does, for the reference.
        levels: where it can be given; none for options of a catalog.
        fixed: whether it may be given only when a table is created.
    """

    name: str
    default: str | None
    parse: Callable[[str], Any]
    text: str
    levels: tuple[Level, ...] = ()
    fixed: bool = False

    def read(self, text: str, level: Level) -> Any:
        """Return the value of a text that was found at some level.

        Raises:
            ConfigurationError: the session's text cannot be used.
            PropertyError: an option's or a table's text cannot.
        """
        try:
            return self.parse(text)
        except ValueError as error:
            raise self.refused(level, f" is {text!r}: {error}.") from None

    def refused(self, level: Level, says: str) -> ConfigurationError | PropertyError:
        """Return the error that begins with the setting's name, and with where it was given."""
        key = f"{SESSION_PREFIX}{self.name}" if level == "session" else self.name
        kind = ConfigurationError if level == "session" else PropertyError
        return kind(f"{_LABELS[level]} {key!r}{says}")


PARTITION_INDEXES = "partition-indexes"
SKEWED_BY = "skewed-by"
SKEWED_LOCATIONS = "skewed-locations"
LIST_BUCKETING_RULES = "list-bucketing-rules"
CLUSTERED_BY = "clustered-by"
BUCKETING_VERSION = "bucketing-version"
BUCKET_JOIN = "bucket-join"
HIVE_COMPATIBLE = "hive-compatible"
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
        "Where the metastore is kept: `sqlite`, inside the warehouse; `sqlite:///path`; or `hbase://host:port/table`.",
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
        _one_of("none", "uncompressed", "snappy", "gzip", "lz4", "zstd", "brotli", "zlib", "lzo"),
        "Codec of the data files; without it Spark's own setting for the format holds.",
        levels=EVERYWHERE,
    ),
    Setting(
        "sort-by",
        None,
        parse_columns,
        "Columns by which rows are sorted inside each file, so that statistics separate the files better.",
        levels=EVERYWHERE,
    ),
    Setting(
        "distribution",
        "auto",
        _one_of("auto", "none"),
        "`auto` clusters rows by partition before a write; `none` leaves them in the tasks that they are in.",
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
        _share,
        "With `ON AUTO`: the share of a partition's rows from which on a value is heavy.",
        levels=("property",),
    ),
    Setting(
        "auto-skew-values",
        "16",
        _count(1000),
        "With `ON AUTO`: the greatest number of heavy values of a partition, at most 1000.",
        levels=("property",),
    ),
    Setting(
        LIST_BUCKETING_RULES,
        "strict",
        _one_of("strict", "relaxed"),
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
        _version,
        "The hash of buckets: `1` (Hive 1 and 2), `2` (Hive 3 and later) or `spark` (Spark's own bucketed tables). For "
        "partitions made from then on.",
        levels=("property",),
    ),
    Setting(
        HIVE_COMPATIBLE,
        None,
        _boolean,
        "Whether Hive finds rows in the buckets where it looks for them: shown of a bucketed table, `true` for versions 1 and 2, "
        "`false` for `spark`. It follows from `bucketing-version`; anything else is refused.",
        levels=("property",),
    ),
    Setting(
        "empty-buckets",
        None,
        _boolean,
        "Whether a bucket without rows gets an empty file, as Hive 1 wants it; without it, with version 1 alone.",
        levels=EVERYWHERE,
    ),
    Setting(
        BUCKET_JOIN,
        "smaller",
        _one_of("smaller", "larger"),
        "How tables of different numbers of buckets are joined without a shuffle: `smaller` folds both to their greatest "
        "common divisor; `larger` reads the side of fewer buckets once for each of the larger's, if one number is a multiple "
        "of the other.",
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


@dataclass(frozen=True, slots=True)
class SparkSetting:
    """A setting of Spark's own that decides whether joins of bucketed tables shuffle.

    Attributes:
        name: whole.
        value: that `parquetry.configure` gives it, if nobody else has; None: it is left alone.
        text: what it is for, or why it is left alone.
    """

    name: str
    value: str | None
    text: str


SPARK_SETTINGS = (
    SparkSetting(
        "spark.sql.sources.v2.bucketing.enabled",
        "true",
        "Spark uses what a table says of its buckets.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.pushPartValues.enabled",
        "true",
        "Tables of which one has rows in buckets where the other has none are joined without a shuffle.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.allowCompatibleTransforms.enabled",
        "true",
        "Tables of different numbers of buckets are joined in as many as their greatest common divisor.",
    ),
    SparkSetting(
        "spark.sql.requireAllClusterKeysForCoPartition",
        "false",
        "A join may be on more columns than the tables are bucketed by.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.shuffle.enabled",
        None,
        "Only the side without buckets is shuffled, into those of the other. Spark 4.3 has known errors there, and evaluates the "
        "hash row by row; tables bucketed by several columns say nothing of their buckets while it is on.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled",
        None,
        "Large buckets are read by several tasks, for each of which the other side is read again. While it is on, different "
        "numbers of buckets are not joined without a shuffle.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.allowKeysSubsetOfPartitionKeys.enabled",
        None,
        "For tables partitioned by several expressions of which a join names some. It cannot help with a hash of several "
        "columns: tables bucketed by more than one say nothing of their buckets while it is on.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.preserveOrderingOnCoalesce.enabled",
        None,
        "Several sorted files of a bucket are merged in their order instead of sorted anew.",
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
    slip, and those in Parquetry's own name space.

    Raises:
        PropertyError: an unknown name or a value that cannot be used.
    """
    for name, value in properties.items():
        if (setting := _PROPERTIES.get(name)) is not None:
            setting.read(value, "property")
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


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that another is probably a slip for."""
    kebab = name.lower().replace("_", "-").replace(".", "-")
    near = difflib.get_close_matches(kebab, list(known), 1, 0.85)
    return near[0] if near else None


def is_fixed(name: str) -> bool:
    """Return whether a table property may be given only when the table is created."""
    return name in _PROPERTIES and _PROPERTIES[name].fixed


def rename_column(properties: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """Return table properties in which a column has another name.

    >>> rename_column({"sort-by": "A, b"}, "a", "x y")
    {'sort-by': '`x y`, b'}
    """
    renamed = dict(properties)
    for name, setting in _PROPERTIES.items():
        if name not in properties or setting.parse not in (parse_columns, parse_ordered_columns):
            continue
        columns = parse_ordered_columns(properties[name])
        if any(column.lower() == old.lower() for column, _ in columns):
            renamed[name] = ordered_columns_text(
                (new if column.lower() == old.lower() else column, down) for column, down in columns
            )
    return renamed


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
