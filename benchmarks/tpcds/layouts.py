"""The layouts of TPC-DS's facts that are measured, made once, and the sessions that read them.

| layout | of | |
|---|---|---|
| l1 | all facts | partitioned by the date's key, one file each, sorted by item; Spark writes it, Parquetry takes the same files in |
| l1_bloom | sales | the same, written by Parquetry, with Bloom filters on item and customer |
| l2 | what the core stars read | no partitions: sorted by date and item, 20,000 rows a file, 5,000 a row group, Bloom filters on item and customer |
| n | store sales | partitioned by year, sorted by item, row groups of 5,000 rows |

Spark reads the files of a layout through views, whose files were listed before the clock starts. It also
reads the files of l1 as tables of its own catalog, whose partitions it looks up in Hive's metastore for each
query. The other tables are Parquetry's on one side, files that Spark reads itself on the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import parquetry
from benchmarks.lake import CATALOG
from benchmarks.writing.loading import raw
from demo.tpcds import DERIVED, Raw

FACTS = {
    "store_sales": ("ss_sold_date_sk", "ss_item_sk"),
    "catalog_sales": ("cs_sold_date_sk", "cs_item_sk"),
    "web_sales": ("ws_sold_date_sk", "ws_item_sk"),
    "store_returns": ("sr_returned_date_sk", "sr_item_sk"),
    "catalog_returns": ("cr_returned_date_sk", "cr_item_sk"),
    "web_returns": ("wr_returned_date_sk", "wr_item_sk"),
    "inventory": ("inv_date_sk", "inv_item_sk"),
}
"""The column with the date's key, and the column with the item's."""
LAYOUTS = {
    "l1": tuple(FACTS),
    "l1_bloom": ("store_sales", "catalog_sales", "web_sales"),
    "l2": ("store_sales", "store_returns", "catalog_sales"),
    "n": ("store_sales",),
}
"""The facts that each layout has tables of; the other facts are read from l1."""
_CUSTOMERS = {
    "store_sales": "ss_customer_sk",
    "catalog_sales": "cs_bill_customer_sk",
    "web_sales": "ws_bill_customer_sk",
    "store_returns": "sr_customer_sk",
}
_OTHERS = f"{CATALOG}.tpcds"
_ROWS_OF_FILE = 20_000
_ROWS_OF_GROUP = 5_000


class BenchmarkLake:
    """The tables of all layouts, and a session for each way to read one.

    Args:
        spark: with the catalog.
        folder: of the data.
        scale: of TPC-DS.
    """

    def __init__(self, spark: SparkSession, folder: Path, scale: float) -> None:
        self._spark = spark
        self._folder = folder
        self._raw = raw(folder, scale)
        self._others = [table for table in self._raw.rows if table not in {*FACTS, *DERIVED}]
        self._plain: dict[str, SparkSession] = {}
        self._loader = self._session()
        _settle(spark)
        self._load()

    @property
    def raw(self) -> Raw:
        """Return the rows as they were generated."""
        return self._raw

    def ours(self, layout: str) -> SparkSession:
        """Return the session with the catalog, where the facts' names mean the tables of a layout."""
        self._have(layout)
        for fact in FACTS:  # views as the other sides have them: of a table, not of a text to be parsed
            self._spark.table(_table(layout, fact)).createOrReplaceTempView(fact)
        return self._spark

    def spark_alone(self, layout: str) -> SparkSession:
        """Return a session of Spark alone on the files of a layout."""
        if layout not in self._plain:
            self._have(layout)
            session = self._session()
            for fact in FACTS:
                self.listed(layout, fact, session).createOrReplaceTempView(fact)
            self._plain[layout] = session
        return self._plain[layout]

    def tables(self) -> SparkSession:
        """Return a session of Spark alone whose facts are tables of its catalog, in Hive's metastore.

        They are l1, as Spark's users have it.
        """
        if "tables" not in self._plain:
            session = self._session()
            session.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.l1")
            for fact in LAYOUTS["l1"]:
                name = f"spark_catalog.l1.{fact}"
                if not session.catalog.tableExists(name):
                    self._take_into_hive(name, fact, session)
                session.table(name).createOrReplaceTempView(fact)
            self._plain["tables"] = session
        return self._plain["tables"]

    def _take_into_hive(self, name: str, fact: str, session: SparkSession) -> None:
        columns = _columns(session.read.parquet(str(self._raw.file(fact))))
        made = f"{name}_unfinished"
        session.sql(f"DROP TABLE IF EXISTS {made}")
        session.sql(
            f"CREATE TABLE {made} ({columns}) USING parquet PARTITIONED BY ({FACTS[fact][0]}) LOCATION '{self._tree(fact)}'"
        )
        print(f"Telling Hive's metastore of the partitions of {fact} (once)", flush=True)
        session.sql(f"MSCK REPAIR TABLE {made}")
        session.sql(f"ALTER TABLE {made} RENAME TO {name.removeprefix('spark_catalog.')}")

    def exact(self) -> SparkSession:
        """Return a session of Spark alone, for views on some of the files."""
        return self._session()

    def listed(self, layout: str, fact: str, session: SparkSession) -> DataFrame:
        """Return a fact as Spark reads it off the files of a layout."""
        if _stored_layout(layout, fact) == "l1":
            return session.read.parquet(str(self._tree(fact)))
        return session.read.parquet(*self.files(layout, fact))

    def some(self, layout: str, fact: str, paths: Iterable[str], session: SparkSession) -> DataFrame:
        """Return a fact as Spark reads it off some of the files of a layout."""
        chosen = list(paths)
        if not chosen:
            return self.listed(layout, fact, session).limit(0)
        reader = session.read
        if _stored_layout(layout, fact) == "l1":
            reader = reader.option("basePath", str(self._tree(fact)))
        return reader.parquet(*chosen)

    def files(self, layout: str, fact: str) -> list[str]:
        """Return the paths of the files of a fact in a layout."""
        name = _table(layout, fact).removeprefix(f"{CATALOG}.")
        with parquetry.open(self._folder / "warehouse") as catalog:
            return [file.path for file in catalog.files(name)]

    def _tree(self, fact: str) -> Path:
        return self._folder / "facts" / fact

    def _session(self) -> SparkSession:
        """Return a session of Spark alone, with views of the tables that are no facts."""
        session = self._spark.newSession()
        _settle(session)
        for table in self._others:
            session.read.parquet(str(self._raw.file(table))).createOrReplaceTempView(table)
        return session

    def _load(self) -> None:
        self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {_OTHERS}")
        for table in self._others:
            if not self._exists(f"{_OTHERS}.{table}"):
                self._source(table)
                self._spark.sql(f"CREATE TABLE {_OTHERS}.{table} USING parquet AS SELECT * FROM to_load")
            self._spark.table(f"{_OTHERS}.{table}").createOrReplaceTempView(table)
        self._have("l1")

    def _have(self, layout: str) -> None:
        """Write what is missing of a layout."""
        self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.tpcds_{layout}")
        for fact in LAYOUTS[layout]:
            if not self._exists(_table(layout, fact)):
                print(f"writing {fact} as {layout}", flush=True)
                getattr(self, f"_load_{layout}")(fact)

    def _exists(self, table: str) -> bool:
        return bool(self._spark.catalog.tableExists(table))

    def _source(self, table: str) -> DataFrame:
        frame = self._spark.read.parquet(str(self._raw.file(table)))
        frame.createOrReplaceTempView("to_load")
        return frame

    def _load_l1(self, fact: str) -> None:
        date, item = FACTS[fact]
        tree = self._tree(fact)
        source = self._loader.read.parquet(str(self._raw.file(fact)))
        if not (tree / "_SUCCESS").exists():
            rows = source.repartition(4, date).sortWithinPartitions(date, item)
            rows.write.mode("overwrite").partitionBy(date).parquet(str(tree))
        name = _table("l1", fact)
        self._spark.sql(
            f"CREATE TABLE {name} ({_columns(source)}) USING parquet PARTITIONED BY ({date}) LOCATION '{tree}'"
        )
        self._spark.sql(f"CALL {CATALOG}.system.sync(table => '{name.removeprefix(f'{CATALOG}.')}')")

    def _load_l1_bloom(self, fact: str) -> None:
        date, item = FACTS[fact]
        self._insert("l1_bloom", fact, self._source(fact), f"PARTITIONED BY ({date})", _bloom(fact, item))

    def _load_l2(self, fact: str) -> None:
        date, item = FACTS[fact]
        source = self._source(fact)
        tasks = max(1, self._raw.rows[fact] // _ROWS_OF_FILE)
        properties = {
            **_bloom(fact, f"{date}, {item}"),
            "distribution": "none",
            "parquet.block.row.count.limit": str(_ROWS_OF_GROUP),
        }
        self._insert("l2", fact, source.repartitionByRange(tasks, date, item), "", properties)

    def _load_n(self, fact: str) -> None:
        date, item = FACTS[fact]
        days = self._spark.table("date_dim").selectExpr(f"d_date_sk AS {date}", "d_year AS sold_year")
        source = self._source(fact).join(days, date, "left")
        properties = {"sort-by": item, "parquet.block.row.count.limit": str(_ROWS_OF_GROUP)}
        self._insert("n", fact, source, "PARTITIONED BY (sold_year)", properties)

    def _insert(
        self, layout: str, fact: str, rows: DataFrame, partitioned: str, properties: dict[str, str]
    ) -> None:
        """Make a table of rows; one that an interrupted run has left without them is made anew."""
        name = _table(layout, fact)
        told = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self._spark.sql(f"DROP TABLE IF EXISTS {name}_unfinished PURGE")
        self._spark.sql(
            f"CREATE TABLE {name}_unfinished ({_columns(rows)}) USING parquet {partitioned} TBLPROPERTIES ({told})"
        )
        rows.createOrReplaceTempView("to_load")
        self._spark.sql(f"INSERT INTO {name}_unfinished BY NAME SELECT * FROM to_load")
        self._spark.sql(f"ALTER TABLE {name}_unfinished RENAME TO {name.removeprefix(f'{CATALOG}.')}")


def _settle(session: SparkSession) -> None:
    session.conf.set("spark.sql.parquet.compression.codec", "zstd")  # as Iceberg's
    session.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")  # eight queries quote names so


def _stored_layout(layout: str, fact: str) -> str:
    return layout if fact in LAYOUTS[layout] else "l1"


def _table(layout: str, fact: str) -> str:
    return f"{CATALOG}.tpcds_{_stored_layout(layout, fact)}.{fact}"


def _bloom(fact: str, order: str) -> dict[str, str]:
    return {"sort-by": order, "bloom-filter-columns": f"{FACTS[fact][1]}, {_CUSTOMERS[fact]}"}


def _columns(frame: DataFrame) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
