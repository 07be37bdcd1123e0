"""The tables of the pairs, each beside a view of Spark's own with the same rows, made once for all pairs.

| table | layout |
|---|---|
| f | in partitions by (a, p) |
| b | in partitions by p, in two sorted buckets by k |
| h | in four buckets by k; most rows have one k |
| l | in partitions by p, with a directory for two heavy values of s |
| n | in four sorted buckets by k |
| o | in three files |
| g | in partitions by p |
| d | ten values of p, two of them with c = 'c1' |
| m | the same, in partitions by (c, p) |
| e | pairs of p and a, and ranges of k |
| r | three values of s |

The first version with rows of f, b, h and l lacks the partition p = 10.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from parquetry.hashing import bucket_numbers
from parquetry.types import parse_type
from tests.support.tables.bucketed_tables import local_view

_ROWS = (
    "SELECT {k} k, int(id * 7 % 264) v, CASE WHEN id % 10 < 5 THEN 's1' WHEN id % 10 < 7 THEN 's2' "
    "WHEN id % 10 < 9 THEN 's3' ELSE 's4' END s, int(id % 2) a, int(id DIV 24) p FROM range({low}, {high}, 1, 1)"
)
_HOT = "IF(id % 10 < 8, 7, int(id))"
_COLUMNS = "(k INT, v INT, s STRING, a INT, p INT)"
_LAYOUTS = {
    "f": "PARTITIONED BY (a, p)",
    "b": "PARTITIONED BY (p) CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS",
    "h": "CLUSTERED BY (k) INTO 4 BUCKETS",
    "l": "PARTITIONED BY (p) SKEWED BY (s) ON ('s1', 's2') STORED AS DIRECTORIES "
    "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
}
_SMALL = {
    "n": (_COLUMNS, "CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS", _ROWS.format(k="int(id)", low=0, high=120)),
    "g": (_COLUMNS, "PARTITIONED BY (p)", _ROWS.format(k="int(id)", low=0, high=264)),
    "d": ("(p INT, c STRING)", "", "SELECT int(id) p, IF(id IN (4, 5), 'c1', 'c2') c FROM range(10)"),
    "m": ("(n INT, c STRING, p INT)", "PARTITIONED BY (c, p)",
          "SELECT int(id) n, IF(id IN (4, 5), 'c1', 'c2') c, int(id) p FROM range(10)"),
    "e": ("(p INT, a INT, low INT, high INT)", "", "SELECT * FROM VALUES (2, 0, 48, 52), (3, 1, 70, 75) AS e(p, a, low, high)"),
    "r": ("(s STRING, w INT)", "", "SELECT * FROM VALUES ('s1', 1), ('s2', 2), ('s4', 3) AS r(s, w)"),
}  # fmt: skip
_OTHER = "o"
_REFERENCE = re.compile(r"\{(\w+)((?::\w+)*)\}")
_FIRST_ROWS, _ALL_ROWS = 240, 264
SAMPLE = " TABLESAMPLE (BUCKET 1 OUT OF 2 ON k)"


class PairTables:
    """The tables of a database, and the texts of statements over them and over Spark's own views.

    Args:
        spark: a session.
        database: of a catalog of ours; it is made here.
        folder: of the database.
    """

    def __init__(self, spark: SparkSession, database: str, folder: Path) -> None:
        self._database = database
        self._versions: dict[str, int] = {}
        spark.sql(f"CREATE NAMESPACE {database}")
        for name, layout in _LAYOUTS.items():
            table, key = f"{database}.{name}", _HOT if name == "h" else "int(id)"
            spark.sql(f"CREATE TABLE {table} {_COLUMNS} {layout}")
            spark.sql(f"INSERT INTO {table} {_ROWS.format(k=key, low=0, high=_FIRST_ROWS)}")
            history = spark.sql(f"SELECT max(version) FROM {table}.history").collect()
            self._versions[name] = history[0][0]
            spark.sql(f"INSERT INTO {table} {_ROWS.format(k=key, low=_FIRST_ROWS, high=_ALL_ROWS)}")
            local_view(spark.sql(_ROWS.format(k=key, low=0, high=_FIRST_ROWS)), f"plain_{name}_first")
            local_view(spark.sql(_ROWS.format(k=key, low=0, high=_ALL_ROWS)), f"plain_{name}")
            for sample in ("", SAMPLE):
                view = f"view_{name}{'_sampled' if sample else ''}"
                spark.sql(f"CREATE TEMPORARY VIEW {view} AS SELECT * FROM {table}{sample} WHERE p >= 0")
        for name, (columns, layout, rows) in _SMALL.items():
            spark.sql(f"CREATE TABLE {database}.{name} {columns} {layout}")
            spark.sql(f"INSERT INTO {database}.{name} {rows}")
            local_view(spark.sql(rows), f"plain_{name}")
        spark.sql(f"CREATE TABLE {database}.{_OTHER} {_COLUMNS}")
        for low in (300, 310, 320):
            spark.sql(f"INSERT INTO {database}.{_OTHER} {_ROWS.format(k='int(id)', low=low, high=low + 10)}")
        local_view(spark.sql(_ROWS.format(k="int(id)", low=300, high=330)), f"plain_{_OTHER}")
        keys = range(330)
        buckets = bucket_numbers(2, 2, [parse_type("int")], [(key,) for key in keys])
        self._sampled = ", ".join(str(key) for key, bucket in zip(keys, buckets, strict=True) if bucket == 0)
        self.files = Counter(file.relative_to(folder).parts[0] for file in folder.rglob("*.parquet"))

    def ours(self, text: str) -> str:
        """Return a statement over the tables."""

        def name(found: re.Match[str]) -> str:
            table, forms = found[1], found[2].split(":")
            sample = "sample" in forms
            if table == "cached":
                return "cached_pair"
            if "view" in forms:
                return f"view_{table}{'_sampled' if sample else ''}"
            version = f" VERSION AS OF {self._versions[table]}" if "version" in forms else ""
            return f"{self._database}.{table}{version}{SAMPLE if sample else ''}"

        return _REFERENCE.sub(name, text)

    def plain(self, text: str) -> str:
        """Return a statement over the views of the same rows."""

        def name(found: re.Match[str]) -> str:
            table, forms = found[1], found[2].split(":")
            view = f"plain_{table}{'_first' if 'version' in forms else ''}"
            return f"(SELECT * FROM {view} WHERE k IN ({self._sampled}))" if "sample" in forms else view

        return _REFERENCE.sub(name, text)
