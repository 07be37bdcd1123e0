"""Write the reference of the settings, `docs/configuration.md`, from their registry.

python -m parquetry.config.reference > docs/configuration.md
"""

from __future__ import annotations

from parquetry.config.registry import CATALOG_OPTIONS, TABLE_SETTINGS
from parquetry.config.setting import Setting
from parquetry.config.spark import SPARK_SETTINGS, SparkSetting

_INTRODUCTION = """\
# Configuration

<!-- Written by `python -m parquetry.config.reference > docs/configuration.md`; change src/parquetry/config/registry.py instead. -->

`parquetry.configure(SparkSession.builder, catalog="lake", warehouse="…")` makes these settings of Spark's:

| setting | value |
|---|---|
| `spark.jars` | the bridge's jar, after what is there already |
| `spark.sql.extensions` | `org.apache.spark.sql.parquetry.ParquetryExtensions`, after what is there already |
| `spark.sql.catalog.lake` | `org.apache.spark.sql.parquetry.ParquetryCatalog` |
| `spark.sql.catalog.lake.warehouse` | the warehouse |
| `spark.sql.catalog.lake.store` | the store, if one is given, without the password of its URL |
| `spark.sql.catalog.lake.store.password` | that password, or `store_password="…"`; Spark does not show it |

and, unless they have values already, these settings of Spark's own. Joins of [bucketed tables](buckets.md)
depend on them:

| setting of Spark's | value | what it is for |
|---|---|---|
{of_spark}

`parquetry conf` prints them for `spark-submit`, `pyspark` and `spark-defaults.conf`. A session that has them
needs only `parquetry.attach(spark)`. `parquetry doctor --settings` shows the warehouse and the store outside
a session, where each was set, and these settings of Spark's.

Anyone who can read a metastore sees minimum and maximum values of files, including files that he may not
read. The metastore has the rights of the warehouse's folder, unless you give it others. A session opens a
port on 127.0.0.1 that wants a token. See [Concepts](concepts.md#who-may-read-and-who-may-ask) for both.
"""

_TABLE_SETTINGS = """
## Settings of tables

A setting can be given in several places. The first place in this table that has it decides:

| place | example |
|---|---|
| option of the write | `df.write.option("target-file-size", "64mb").insertInto("lake.db.t")` |
| session | ``SET `parquetry.target-file-size` = 64mb``, or `spark.conf.set("parquetry.target-file-size", "64mb")` |
| table property | `TBLPROPERTIES ('target-file-size' = '64mb')` at creation, or `ALTER TABLE … SET TBLPROPERTIES` |
| default | |

In `SET` and `RESET`, Spark wants backticks around a name with hyphens. `spark-submit --conf` and
`spark-defaults.conf` take only names that begin with `spark.`: pass session settings to
`SparkSession.builder.config`, or `SET` them.

A value that cannot be used is an error, and the message names its place. `SET` and `spark.conf.set` refuse
such a value, and the one before stays. If a builder has one, or an unknown `parquetry.…`, `getOrCreate()`
fails before anything starts. Names that are not in the table below:

- Unknown options are ignored, as Spark's own sources ignore them, in any letter case. But options that make
  Delta or Iceberg read or write other rows (`snapshot-id`, `branch`, `readChangeFeed`, `txnAppId`, …) are an
  error with a remedy.
- Unknown session settings `parquetry.…` are an error in `SET`, and in each read and write, because a misspelt
  setting would otherwise be ignored without a message.
- Unknown table properties are the user's own and are kept. Slips such as `target_file_size`, and all
  `parquetry.…`, are an error.

A known setting is also an error in a place that the table does not list for it, such as `partition-order` as
an option. The file writers get `parquet.*` and `orc.*`, whether these are options or table properties.
"""


def reference() -> str:
    """Return the reference of all settings as Markdown."""
    parts = [
        _INTRODUCTION.format(of_spark="\n".join(map(_spark_row, SPARK_SETTINGS))),
        "## Catalog options\n\n`spark.sql.catalog.<name>.<option>`, or keyword arguments of `parquetry.configure`.\n",
        "| name | default | meaning |\n|---|---|---|",
        *(f"| {_name_and_default(setting)} | {setting.text} |" for setting in CATALOG_OPTIONS),
        _TABLE_SETTINGS,
        "| name | default | given as | meaning |\n|---|---|---|---|",
        *map(_row, TABLE_SETTINGS),
    ]
    return "\n".join(parts) + "\n"


def _row(setting: Setting) -> str:
    fixed = " Only when the table is created." if setting.fixed else ""
    return f"| {_name_and_default(setting)} | {', '.join(setting.levels)} | {setting.text}{fixed} |"


def _spark_row(setting: SparkSetting) -> str:
    value = "unchanged" if setting.value is None else f"`{setting.value}`"
    return f"| `{setting.name}` | {value} | {setting.text} |"


def _name_and_default(setting: Setting) -> str:
    return f"`{setting.name}` | {'' if setting.default is None else f'`{setting.default}`'}"


if __name__ == "__main__":
    print(reference(), end="")
