"""The settings users can make: catalog options and table properties, with their types and defaults.

One registry, from which values are checked and `docs/configuration.md` is generated. Where a setting is used is
the business of the part that uses it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting users can make.

    Attributes:
        name: in kebab-case.
        default: as text; None: no default.
        parse: from text to value; raises ValueError saying what the text is not.
        text: what it does, for the reference.
        fixed: whether it may be given only when a table is created.
    """

    name: str
    default: str | None
    parse: Callable[[str], Any]
    text: str
    fixed: bool = False


PARTITION_INDEXES = "partition-indexes"

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

TABLE_PROPERTIES = (
    Setting(
        "target-file-size",
        "128mb",
        parse_size,
        "Size to aim at for one data file. A partition gets one file for each of these.",
    ),
    Setting(
        "compression",
        None,
        _one_of("none", "uncompressed", "snappy", "gzip", "lz4", "zstd", "brotli", "zlib", "lzo"),
        "Codec of the data files; without it Spark's own setting for the format holds.",
    ),
    Setting(
        "sort-by",
        None,
        parse_columns,
        "Columns by which rows are sorted inside each file, so that statistics separate the files better.",
    ),
    Setting(
        "distribution",
        "auto",
        _one_of("auto", "none"),
        "`auto` clusters rows by partition before a write; `none` leaves them in the tasks that they are in.",
    ),
    Setting(
        "partition-order",
        None,
        parse_ordered_columns,
        "Partition columns whose keys sort downwards in the metastore, so that the newest come first.",
        fixed=True,
    ),
    Setting(
        PARTITION_INDEXES,
        None,
        parse_column_lists,
        "Partition columns to index for filters that skip the first: one or more lists, such as `region; hour, region`. "
        "Later on, `CALL system.create_partition_index` and `drop_partition_index` change them.",
        fixed=True,
    ),
)

_PROPERTIES = {setting.name: setting for setting in TABLE_PROPERTIES}


def check_properties(properties: Mapping[str, str]) -> None:
    """Check table properties a user has set.

    Names outside the registry are the user's own and are kept, save those so near a known name that they are a
    slip, and those in Parquetry's own name space.

    Raises:
        PropertyError: an unknown name or a value that cannot be used.
    """
    for name, value in properties.items():
        setting = _PROPERTIES.get(name)
        if setting is not None:
            _parsed(setting, value)
            continue
        near = difflib.get_close_matches(
            name.lower().replace("_", "-").replace(".", "-"), _PROPERTIES, 1, 0.85
        )
        if name.startswith("parquetry.") or near:
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(_PROPERTIES))}."
            raise PropertyError(f"table property {name!r} is unknown; {hint}")


def _parsed(setting: Setting, value: str) -> Any:
    try:
        return setting.parse(value)
    except ValueError as error:
        raise PropertyError(f"table property {setting.name!r} is {value!r}: {error}") from None


def table_property(properties: Mapping[str, str], name: str) -> Any:
    """Return the value of a table property, parsed, or its default.

    Raises:
        PropertyError: the value cannot be used.
    """
    setting = _PROPERTIES[name]
    text = properties.get(name, setting.default)
    return None if text is None else _parsed(setting, text)


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


_INTRODUCTION = """\
# Configuration

<!-- Written by `python -m parquetry.config > docs/configuration.md`; change src/parquetry/config.py instead. -->

`parquetry.configure(SparkSession.builder, catalog="lake", warehouse="…")` makes these settings of Spark's:

| setting | value |
|---|---|
| `spark.jars` | the bridge's jar, after what is there already |
| `spark.sql.extensions` | `org.apache.spark.sql.parquetry.ParquetryExtensions`, after what is there already |
| `spark.sql.catalog.lake` | `org.apache.spark.sql.parquetry.ParquetryCatalog` |
| `spark.sql.catalog.lake.warehouse` | the warehouse |

`parquetry conf` prints them for `spark-submit`, `pyspark` and `spark-defaults.conf`; a session that has them needs
`parquetry.attach(spark)` only.
"""


def reference() -> str:
    """Return the reference of all settings as Markdown."""
    parts = [
        _INTRODUCTION,
        "## Catalog options\n\n`spark.sql.catalog.<name>.<option>`, or keyword arguments of `parquetry.configure`.\n",
        *_table(CATALOG_OPTIONS),
        "\n## Table properties\n\n`TBLPROPERTIES` at creation, or `ALTER TABLE … SET TBLPROPERTIES`. Other names are the\n"
        "user's own and are kept; `parquet.*` and `orc.*` are handed to the file writers.\n",
        *_table(TABLE_PROPERTIES),
    ]
    return "\n".join(parts) + "\n"


def _table(settings: tuple[Setting, ...]) -> list[str]:
    rows = ["| name | default | meaning |", "|---|---|---|"]
    for setting in settings:
        default = "" if setting.default is None else f"`{setting.default}`"
        fixed = " Only when the table is created." if setting.fixed else ""
        rows.append(f"| `{setting.name}` | {default} | {setting.text}{fixed} |")
    return rows


if __name__ == "__main__":
    print(reference(), end="")
