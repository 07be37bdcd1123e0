"""A join by any function or expression of Spark's has plain Spark's rows."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.spark.reading.conftest import INTERPRETED
from tests.support.effort import sampled
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.newest("functions and expressions are listed for the newest series")

GOLDEN = Path(__file__).parents[2] / "golden" / "key-functions.txt"
FUNCTIONS = dict(line.split(" ⇒ ", 1) for line in GOLDEN.read_text().splitlines())
"""A key for each function of Spark's registry: most are the function's own example with columns in it."""

FORMS = (
    "named_struct('a', #.k).a", "array(named_struct('a', #.k)).a", "map(1, #.k)[1]", "#.k IN (1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16)",
    "#.st LIKE ALL ('S%', '%1')", "#.st LIKE ANY ('S%', '%1')", "#.st NOT LIKE ALL ('S%', '%1')", "#.st NOT LIKE ANY ('S%', '%1')",
    "#.da - DATE'2026-01-01'", "#.ts - TIMESTAMP'2026-01-01 00:00:00'", "make_time(#.k, 0, 0) - make_time(1, 0, 0)", "make_time(#.k, 0, 0) + INTERVAL '1' HOUR",
    "#.ts + INTERVAL '1' DAY", "#.ts - INTERVAL '1' MONTH", "#.da + INTERVAL '1' MONTH", "#.da + make_interval(0, 0, 0, #.k)",
    "INTERVAL '1' DAY * #.k", "INTERVAL '1' YEAR * #.k", "CAST(make_interval(#.k) * 2 AS STRING)", "INTERVAL '1' DAY / #.k", "INTERVAL '1' YEAR / #.k", "CAST(make_interval(#.k) / 2 AS STRING)",
    *(f"extract({part} FROM make_dt_interval(#.k, #.k, #.k, #.de))" for part in ("DAY", "HOUR", "MINUTE", "SECOND")),
    *(f"extract({part} FROM make_ym_interval(#.k, #.k))" for part in ("YEAR", "MONTH")),
    *(f"extract({part} FROM make_interval(#.k, #.k, 0, #.k, #.k, #.k, #.de))" for part in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")),
    *(f"extract({part} FROM make_time(#.k, #.k, #.de))" for part in ("HOUR", "MINUTE", "SECOND")), "second(make_time(#.k, #.k, #.de))",
    "extract(SECOND FROM #.ts)", "extract(YEAROFWEEK FROM #.da)", "ceil(#.de, 0)", "floor(#.de, 0)", "lpad(#.bn, 5, X'00')", "to_timestamp(CAST(#.da AS STRING), 'yyyy-MM-dd')",
    "make_timestamp(#.da, make_time(#.k, 0, 0))", "make_timestamp_ltz(#.da, make_time(#.k, 0, 0))", "make_timestamp_ntz(#.da, make_time(#.k, 0, 0))", "try_make_timestamp(#.da, make_time(#.k, 0, 0))",
    "timestampadd(DAY, #.k, #.ts)", "timestampdiff(DAY, TIMESTAMP'2026-01-01 00:00:00', #.ts)", "to_json(parse_json(concat('{\"a\": ', #.k, '}')):a)",
)  # fmt: skip
"""Keys of expressions that no function's name makes."""

COLUMNS = {
    "bi": "k * 3L", "db": "k / 4D", "de": "CAST(k - 0.5 AS DECIMAL(3,1))", "st": "concat('S', k - 1)", "bn": "CAST(concat('x', k) AS BINARY)",
    "da": "date_add(DATE'2026-01-01', k)", "ts": "TIMESTAMP'2026-01-01 01:00:00' + make_interval(0, 0, 0, k)", "bo": "k % 2 = 0",
}  # fmt: skip
"""Columns beside `id`, `h` and the partition column `k`. All are computed from `k`."""

WITHOUT_KEY = {
    "not deterministic: Spark refuses them in a join's condition, or they raise": "rand random randn uuid monotonically_increasing_id shuffle spark_partition_id input_file_name input_file_block_start input_file_block_length uniform randstr reflect java_method try_reflect raise_error assert_true",
    "of modules that a session has to add": "from_avro to_avro schema_of_avro from_protobuf to_protobuf",
    "of instants in nanoseconds, a type that is not there by default": "timestamp_nanos unix_nanos",
    "groups of time, which GROUP BY alone can have": "window session_window window_time",
}  # fmt: skip
NO_KEY = {
    "aggregates, windows, generators, and what groups or sorts": "aggregate[.].* .*Agg VectorAvg VectorSum CumeDist DenseRank PercentRank Rank RowNumber NTile NthValue NullIndex Lag Lead EWM Window.* SpecifiedWindowFrame CounterDiff.* Cube Rollup Grouping.* SessionWindow TimeWindow Explode PosExplode Inline Stack ReplicateRows GeneratorOuter JsonTuple JsonTable SQLKeywords Collations UserDefinedGenerator Unnest .*VariantExplode SortOrder SortPrefix PythonUDAF PythonUDTF Pandas.* Uuid",
    "take sketches, which only aggregates make": "(Approx|Hll|Kll|Theta|Tuple).*",
    "not deterministic, or raise": "Rand Randn RandStr Uniform Shuffle MonotonicallyIncreasingID SparkPartitionID InputFile.* CallMethodViaReflection TryReflect RaiseError AssertTrue DistributedSequenceID DirectShufflePartitionID PrintToStderr",
    "of modules that a session has to add": "(From|To|SchemaOf)(Avro|Protobuf)",
    "of instants in nanoseconds": ".*Nanos NanosToTimestamp",
    "functions of users, whose keys are in test_join_keys, and values of other languages": "PythonUDF PrettyPythonUDF ScalaUDF TranspiledPythonUDF TranspiledUDFParameter ExternalUserDefinedFunction ApplyFunctionExpression UnwrapUDT objects[.].* ToJavaArray",
    "subqueries and references, which become joins or columns": "Exists InSubquery ListQuery LateralSubquery ScalarSubquery OuterReference OuterScopeReference LateralColumnAliasReference FunctionTableSubqueryArgumentExpression VariableReference NamedArgumentExpression PipeExpression PrettyAttribute BoundReference ExpressionProxy Unresolved.* CursorReference",
    "of writes, streams and constraints": "Check.* .*Constraint CurrentBatchTimestamp Empty2Null UpdateFields WithField DropField",
    "transforms of partitions": "Bucket Years Months Days Hours TransformExpression HiveHash",
    "made by the optimizer or by another expression, of keys that are tried here": "DynamicPruning.* BloomFilterMightContain Known.* MapSort MultiCommutativeOp MultiGetJsonObject AtLeastNNonNulls BinaryPredicate CollationAware.* CollationKey CastTimestampNTZToLong Decimal.* MakeDecimal UnscaledValue PreciseTimestampConversion ToPrettyString UpCast ArrayBinarySearch .*UnwrapVariantCastError DatetimeSub StringInstrWithOccurrence MakeTimestampLTZ SemiStructuredExtract",
}  # fmt: skip
"""Why classes of Spark's expressions, by patterns of their names, are in no key."""
AGGREGATED = (
    "Aggregate|Agg$|VectorAvg|VectorSum|Generator|WindowFunction|sketch|Sketch|Theta|Tuple|Hll|Kll|TopK"
)
"""Part of the class names of aggregates, generators, and functions of what aggregates return."""


class Joined(NamedTuple):
    """A table of ours, partitioned, a small one, and Spark's own tables of their rows."""

    f: str
    d: str


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[Joined]:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    spark.sql("CREATE NAMESPACE lake.key_functions")
    ours = Joined("lake.key_functions.f", "lake.key_functions.d")
    columns = ", ".join(f"{value} {name}" for name, value in COLUMNS.items())
    rows = f"SELECT id, h, {columns}, k FROM (SELECT id, CAST(id % 7 + 1 AS INT) k, CAST(id % 7 < 5 AS INT) h FROM range({{}}))"
    for table, stock, clause, count in (
        (ours.f, "key_functions_f", "PARTITIONED BY (k)", 21),
        (ours.d, "key_functions_d", "", 7),
    ):
        spark.sql(f"CREATE TABLE {stock} USING parquet {clause} AS {rows.format(count)}")
        spark.sql(f"CREATE TABLE {table} USING parquet {clause} AS SELECT * FROM {stock}")
    yield ours
    for stock in ("key_functions_f", "key_functions_d"):
        spark.sql(f"DROP TABLE {stock}")
    spark.sql("DROP NAMESPACE lake.key_functions CASCADE")


def batched(things: Iterable[str], size: int) -> list[list[str]]:
    """Return things in lists of a size."""
    every = list(things)
    return [every[start : start + size] for start in range(0, len(every), size)]


def counts(spark: SparkSession) -> dict[str, int]:
    """Return for each key how many of seven rows have one."""
    found: dict[str, int] = {}
    with settings(spark, INTERPRETED):  # a class of hundreds of functions is compiled for longer than it runs
        for some in batched([*FUNCTIONS.values(), *FORMS], 50):
            values = ", ".join(f"count({key.replace('#', 'd')})" for key in some)
            found.update(
                zip(some, spark.sql(f"SELECT {values} FROM key_functions_d d").first() or (), strict=True)
            )
    return found


def joined(keys: Sequence[str], f: str, d: str) -> str:
    """Return a query of several joins of two tables, each by several keys."""
    joins = []
    for number, some in enumerate(batched(keys, 6)):
        condition = " AND ".join(f"({key.replace('#', 'f')}) = ({key.replace('#', 'd')})" for key in some)
        joins.append(f"SELECT {number}, f.id, d.id FROM {f} f JOIN {d} d ON {condition} WHERE d.h = 1")
    return " UNION ALL ".join(joins)


def test_every_function(spark: SparkSession, tables: Joined) -> None:
    """Keys by each function of Spark's registry select the same rows as in Spark's own tables."""
    number_of = counts(spark)
    ordered = sorted([*FUNCTIONS.values(), *FORMS], key=lambda key: number_of[key])
    groups = batched(ordered, 30)
    alone = {**INTERPRETED, "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false"}
    for number, keys in sampled(list(enumerate(groups)), "key functions"):
        stock = joined(keys, "key_functions_f", "key_functions_d")
        with settings(spark, alone):
            expected = plans.comparable(spark.sql(stock).collect())
        assert expected or number_of[ordered[number * 30]] < 7
        changed = {"spark.sql.adaptive.enabled": "false"} if number % 2 else {}
        with settings(spark, changed):
            found = spark.sql(joined(keys, tables.f, tables.d if number % 3 else "key_functions_d"))
            assert plans.comparable(found.collect()) == expected, stock


def test_every_function_is_known(spark: SparkSession) -> None:
    """Each function of Spark's registry has a key, or a reason why it has none."""
    registry = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()  # type: ignore[union-attr]
    listed = registry.listFunction()
    names = {listed.apply(position).funcName() for position in range(listed.size())}
    explained = {name for text in WITHOUT_KEY.values() for name in text.split()}
    assert explained <= names
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier  # type: ignore[union-attr]
    for name in names - set(FUNCTIONS) - explained:
        info = registry.lookupFunction(identifier(name)).get()
        is_aggregate = info.getGroup() in ("agg_funcs", "window_funcs", "generator_funcs")
        assert is_aggregate or re.search(AGGREGATED, info.getClassName()), name


def expressions_of(spark: SparkSession, statement: str) -> set[str]:
    """Return the names of the expressions in the analyzed and the optimized plan of a query."""
    execution = spark.sql(statement)._jdf.queryExecution()
    text = execution.analyzed().toJSON() + execution.optimizedPlan().toJSON()
    return set(re.findall(r'"class":"org\.apache\.spark\.sql\.catalyst\.expressions\.([\w.]+)"', text))


def test_every_expression_is_known(spark: SparkSession, tables: Joined) -> None:
    """Each class of Spark's expressions is in a key, or has a reason why it is in none."""
    met: set[str] = set()
    for some in batched([*FUNCTIONS.values(), *FORMS], 60):
        values = ", ".join(key.replace("#", "d") for key in some)
        met |= expressions_of(spark, f"SELECT {values} FROM {tables.d} d")
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-catalyst_*.jar")
    folder = "org/apache/spark/sql/catalyst/expressions/"
    jvm = spark._jvm
    assert jvm is not None

    def load(name: str) -> Any:
        return jvm.java.lang.Class.forName(
            name, False, jvm.java.lang.Thread.currentThread().getContextClassLoader()
        )

    expression = load(f"{folder.replace('/', '.')}Expression")
    concrete = set()
    for name in zipfile.ZipFile(jar).namelist():
        if not re.fullmatch(folder + r"[\w/]+\.class", name):
            continue
        each = load(name.removesuffix(".class").replace("/", "."))
        if expression.isAssignableFrom(each) and not jvm.java.lang.reflect.Modifier.isAbstract(
            each.getModifiers()
        ):
            concrete.add(name.removesuffix(".class").removeprefix(folder).replace("/", "."))
    patterns = [pattern for text in NO_KEY.values() for pattern in text.split()]
    assert {
        name for name in concrete - met if not any(re.fullmatch(pattern, name) for pattern in patterns)
    } == set()
