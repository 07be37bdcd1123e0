"""Join keys of every type and form, and joins under and over every node of a plan, return plain
Spark's rows.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType

from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

COLUMNS = {
    "bo": ("BOOLEAN", "id % 2 = 0"),
    "ti": ("TINYINT", "CAST(id AS TINYINT)"),
    "k": ("INT", "CAST(id % 9 AS INT)"),
    "bi": ("BIGINT", "id * 3"),
    "fl": ("FLOAT", "CASE id % 8 WHEN 1 THEN float('NaN') WHEN 2 THEN float('-0.0') ELSE CAST(id AS FLOAT) END"),
    "db": ("DOUBLE", "CASE id % 8 WHEN 1 THEN double('NaN') WHEN 2 THEN double('0.0') ELSE id / 4 END"),
    "de": ("DECIMAL(12,2)", "CAST(id / 4 AS DECIMAL(12,2))"),
    "st": ("STRING", "concat('S', id % 7)"),
    "ch": ("CHAR(5)", "concat('S', id % 7)"),
    "vc": ("VARCHAR(5)", "concat('v', id % 7)"),
    "bn": ("BINARY", "CAST(concat('x', id % 7) AS BINARY)"),
    "da": ("DATE", "date_add(DATE'2026-01-01', CAST(id % 7 AS INT))"),
    "ts": ("TIMESTAMP", "TIMESTAMP'2026-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id % 7 AS INT))"),
    "tn": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2026-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id % 7 AS INT))"),
    "ym": ("INTERVAL YEAR TO MONTH", "make_ym_interval(CAST(id % 7 AS INT), 1)"),
    "dt": ("INTERVAL DAY TO SECOND", "make_dt_interval(CAST(id % 7 AS INT))"),
    "sr": ("STRUCT<x: INT, y: STRING>", "named_struct('x', CAST(id % 5 AS INT), 'y', IF(id % 3 = 0, NULL, 'y'))"),
    "ss": ("STRUCT<a: STRUCT<b: INT>>", "named_struct('a', named_struct('b', CAST(id % 5 AS INT)))"),
    "ar": ("ARRAY<INT>", "array(CAST(id % 5 AS INT), IF(id % 3 = 0, NULL, 1))"),
    "am": ("ARRAY<STRUCT<x: INT>>", "array(named_struct('x', CAST(id % 5 AS INT)))"),
    "mp": ("MAP<STRING, INT>", "map('a', CAST(id % 5 AS INT))"),
    "va": ("VARIANT", "parse_json(concat('{\"a\": ', id % 5, '}'))"),
    "p": ("INT", "CAST(id % 3 AS INT)"),
}  # fmt: skip
"""Columns by name: the type, and the value of row `id`; the last one is the partition column."""

SAME = {
    "cast": "CAST(#.k AS STRING)", "wider": "CAST(#.k AS DOUBLE)", "function": "abs(#.bi)",
    "tuple": "struct(#.k, #.p)", "one field": "struct(#.k)", "partition tuple": "struct(#.p)", "nested tuple": "struct(#.k, struct(#.p, #.st))",
    "cast tuple": "CAST(struct(#.k, #.p) AS STRUCT<a: BIGINT, b: STRING>)", "array": "array(#.k, #.p)", "tuple of all": "struct(#.bo, #.fl, #.db, #.de, #.bn, #.da, #.ts, #.ch, #.sr, #.ar)",
    "field": "#.sr.x", "deep field": "#.ss.a.b", "tuple of fields": "struct(#.sr.x, #.sr.y)", "element": "#.ar[0]", "map value": "#.mp['a']", "map keys": "map_keys(#.mp)",
    "map entries": "map_entries(#.mp)", "variant": "variant_get(#.va, '$.a', 'int')", "coalesce": "coalesce(#.k, #.p)", "coalesced struct": "coalesce(#.sr, named_struct('x', 1, 'y', 'n'))",
    "coalesced array": "coalesce(#.ar, array(1))", "case": "CASE WHEN #.k > 3 THEN #.k ELSE #.p END", "if": "IF(#.k = 2, NULL, #.k)", "nullif": "nullif(#.k, 3)",
    "collated": "#.st COLLATE UNICODE_CI", "collated function": "lower(#.st) COLLATE UTF8_LCASE", "collated tuple": "struct(#.st COLLATE UNICODE_CI, #.p)", "collated array": "array(#.st COLLATE UTF8_LCASE)",
    "text": "concat(#.st, #.vc)", "day": "CAST(#.ts AS DATE)", "month": "trunc(#.da, 'MM')", "sum": "#.k + #.p", "negative": "-#.de", "try": "try_divide(#.k, #.p)", "hash": "hash(#.k, #.st)",
    "lambda": "transform(#.ar, x -> x + 1)", "json": "to_json(#.sr)", "condition": "(#.k > 3)", "IN": "(#.k IN (1, 2))", "LIKE": "(#.st LIKE 'S1%')", "interval": "#.ts + INTERVAL '1' DAY",
    "Python": "key_plus(#.k)", "Python tuple": "struct(key_plus(#.k), #.p)",
}  # fmt: skip
"""Keys that are alike on both sides: `#` stands for the table."""
DIFFERENT = {
    "wider key": ("f.k", "d.bi"), "decimal key": ("f.k", "d.de"), "char and text": ("f.ch", "d.st"), "date and time": ("f.da", "d.ts"), "floats": ("f.fl", "d.db"),
    "other fields": ("struct(f.k, f.p)", "struct(d.p AS q, d.k AS r)"), "struct column and tuple": ("f.sr", "struct(d.k AS q, d.st AS r)"), "tuple and struct column": ("struct(f.p, f.st)", "d.sr"),
    "array without NULL": ("array(f.k)", "array(d.h)"), "tuple without NULL": ("struct(f.k)", "struct(d.h)"), "struct without NULL": ("f.ss", "struct(struct(d.h))"), "array of structs": ("f.am", "array(struct(d.h))"),
    "deep tuple": ("array(struct(f.k))", "array(struct(d.h AS z))"), "renamed struct": ("f.sr", "d.sq"), "renamed array": ("f.am", "d.an"), "cast field": ("struct(f.k)", "CAST(struct(d.bi) AS STRUCT<k: INT>)"),
     "NULL": ("f.k", "CAST(NULL AS INT)"),
}  # fmt: skip
KEYS = {
    **{name: (f"f.{name}", f"d.{name}") for name in COLUMNS if name not in ("mp", "va")},
    **{name: (each.replace("#", "f"), each.replace("#", "d")) for name, each in SAME.items()},
    **DIFFERENT,
}
REFUSED = {
    "map": ("f.mp", "d.mp"),
    "variant": ("f.va", "d.va"),
    "partition id": ("f.k", "d.k + 0 * spark_partition_id()"),
    "random": ("IF(rand(1) > 2, NULL, f.k)", "d.k"),
}
JOINED = """
SELECT 'join' n, f.id, d.id x FROM {f} f JOIN {d} d ON LEFT = RIGHT WHERE d.h = 1 UNION ALL
SELECT 'outer', f.id, d.id FROM {d} d LEFT JOIN {f} f ON LEFT = RIGHT AND f.id <> d.id AND d.h = 1"""
EXISTS = " UNION ALL SELECT 'exists', f.id, 0 FROM {f} f WHERE EXISTS (SELECT 1 FROM {d} d WHERE RIGHT = LEFT AND d.h = 1)"
IN = " UNION ALL SELECT 'in', f.id, 0 FROM {f} f WHERE LEFT IN (SELECT RIGHT FROM {d} d WHERE d.h = 1 AND d.p = f.p)"
NOT_IN_SUBQUERIES = ("Python", "Python tuple")

INNER = {
    "table": "{f}",
    "project": "(SELECT id, k + 0 k, p FROM {f})",
    "filter": "(SELECT * FROM {f} WHERE bi > 3)",
    "aggregate": "(SELECT k, p, max(id) id FROM {f} GROUP BY k, p HAVING count(*) > 1)",
    "distinct": "(SELECT DISTINCT k, p, id FROM {f})",
    "window": "(SELECT id, k, p, row_number() OVER (PARTITION BY k, p ORDER BY id) n FROM {f})",
    "window limit": "(SELECT * FROM (SELECT id, k, p, row_number() OVER (PARTITION BY k ORDER BY id) n FROM {f}) WHERE n < 2)",
    "grouping sets": "(SELECT k, p, max(id) id FROM {f} GROUP BY GROUPING SETS ((k, p), (k), ()))",
    "rollup": "(SELECT k, p, count(DISTINCT st) id, count(DISTINCT bi) z FROM {f} GROUP BY ROLLUP (k, p))",
    "generate": "(SELECT id, p, e k FROM {f} LATERAL VIEW OUTER explode(ar) AS e)",
    "lateral generator": "(SELECT id, p, e k FROM {f}, LATERAL explode(array(k, p)) AS t(e))",
    "union": "(SELECT id, k, p FROM {f} UNION ALL SELECT id, h, p FROM {d} UNION ALL SELECT 1, 2, 2)",
    "intersect": "(SELECT id, k, p FROM {f} INTERSECT SELECT id, k, p FROM {d})",
    "intersect all": "(SELECT k, p, 1 id FROM {f} INTERSECT ALL SELECT k, p, 1 FROM {d})",
    "except": "(SELECT id, k, p FROM {f} EXCEPT SELECT id, k, p FROM {d})",
    "except all": "(SELECT k, p, 1 id FROM {f} EXCEPT ALL SELECT k, p, 1 FROM {d})",
    "sort": "(SELECT * FROM {f} ORDER BY id)",
    "limit": "(SELECT id, k, p FROM {f} ORDER BY id LIMIT 20 OFFSET 5)",
    "sample": "(SELECT * FROM {f} TABLESAMPLE (100 PERCENT))",
    "pivot": "(SELECT * FROM (SELECT k, p, id, bo FROM {f}) PIVOT (max(id) FOR bo IN (true AS id, false AS z)))",
    "unpivot": "(SELECT id, p, k FROM (SELECT id, p, k AS k1, p AS k2 FROM {f}) UNPIVOT (k FOR n IN (k1, k2)))",
    "repartition": "(SELECT /*+ REPARTITION(3, k) */ * FROM {f})",
    "hint": "(SELECT /*+ BROADCAST(d2) */ f1.id, f1.k, f1.p FROM {f} f1 JOIN {d} d2 ON f1.k = d2.k)",
    "rebalance": "(SELECT /*+ REBALANCE(k) */ * FROM {f})",
    "random column": "(SELECT id, k, p, rand(1) r FROM {f})",
    "script": "(SELECT TRANSFORM (id, k, p) USING 'cat' AS (id INT, k INT, p INT) FROM {f})",
    "left": "(SELECT f1.id, f1.k, f1.p, d2.h FROM {f} f1 LEFT JOIN {d} d2 ON f1.st = d2.st AND d2.id < 3)",
    "full": "(SELECT f1.id, f1.k, f1.p, d2.h FROM {f} f1 FULL JOIN {d} d2 ON f1.bi = d2.bi)",
    "semi": "(SELECT * FROM {f} f1 LEFT SEMI JOIN {d} d2 ON struct(f1.bi) = struct(d2.bi))",
    "anti": "(SELECT * FROM {f} f1 LEFT ANTI JOIN {d} d2 ON struct(f1.bi) = struct(d2.bi))",
    "cross": "(SELECT f1.id, f1.k, f1.p FROM {f} f1 CROSS JOIN (SELECT id FROM range(2)) x)",
    "using": "(SELECT f1.id, k, f1.p FROM {f} f1 JOIN (SELECT k, h FROM {d} WHERE id < 5) USING (k))",
    "lateral": "(SELECT f1.id, f1.k, f1.p, x FROM {f} f1, LATERAL (SELECT max(h) x FROM {d} d2 WHERE (d2.k, d2.p) = (f1.k, f1.p)))",
    "lateral limit": "(SELECT f1.id, f1.k, f1.p, x FROM {f} f1, LATERAL (SELECT id x FROM {d} d2 WHERE struct(d2.k) = struct(f1.k) ORDER BY id LIMIT 1))",
    "scalar subquery": "(SELECT id, k, p, (SELECT max(h) FROM {d} d2 WHERE (d2.k, d2.p) = (f1.k, f1.p)) m FROM {f} f1)",
    "in subquery": "(SELECT * FROM {f} WHERE (k, st) IN (SELECT k, st FROM {d} WHERE h = 2) OR id = 4)",
    "not in": "(SELECT * FROM {f} WHERE (k, st) NOT IN (SELECT k, st FROM {d} WHERE h = 2 AND k IS NOT NULL))",
    "expression": "(WITH c AS (SELECT * FROM {f} WHERE id < 40) SELECT a.id, a.k, a.p FROM c a JOIN c b ON struct(a.bi) = struct(b.bi))",
    "expression that is kept": "(WITH c AS (SELECT *, rand(3) r FROM {f}) SELECT a.id, a.k, a.p FROM c a JOIN c b ON struct(a.bi) = struct(b.bi))",
    "range": "(SELECT id, CAST(id AS INT) k, CAST(id % 3 AS INT) p FROM range(9))",
    "values": "(SELECT * FROM VALUES (1, 1, 1), (2, 2, 2) AS v(id, k, p))",
    "empty": "(SELECT id, k, p FROM {f} WHERE false UNION ALL SELECT 1, 1, 1)",
    "view": "key_view_{f_name}",
    "cache": "key_cache_{f_name}",
}  # fmt: skip
"""Relations that replace a join's table, with the columns id, k and p."""
AROUND = """
SELECT 'probe' n, f.id, f.k, d.id x FROM INNER f JOIN {d} d ON (f.k, f.p) = (d.k, d.p) AND d.h = 1 UNION ALL
SELECT 'build', g.id, g.k, f.id FROM {f} g JOIN INNER f ON f.k = g.k AND f.p = g.p WHERE f.id < 9 UNION ALL
SELECT 'exists', f.id, f.k, 0 FROM INNER f WHERE EXISTS (SELECT 1 FROM {d} d WHERE (f.k, f.p) = (d.k, d.p) AND d.h = 1)"""
RECURSIONS = {
    "depth": "WITH RECURSIVE r(id, n) AS (SELECT 1L, 0 UNION ALL SELECT e.id, n + 1 FROM r JOIN {f} e ON e.k = r.id WHERE n < 2) SELECT * FROM r",
    "partition column": "WITH RECURSIVE r(id, n) AS (SELECT 1L, 0 UNION ALL SELECT e.id, n + 1 FROM r JOIN {f} e ON e.p = r.n WHERE n < 2 AND e.id < 6) SELECT * FROM r",
    "tuple": "WITH RECURSIVE r(k, p, n) AS (SELECT k, p, 0 FROM {d} WHERE h = 1 UNION ALL SELECT e.k, e.p, n + 1 FROM r JOIN {f} e ON (e.k, e.p) = (r.n, r.p) WHERE n < 2) SELECT * FROM r",
    "three tables": "WITH RECURSIVE r(id, n) AS (SELECT 1L, 0 UNION ALL SELECT e.id, n + 1 FROM r JOIN {f} e ON e.k = r.id JOIN {d} d ON d.p = e.p AND d.id = e.k WHERE n < 2 AND d.h = 1) SELECT * FROM r",
    "exists": "WITH RECURSIVE r(id, n) AS (SELECT 1L, 0 UNION ALL SELECT e.id, n + 1 FROM r JOIN {f} e ON e.k = r.id WHERE n < 2 AND EXISTS (SELECT 1 FROM {d} d WHERE struct(d.k) = struct(e.k))) SELECT * FROM r",
    "joined": "WITH RECURSIVE r(id, n) AS (SELECT 1L, 0 UNION ALL SELECT e.id, n + 1 FROM r JOIN {f} e ON e.k = r.id WHERE n < 2) SELECT f.id FROM {f} f JOIN r ON f.k = r.id JOIN {d} d ON d.p = f.p WHERE d.h = 1 AND r.n = 1",
    "in": "WITH RECURSIVE r(id, n) AS (SELECT 1L, 0 UNION ALL SELECT e.id, n + 1 FROM r JOIN {f} e ON e.k = r.id WHERE n < 2) SELECT id FROM {f} WHERE k IN (SELECT id FROM r WHERE n > 0)",
}  # fmt: skip
TRIED = {
    "Aggregate": "aggregate", "CTERelationDef": "expression that is kept", "CTERelationRef": "expression that is kept", "Distinct": "distinct",
    "Except": "except", "Expand": "grouping sets", "Filter": "filter", "Generate": "generate", "GlobalLimit": "limit", "Intersect": "intersect",
    "Join": "left", "LateralJoin": "lateral", "LocalLimit": "limit", "LocalRelation": "values", "Offset": "limit", "Project": "project",
    "Range": "range", "RebalancePartitions": "rebalance", "Repartition": "repartition", "ResolvedHint": "hint", "Sample": "sample", "ScriptTransformation": "script",
    "Sort": "sort", "SubqueryAlias": "table", "Union": "union", "View": "view", "Window": "window", "WindowGroupLimit": "window limit",
    "WithCTE": "expression that is kept",
}  # fmt: skip
"""Nodes of Spark's plans, each with a case of `INNER` whose plans have it."""
ELSEWHERE = {
    "in test_recursions": "UnionLoop UnionLoopRef LimitAll",
    "in test_changed_rows": "MergeRows ReplaceData",
    "rewritten as the query is analyzed: cases have the rewritten form": "Pivot Unpivot OneRowRelation DataFrameDropColumns WithWindowDefinition Transpose BinBy RepartitionByExpression",
    "rewritten before joins are looked for: cases have the joins that they become": "DomainJoin AsOfJoin NearestByJoin EmptyRelation Deduplicate Subquery ReturnAnswer",
    "made of functions in Python, Scala or R, which read what a join or a table gives; keys of such functions are in SAME": "AppendColumns AppendColumnsWithObject ArrowEvalPython ArrowEvalPythonUDTF AttachDistributedSequence BatchEvalPython BatchEvalPythonUDTF CoGroup DeserializeToObject FlatMapCoGroupsInArrow FlatMapCoGroupsInPandas FlatMapGroupsInArrow FlatMapGroupsInPandas FlatMapGroupsInR FlatMapGroupsInRWithArrow MapElements MapGroups MapInArrow MapInPandas MapPartitions MapPartitionsExternalUDF MapPartitionsInR MapPartitionsInRWithArrow SerializeFromObject TypedFilter PythonWorkerLogs",
    "of streams, which get no values": "DeduplicateWithinWatermark EventTimeWatermark UpdateEventTimeWatermarkColumn FlatMapGroupsInPandasWithState FlatMapGroupsWithState SequentialStreamingUnion TransformWithState TransformWithStateInPySpark AutoCdcInto",
    "parts of scripts and statements, each of whose queries is planned alone": "ErrorCondition ExceptionHandler ForStatement IfElseStatement IterateStatement LeaveStatement LoopStatement MultiResult RepeatStatement SearchedCaseStatement SimpleCaseStatement SingleStatement WhileStatement CollectMetrics Tail Zip Call",
    "writes and changes of tables": "AddPartitions AppendData CreateTableAsSelect DescribeTablePartition DropPartitions InsertIntoDir InsertIntoStatement InsertOnlyMerge OverwriteByExpression OverwritePartitionsDynamic RenamePartitions ReplaceTableAsSelect ShowPartitions ShowTablePartition TruncatePartition WriteDelta",
    "not in an analyzed plan": "UnresolvedBinBy UnresolvedHint UnresolvedInsert UnresolvedWith",
}  # fmt: skip
"""Why no case of `INNER` has a node."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, str]]:
    """Sixty rows in partitions of three files, in buckets, and in files; a small table; and Spark's own
    tables of their rows.
    """
    spark.sql("CREATE NAMESPACE lake.join_keys")
    names = {
        "f": "lake.join_keys.f",
        "d": "lake.join_keys.d",
        "b": "lake.join_keys.b",
        "u": "lake.join_keys.u",
    }
    columns = ", ".join(f"{name} {type}" for name, (type, _) in COLUMNS.items())
    values = ", ".join(
        f"{value if name == 'p' else f'IF(id % 11 = 5, NULL, {value})'} {name}"
        for name, (_, value) in COLUMNS.items()
    )
    more = "h INT NOT NULL, sq STRUCT<q: INT, r: STRING>, an ARRAY<STRUCT<z: INT>>"
    undistributed = "TBLPROPERTIES ('distribution' = 'none')"
    spark.sql(
        f"CREATE TABLE {names['f']} (id BIGINT, {columns}) USING parquet PARTITIONED BY (p) {undistributed}"
    )
    spark.sql(f"CREATE TABLE {names['u']} (id BIGINT, {columns}) USING parquet {undistributed}")
    spark.sql(
        f"CREATE TABLE {names['b']} (id BIGINT, {columns}) USING parquet CLUSTERED BY (k) INTO 3 BUCKETS"
    )
    spark.sql(f"CREATE TABLE {names['d']} (id BIGINT, {columns}, {more}) USING parquet")
    spark.sql(f"INSERT INTO {names['f']} SELECT id, {values} FROM range(0, 60, 1, 3)")  # each task, its file
    for copy in ("b", "u"):
        spark.sql(f"INSERT INTO {names[copy]} SELECT * FROM {names['f']} ORDER BY id")
    spark.sql(
        f"INSERT INTO {names['d']} SELECT id, {values}, CAST(id % 3 AS INT), named_struct('q', CAST(id % 5 AS INT), 'r', 'y'), array(named_struct('z', CAST(id % 5 AS INT))) FROM range(24)"
    )
    for letter in ("f", "d"):
        spark.sql(
            f"CREATE TABLE join_keys_{letter} USING parquet {'PARTITIONED BY (p)' if letter == 'f' else ''} AS SELECT * FROM {names[letter]}"
        )
    for letter, table in (("f", names["f"]), ("s", "join_keys_f")):
        spark.sql(f"CREATE TEMP VIEW key_view_{letter} AS SELECT id, k, p FROM {table} WHERE bi > 1")
        spark.sql(f"CACHE TABLE key_cache_{letter} AS SELECT id, k, p FROM {table}")
    spark.udf.register("key_plus", lambda number: None if number is None else number + 1, IntegerType())
    yield names
    for letter in ("f", "s"):
        spark.sql(f"UNCACHE TABLE key_cache_{letter}")
    for letter in ("f", "d"):
        spark.sql(f"DROP TABLE join_keys_{letter}")
    spark.sql("DROP NAMESPACE lake.join_keys CASCADE")


def filled(query: str, f: str, d: str) -> str:
    return query.replace("{f_name}", "s" if f == "join_keys_f" else "f").replace("{f}", f).replace("{d}", d)


def agree(spark: SparkSession, tables: dict[str, str], query: str, *, number: int) -> str:
    """A query returns the rows of Spark's own tables: with a small table of ours, then with one of Spark's
    own, not broadcast.

    Returns its plans.
    """
    with settings(
        spark, {"spark.sql.optimizer.dynamicPartitionPruning.enabled": "false"}
    ):  # Spark's own filters fail
        expected = plans.comparable(spark.sql(filled(query, "join_keys_f", "join_keys_d")).collect())
    assert expected
    plain = (
        {
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.shuffle.partitions": "2",
        }
        if number % 2
        else {}
    )
    with settings(spark, plain):
        frame = spark.sql(filled(query, tables["f"], "join_keys_d" if number % 2 else tables["d"]))
        assert plans.comparable(frame.collect()) == expected
    return str(frame._jdf.queryExecution().toString())


@pytest.mark.parametrize("name", KEYS)
def test_every_key(spark: SparkSession, tables: dict[str, str], name: str) -> None:
    """A key of any type and form, in joins, EXISTS and IN, beside other keys, selects the same rows as from
    Spark's own tables.
    """
    left, right = KEYS[name]
    query = JOINED + ("" if name in NOT_IN_SUBQUERIES else EXISTS)
    if name not in NOT_IN_SUBQUERIES and not left.startswith(
        "struct("
    ):  # Spark takes its fields for several columns
        query += IN
    written = query.replace("LEFT JOIN", "OUTER JOIN").replace("LEFT", left).replace("RIGHT", right)
    agree(spark, tables, written.replace("OUTER JOIN", "LEFT JOIN"), number=list(KEYS).index(name))


@pytest.mark.parametrize("name", INNER)
def test_every_node(spark: SparkSession, tables: dict[str, str], name: str) -> None:
    """A node of any kind between a join and its table, on the build or the probe side, changes no row."""
    # Spark drops REBALANCE without adaptive execution, which odd cases are run without
    number = 0 if name == "rebalance" else list(INNER).index(name)
    text = agree(spark, tables, AROUND.replace("INNER", INNER[name]), number=number)
    for node in (node for node, case in TRIED.items() if case == name):
        assert re.search(rf"(?m)^[\s:+\-']*{node}\b", text), node


@pytest.mark.since("4.1", "WITH RECURSIVE is new in Spark 4.1")
@pytest.mark.parametrize("layout", ["f", "u", "b"])
@pytest.mark.parametrize("name", RECURSIONS)
def test_recursions(spark: SparkSession, tables: dict[str, str], name: str, layout: str) -> None:
    """A recursion that joins a table, with a condition on its depth, returns plain Spark's rows from
    partitions, files and buckets.
    """
    agree(spark, {**tables, "f": tables[layout]}, RECURSIONS[name], number=list(RECURSIONS).index(name))


@pytest.mark.newest("nodes of Spark's plans are listed for the newest series")
def test_every_node_is_known(spark: SparkSession) -> None:
    """Each class of Spark's plans is in a case, or has a reason why not; a new class fails this test."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-catalyst_*.jar")
    folder = "org/apache/spark/sql/catalyst/plans/logical/"
    names = [name for name in zipfile.ZipFile(jar).namelist() if re.fullmatch(folder + r"\w+\.class", name)]
    jvm = spark._jvm
    assert jvm is not None

    def load(name: str) -> Any:
        return jvm.java.lang.Class.forName(
            name, False, jvm.java.lang.Thread.currentThread().getContextClassLoader()
        )

    plan, command = (load(f"{folder.replace('/', '.')}{name}") for name in ("LogicalPlan", "Command"))
    classes = [load(name.removesuffix(".class").replace("/", ".")) for name in names]
    concrete = [
        each
        for each in classes
        if plan.isAssignableFrom(each) and not jvm.java.lang.reflect.Modifier.isAbstract(each.getModifiers())
    ]
    queried = {each.getSimpleName() for each in concrete if not command.isAssignableFrom(each)}
    assert set(TRIED.values()) <= set(INNER)
    assert queried - set(TRIED) - {name for text in ELSEWHERE.values() for name in text.split()} == set()


@pytest.mark.parametrize("name", REFUSED)
def test_keys_that_cannot_be(spark: SparkSession, tables: dict[str, str], name: str) -> None:
    """Spark refuses keys that it cannot compare or evaluate, by the same error as for its own tables."""
    left, right = REFUSED[name]

    def refusal(f: str, d: str) -> str | None:
        with pytest.raises(AnalysisException) as error:
            spark.sql(filled(f"SELECT f.id FROM {{f}} f JOIN {{d}} d ON {left} = {right}", f, d)).collect()
        return error.value.getCondition()

    assert refusal(tables["f"], tables["d"]) == refusal("join_keys_f", "join_keys_d")


def test_changed_rows(spark: SparkSession, tables: dict[str, str], db: str) -> None:
    """DELETE, UPDATE, MERGE and INSERT find rows by tuples, with NULLs in them as equals, as SELECT does in
    Spark's own tables.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, k INT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t SELECT id, k, p FROM {tables['f']}")
    left = "join_keys_f"
    some, exists = (
        "(SELECT DISTINCT k, p FROM join_keys_d WHERE h = 1)",
        "EXISTS (SELECT 1 FROM {d} d WHERE (d.k, d.p) = ({t}k, {t}p) AND d.h = {h})",
    )
    expected = spark.sql(
        f"SELECT f.id * IF(s.p IS NULL, 1, -1) id, f.k, f.p FROM {left} f LEFT JOIN {some} s ON f.k <=> s.k AND f.p = s.p "
        f"WHERE NOT {exists.format(d='join_keys_d', t='f.', h=2)}"
    ).collect()
    assert len(expected) < 60
    spark.sql(f"DELETE FROM {db}.t AS t WHERE {exists.format(d=tables['d'], t='t.', h=2)}")
    spark.sql(
        f"MERGE INTO {db}.t t USING (SELECT DISTINCT k, p FROM {tables['d']} WHERE h = 1) s ON (t.k, t.p) = (s.k, s.p) "
        "WHEN MATCHED THEN UPDATE SET id = -t.id"
    )
    assert plans.comparable(spark.table(f"{db}.t").collect()) == plans.comparable(expected)
    spark.sql(f"UPDATE {db}.t AS t SET id = -id WHERE {exists.format(d=tables['d'], t='t.', h=1)}")
    spark.sql(
        f"INSERT INTO {db}.t SELECT f.id + 100, f.k, f.p FROM {tables['f']} f JOIN {tables['d']} d ON (f.k, f.p) = (d.k, d.p) WHERE d.h = 2"
    )
    added = spark.sql(
        "SELECT f.id + 100, f.k, f.p FROM join_keys_f f JOIN join_keys_d d ON (f.k, f.p) = (d.k, d.p) WHERE d.h = 2"
    ).collect()
    assert plans.comparable(spark.table(f"{db}.t").collect()) == plans.comparable(
        [(abs(row[0]), *row[1:]) for row in expected] + added
    )
