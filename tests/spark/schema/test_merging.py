"""With the option mergeSchema of DataFrame writes, the table gets the columns of the rows, as in Delta and
Iceberg.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException, SparkRuntimeException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

Rows = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """A partitioned table of a row, with a default value and a struct."""
    spark.sql(
        f"CREATE TABLE {db}.t (id INT, n INT DEFAULT 7, s STRUCT<a: INT>, p STRING) USING parquet PARTITIONED BY (p)"
    )
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1, named_struct('a', 1), 'x')")
    return f"{db}.t"


@pytest.fixture
def wider(spark: SparkSession) -> DataFrame:
    """Rows with a new column and a new field, a wider type, and without two of the table's columns."""
    return spark.sql(
        "SELECT 3000000000 AS id, 'new' AS more, named_struct('a', 2, 'b', 'field') AS s, 'x' AS p"
    )


SCHEMA = "struct<id:bigint,n:int,s:struct<a:int,b:string>,more:string,p:string>"
OLD = (1, 1, (1, None), None, "x")
NEW = (3_000_000_000, 7, (2, "field"), "new", "x")

WRITES: dict[str, tuple[Callable[[DataFrame, str], object], list[tuple[Any, ...]]]] = {
    "saveAsTable": (
        lambda df, t: df.write.option("mergeSchema", "true").mode("append").saveAsTable(t),
        [OLD, NEW],
    ),
    "append": (lambda df, t: df.writeTo(t).option("mergeSchema", "true").append(), [OLD, NEW]),
    "in capitals": (lambda df, t: df.writeTo(t).option("MERGESCHEMA", "TRUE").append(), [OLD, NEW]),
    "overwrite": (
        lambda df, t: df.writeTo(t).option("mergeSchema", "true").overwrite(expr("p = 'x'")),
        [NEW],
    ),
    "overwritePartitions": (
        lambda df, t: df.writeTo(t).option("mergeSchema", "true").overwritePartitions(),
        [NEW],
    ),
}


@pytest.mark.needs("evolving writes")
@pytest.mark.parametrize("how", WRITES)
def test_the_table_gets_the_columns_of_the_rows(
    spark: SparkSession, rows: Rows, table: str, wider: DataFrame, how: str
) -> None:
    """New columns and fields are at the end, before the partition columns, types are wider, and missing
    columns have their default.
    """
    write, expected = WRITES[how]
    write(wider, table)
    assert spark.table(table).schema.simpleString() == SCHEMA
    assert all(field.nullable for field in spark.table(table).schema)
    found = [
        tuple(tuple(v) if isinstance(v, tuple) else v for v in row)
        for row in rows(f"SELECT * FROM {table} ORDER BY id")
    ]
    assert found == expected
    assert rows(f"SELECT id FROM {table} WHERE more = 'new'") == [(3_000_000_000,)]


@pytest.mark.needs("evolving writes")
@pytest.mark.parametrize("option", [None, "false"])
@pytest.mark.parametrize("how", ["saveAsTable", "append", "overwritePartitions"])
def test_without_the_option_the_error_names_it(
    spark: SparkSession, table: str, wider: DataFrame, how: str, option: str | None
) -> None:
    """Rows with other columns are refused with Spark's own condition and the remedy, and the table does not
    change.
    """
    before = spark.table(table).schema
    writer = wider.write.mode("append") if how == "saveAsTable" else wider.writeTo(table)
    if option is not None:
        writer = writer.option("mergeSchema", option)
    with pytest.raises(AnalysisException, match=r'`more`.*option\("mergeSchema", "true"\)') as caught:
        getattr(writer, how)(*([table] if how == "saveAsTable" else []))
    assert caught.value.getCondition() == "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS"
    assert spark.table(table).schema == before


@pytest.mark.needs("evolving writes")
def test_by_position(spark: SparkSession, rows: Rows, db: str) -> None:
    """insertInto adds what comes behind the table's columns, by the names that the rows have."""
    spark.sql(f"CREATE TABLE {db}.u (id INT, n INT) USING parquet")
    spark.sql(f"INSERT INTO {db}.u VALUES (1, 1)")
    data = spark.sql("SELECT 2 AS a, 2L AS b, 'two' AS more")
    with pytest.raises(AnalysisException, match=r"(?s)TOO_MANY_DATA_COLUMNS.*mergeSchema"):
        data.write.insertInto(f"{db}.u")
    data.write.option("mergeSchema", "true").insertInto(f"{db}.u")
    assert spark.table(f"{db}.u").schema.simpleString() == "struct<id:int,n:bigint,more:string>"
    assert rows(f"SELECT * FROM {db}.u ORDER BY id") == [(1, 1, None), (2, 2, "two")]
    data.write.option("mergeSchema", "true").insertInto(f"{db}.u", overwrite=True)
    assert rows(f"SELECT * FROM {db}.u ORDER BY id") == [(2, 2, "two")]


@pytest.mark.needs("evolving writes")
def test_by_position_beside_partition_columns(spark: SparkSession, rows: Rows, table: str) -> None:
    """A new column cannot be given by position, as partition columns stay last: the write is refused, and no
    value goes into another column.
    """
    data = spark.sql("SELECT 2 AS id, 2 AS n, named_struct('a', 2) AS s, 'x' AS p, 'two' AS more")
    with pytest.raises(
        AnalysisException, match=r"by position.*more: new columns come before partition columns.*by name"
    ):
        data.write.option("mergeSchema", "true").insertInto(table)
    with pytest.raises(AnalysisException, match="by position"):
        spark.sql(
            f"INSERT WITH SCHEMA EVOLUTION INTO {table} SELECT 2 AS id, 2 AS n, named_struct('a', 2) AS s, 'x' AS p, 'two' AS more"
        )
    with pytest.raises(AnalysisException, match="by position"):
        spark.sql(
            f"WITH w AS (SELECT 2 AS id, 2 AS n, named_struct('a', 2) AS s, 'two' AS more) "
            f"INSERT WITH SCHEMA EVOLUTION INTO {table} PARTITION (p = 'x') SELECT * FROM w"
        )
    assert rows(f"SELECT id, p FROM {table}") == [(1, "x")]
    spark.sql(
        f"INSERT WITH SCHEMA EVOLUTION INTO {table} PARTITION (p = 'y') SELECT 3L AS id, 3 AS n, named_struct('a', 3) AS s"
    )
    assert rows(f"SELECT id, n, p FROM {table} ORDER BY id") == [(1, 1, "x"), (3, 3, "y")]


def test_a_value_that_is_none(table: str, wider: DataFrame) -> None:
    """The option is true or false."""
    with pytest.raises(AnalysisException, match="Option mergeSchema is 'yes': give true or false"):
        wider.writeTo(table).option("mergeSchema", "yes").append()


@pytest.mark.needs("evolving writes")
def test_rows_that_fail_later(spark: SparkSession, rows: Rows, table: str) -> None:
    """The table keeps new columns if the rows then fail to be written, and its rows are as they were."""
    with pytest.raises(SparkRuntimeException):
        spark.sql("SELECT 2 AS id, raise_error('no') AS more, 'x' AS p").writeTo(table).option(
            "mergeSchema", "true"
        ).append()
    assert rows(f"SELECT id FROM {table}") == [(1,)]


@pytest.mark.needs("evolving merges")
def test_merge_into(spark: SparkSession, rows: Rows, table: str) -> None:
    """mergeInto takes withSchemaEvolution(), as MERGE does the clause."""
    source = spark.sql("SELECT * FROM VALUES (1, 10, 'one'), (2, 20, 'two') AS s(id, n, more)")
    merge = source.alias("s").mergeInto(table, expr(f"s.id = {table}.id"))
    merge.withSchemaEvolution().whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert rows(f"SELECT id, n, more, p FROM {table} ORDER BY id") == [
        (1, 10, "one", "x"),
        (2, 20, "two", None),
    ]
