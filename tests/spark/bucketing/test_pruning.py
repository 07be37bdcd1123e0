"""Queries in every form read no bucket without an answer, and find the rows that the bridge wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions as sf

import parquetry
from parquetry import metastore as ms
from parquetry.layout.bucket_spec import Version
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Compare
from parquetry.prune.select import select_files
from parquetry.types import Value, parse_type
from tests.support.effort import sampled
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.core

Rows = Callable[[str], list[tuple[Any, ...]]]
Buckets = tuple[int, int]


def buckets(found: Any) -> list[Buckets | tuple[()]]:
    """Return what each scan of a report says of buckets, in order."""
    told = [
        {step["name"]: (step["kept"], step["of"]) for step in scan["steps"]}
        for scan in found.to_dict()["scans"]
    ]
    return [steps.get("buckets", ()) for steps in told]


def arrange(store: ms.Metastore, name: str, arrangements: dict[Value, ms.ArrangementSpec]) -> None:
    """Give a table partitions, each with an arrangement of its own, and no files yet."""
    table = store.table(*name.split("."))
    transaction = Transaction(table, "arrange")
    for value, arrangement in arrangements.items():
        transaction.replace((value,), [], arrangement=arrangement)
    commit(transaction)


_SPECS = {
    1: ms.ArrangementSpec(buckets=ms.BucketSpec(("id",), 8)),
    2: ms.ArrangementSpec(buckets=ms.BucketSpec(("id",), 4, 1)),
    3: ms.ArrangementSpec(buckets=ms.BucketSpec(("id", "s"), 4, "spark")),
    4: ms.ArrangementSpec(
        ms.SkewMap(("s",), (("a",),), directories=True), ms.BucketSpec(("id",), 2, 2, (ms.SortColumn("v"),))
    ),
    5: ms.ArrangementSpec(),
}
"""Buckets of partitions: by one column, by another hash, by two columns, within directories, and none."""


@pytest.fixture(scope="module", params=["parquet", "orc"])
def table(request: pytest.FixtureRequest, spark: SparkSession, store: ms.Metastore) -> Iterator[str]:
    """A table whose partitions are in buckets of their own, and a view `plain_rows` of the same rows."""
    name = f"lake.buckets_{request.param}.t"
    spark.sql(f"CREATE NAMESPACE lake.buckets_{request.param}")
    spark.sql(
        f"CREATE TABLE {name} (id int, s string, v int, p int) USING {request.param} PARTITIONED BY (p) "
        "CLUSTERED BY (id) INTO 8 BUCKETS TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"
    )
    arrange(store, name.removeprefix("lake."), dict(_SPECS))  # type: ignore[arg-type]
    rows = spark.range(400).select(
        sf.expr("if(id % 41 = 0, NULL, CAST(id % 40 AS INT)) AS id"),
        sf.expr("element_at(array('a', 'b', NULL, 'd'), CAST(id % 4 AS INT) + 1) AS s"),
        sf.expr("CAST(id AS INT) AS v"),
        sf.expr("CAST(id DIV 80 AS INT) + 1 AS p"),
    )
    rows.createOrReplaceTempView("plain_rows")
    spark.sql(f"INSERT INTO {name} SELECT * FROM plain_rows")
    yield name
    spark.sql(f"DROP NAMESPACE lake.buckets_{request.param} CASCADE")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("p = 1 AND id = 5", (1, 8)),
        ("p = 1 AND id <=> 5", (1, 8)),
        ("p = 1 AND id IS NULL", (1, 8)),
        ("p = 2 AND id = 5L", (1, 4)),
        ("p = 2 AND (id = 5 OR id IS NULL)", (2, 4)),
        ("p = 3 AND id = 7 AND s = 'b'", (1, 4)),
        ("p = 3 AND id IS NULL AND s <=> NULL", (1, 4)),
        ("p = 3 AND id = 7", (4, 4)),
        ("p = 4 AND id = 8", (1, 2)),
        ("p = 5 AND id = 5", (0, 0)),
        ("p < 3 AND id = 5", (2, 12)),
        ("p = 1 AND id = 5 OR p = 2 AND id IN (6, 7)", None),
        ("id IN (5, 6) AND v > 100", None),
        ("id BETWEEN 5 AND 6", None),
        ("id > 5 OR v = 3", None),
        ("NOT (id <=> 5)", None),
        ("(id, s) IN ((5, 'a'), (6, 'b'), (7, 'a'))", None),
        ("id + 1 = 6", None),
        ("CAST(id AS STRING) = '5'", None),
        ("id = '5'", None),
        ("id = 5.0D", None),
        ("id = 5.5BD", None),
        ("v = 7", ()),
    ],
)
def test_conditions(
    spark: SparkSession, table: str, where: str, expected: Buckets | tuple[()] | None
) -> None:
    """A condition returns the rows of a table without buckets, and reads the buckets that may
    contain them.
    """
    frame = spark.sql(f"SELECT * FROM {table} WHERE {where}")
    plain = spark.sql(f"SELECT * FROM plain_rows WHERE {where}")
    assert sorted(frame.collect(), key=str) == sorted(plain.collect(), key=str)
    if expected is not None:
        assert buckets(parquetry.report(frame)) == [expected]


def test_wherever_a_query_asks(spark: SparkSession, table: str, rows: Rows) -> None:
    """Pruning works through a view, subqueries, joins, groups and frames, in EXPLAIN, in the catalog, and for
    a past version.
    """
    spark.sql(f"CREATE OR REPLACE TEMP VIEW numbers AS SELECT id AS number, v * 2 AS double, p FROM {table}")
    for query, expected in {
        "SELECT double FROM numbers WHERE number = 7 AND p = 1": [(1, 8)],
        "SELECT n, count(*), sum(v) FROM (SELECT id AS n, v, p FROM {0}) x WHERE n = 7 AND p < 3 GROUP BY n": [
            (2, 12)
        ],
        "SELECT a.v, b.v FROM {0} a JOIN {0} b ON a.id = b.id WHERE a.id = 7 AND a.p = 1 AND b.p = 2": [
            (1, 8),
            (1, 4),
        ],
        "SELECT count(*), min(v), max(s) FROM {0} WHERE id = 8 AND p = 2": [(1, 4)],
    }.items():
        frame = spark.sql(query.format(table))
        plain = query.format("plain_rows").replace(
            "numbers", "(SELECT id AS number, v * 2 AS double, p FROM plain_rows)"
        )
        assert sorted(frame.collect(), key=str) == sorted(spark.sql(plain).collect(), key=str), query
        assert buckets(parquetry.report(frame)) == expected, query
    frame = spark.table(table).where((sf.col("id") == 7) & (sf.col("p") == 1)).select("v")
    frame.collect()
    report = str(parquetry.report(frame))
    assert "partitions 1 of 5 (p = 1) · buckets 1 of 8 (id = 7) · files 1 of 1" in report
    assert "buckets 1 of 8 (id = 7)" in frame._jdf.queryExecution().executedPlan().toString()
    version = rows(f"SELECT max(version) FROM {table}.history")[0][0]
    frame = spark.sql(f"SELECT * FROM {table} VERSION AS OF {version} WHERE id = 7 AND p = 1")
    assert buckets(parquetry.explain(f"SELECT * FROM {table} WHERE id = 7 AND p = 1")) == [(1, 8)]
    assert buckets(parquetry.report(frame)) == [(1, 8)]
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    files = parquetry.open(str(warehouse)).files(table.removeprefix("lake."), where="id = 7 AND p = 1")
    assert len(list(files)) == 1


def test_rows_are_deleted_and_counted_by_bucket(spark: SparkSession, db: str, rows: Rows) -> None:
    """DELETE and INSERT OVERWRITE of a bucket's rows leave all other rows. A query after an append reads all
    rows.
    """
    spark.sql(
        f"CREATE TABLE {db}.t (id int, v int, p int) PARTITIONED BY (p) CLUSTERED BY (id) INTO 4 BUCKETS"
    )
    fill = "SELECT CAST(id % 20 AS INT), CAST(id AS INT), CAST(id DIV 100 AS INT) FROM range(200)"
    for _ in range(2):
        spark.sql(f"INSERT INTO {db}.t {fill}")
    assert rows(f"SELECT count(*) FROM {db}.t WHERE id = 6") == [(20,)]
    ((kept, of),) = buckets(parquetry.explain(f"SELECT * FROM {db}.t WHERE id = 6"))
    assert (kept, of) == (2, 8)
    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 0) SELECT id, v FROM {db}.t WHERE p = 0 AND id = 6")
    assert rows(f"SELECT count(*), count(DISTINCT id) FROM {db}.t WHERE p = 0") == [(10, 1)]
    assert rows(f"SELECT count(*) FROM {db}.t WHERE id = 6") == [(20,)]
    assert buckets(parquetry.explain(f"SELECT * FROM {db}.t WHERE id = 6 AND p = 0")) == [(1, 1)]
    spark.sql(f"DELETE FROM {db}.t WHERE p = 0 AND id = 6")
    assert rows(f"SELECT count(*), min(p) FROM {db}.t") == [(200, 1)]


_VALUES: dict[str, tuple[str, ...]] = {
    "boolean": ("true", "false"),
    "tinyint": ("-128", "0", "7"),
    "smallint": ("-32768", "-1", "300"),
    "int": ("-2147483648", "0", "70000"),
    "bigint": ("-9223372036854775808", "-1", "5000000000"),
    "float": ("0.0", "-0.0", "'NaN'", "0.1", "'-Infinity'"),
    "double": ("-0.0", "0.0", "'NaN'", "1e300"),
    "decimal(9,2)": ("1.50", "-0.01", "0.00", "100"),
    "decimal(30,4)": ("12345678901234567890.1200", "-1.5", "0"),
    "string": ("''", "'é中😀'", "'a '", "'a'"),
    "varchar(4)": ("''", "'a b'", "'a '", "'中'"),
    "char(4)": ("''", "'a'", "'a b'", "'abcd'"),
    "binary": ("X''", "X'00FF'", "X'61'"),
    "date": ("'0001-01-01'", "'1969-12-31'", "'2026-11-22'"),
    "timestamp": ("'1500-01-01 01:02:03.000004'", "'1969-12-31 23:59:59.5'", "'2026-03-29 01:30:00'"),
    "timestamp_ntz": ("'1500-01-01 01:02:03.000004'", "'1970-01-01 00:00:00'", "'2026-03-29 01:30:00'"),
}
"""Some values of each type, as SQL casts them, and NULL."""
_INTERNAL = {
    "date": "unix_date({})",
    "timestamp": "unix_micros({})",
    "timestamp_ntz": "unix_micros(CAST({} AS TIMESTAMP))",
}
"""Expressions that are read instead of a column, to get values in the form that conditions have."""
_VERSIONS: tuple[Version, ...] = (1, 2, "spark")
_COUNT = 97


def test_values_of_all_types_are_in_the_bucket_where_they_are_looked_for(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore
) -> None:
    """For each type and each hash, the files that an equality selects contain all rows of the value, and few
    others.
    """
    names = {f"c{n}": type for n, type in enumerate(_VALUES)}
    columns = ", ".join(f"{name} {type}" for name, type in names.items())
    spark.sql(f"CREATE TABLE {db}.t ({columns}, p int) PARTITIONED BY (p) CLUSTERED BY (c3) INTO 4 BUCKETS")
    parts = dict(enumerate(sampled([(name, v) for name in names for v in _VERSIONS])))
    arrange(
        store,
        f"{db.removeprefix('lake.')}.t",
        {n: ms.ArrangementSpec(buckets=ms.BucketSpec((c,), _COUNT, v)) for n, (c, v) in parts.items()},
    )
    longest = max(map(len, _VALUES.values()))
    lines = [
        ", ".join(f"CAST({(*values, *['NULL'] * longest)[n]} AS {type})" for type, values in _VALUES.items())
        for n in range(longest + 1)
    ]
    source = " UNION ALL ".join(f"SELECT {line}" for line in lines)
    spark.sql(
        f"INSERT INTO {db}.t SELECT x.*, CAST(id AS INT) FROM ({source}) x CROSS JOIN range({len(parts)})"
    )
    snapshot = store.table(db.removeprefix("lake."), "t")
    types = {name: parse_type(type) for name, type in names.items()}
    shown = ", ".join(f"{_INTERNAL.get(type, '{}').format(name)} AS {name}" for name, type in names.items())
    found = spark.sql(f"SELECT {shown}, p, input_file_name() AS file FROM {db}.t").collect()
    assert len(found) == len(lines) * len(parts)
    for part, (name, version) in parts.items():
        mine = [row for row in found if row.p == part]
        held = {row.file.rsplit("/", 1)[1] for row in mine}
        for row in mine:
            value = bytes(row[name]) if isinstance(row[name], bytearray) else row[name]
            asked = [
                Filter.bind(Compare("=", "p", part, parse_type("int")), {"p": parse_type("int")}),
                Filter.bind(Compare("<=>", name, value, types[name]), types),
            ]
            read = {each.path.rsplit("/", 1)[1] for each in select_files(snapshot, asked).files}
            assert row.file.rsplit("/", 1)[1] in read, (name, version, value)
            if types[name].name != "char" or version != "spark":  # whose blanks a condition does not tell
                assert len(read) == 1 < len(held), (name, version, value)


@pytest.mark.parametrize("version", ["1", "2", "spark"])
@pytest.mark.parametrize("stored_as_given", [True, False])
def test_a_char_is_found_however_many_blanks_are_stored(
    spark: SparkSession, db: str, version: str, stored_as_given: bool
) -> None:
    """If a session stores and reads chars as strings, Spark's hash counts the blanks, but a condition does
    not say how many are stored.
    """
    texts = ["a", "b", "c", "d", "e", "ab", "abcd"]
    spark.sql(
        f"CREATE TABLE {db}.t (id int, c char(4)) CLUSTERED BY (c) INTO 8 BUCKETS TBLPROPERTIES ('bucketing-version' = '{version}')"
    )
    given = ", ".join(f"({place}, '{text}')" for place, text in enumerate(texts))
    with settings(spark, {"spark.sql.legacy.charVarcharAsString": stored_as_given}):
        spark.sql(f"INSERT INTO {db}.t VALUES {given}")
        stored = [text if stored_as_given else text.ljust(4) for text in texts]
        for place, text in enumerate(stored):
            found = spark.sql(f"SELECT id FROM {db}.t WHERE c = '{text}'").collect()
            assert [row.id for row in found] == [place], text
