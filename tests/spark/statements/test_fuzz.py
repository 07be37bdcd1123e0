"""Statements with values of every kind in every position succeed, or are refused with an error class.

Hypothesis makes SQL as users write it by mistake: a wrong type, an overflow, an unknown name, or a text that
no path can contain. All cases raise no internal error and no bare exception of Java or Python. Tables stay
readable, and agree with their files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, note, settings, strategies as st
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from tests.support.effort import examples


class Excused(NamedTuple):
    """An error without a class that stock Spark raises by itself, before any catalog is asked.

    Attributes:
        statement: a pattern of the statements.
        error: a pattern of the message.
        reason: why it is none of ours.
    """

    statement: str
    error: str
    reason: str


EXCUSED = (
    Excused(
        "LOCATION|'path'",
        "URISyntaxException|Can not create a Path",
        "Spark makes a Hadoop path of LOCATION while it analyses the statement, for its own tables, too",
    ),
    Excused(
        "CALL",
        "requirement failed: (args must be foldable|number of args)",
        "Spark requires constant arguments of any procedure, and fails an assertion of its own",
    ),
    Excused(
        r"CALL.*rand\(\)",
        "^$",
        "Spark plans a CALL whose arguments it cannot fold for EXPLAIN only, and cannot execute that plan",
    ),
)

TYPES = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "DECIMAL(38, 18)",
    "STRING", "CHAR(3)", "VARCHAR(3)", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
]  # fmt: skip
ODD_TYPES = [
    "INTERVAL", "INTERVAL DAY TO SECOND", "INTERVAL YEAR", "TIME", "VARIANT", "VOID", "STRING COLLATE UNICODE",
    "ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<x: INT, y: STRUCT<z: DATE>>", "STRUCT<>", "DECIMAL(39, 2)", "CHAR(0)",
    "MAP<MAP<INT, INT>, INT>", "ARRAY<VOID>", "GEOMETRY(4326)", "NOPE",
]  # fmt: skip
LITERALS = [
    "NULL", "TRUE", "0", "-1", "1", "127Y", "300", "3000000000", "99999999999999999999", "-0.0", "1.1", "1.005", "1e39", "1e400",
    "-1e-400", "0.1F", "'NaN'", "'-Infinity'", "'1'", "' 1 '", "''", "'abcd'", "'.'", "'..'", "'a/b'", "'../x'", "'p=1'", "'%00'",
    "'__HIVE_DEFAULT_PARTITION__'", "'2024-02-30'", "'+290000-01-01'", "DATE '0001-01-01'", "DATE '-5000-01-01'", "X''", "X'00'",
    "DATE '9999-12-31'", "TIMESTAMP '0000-01-01 00:00:00'", "TIMESTAMP '+290000-01-01 00:00:00'", "X'41FF'", "INTERVAL 1 DAY",
    "TIMESTAMP_NTZ '1500-01-01 00:00:00.000001'",
]  # fmt: skip
EXPRESSIONS = [
    "array(1)",
    "map(1, 2)",
    "named_struct('x', 1)",
    "current_date()",
    "rand()",
    "CAST('NaN' AS FLOAT)",
    "1 / 0",
]


def quoted(text: str) -> str:
    """Write a text as SQL's literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def backticked(name: str) -> str:
    """Write a name as SQL's identifier."""
    return f"`{name.replace('`', '``')}`"


# A lone surrogate cannot be handed to Java at all: Py4J encodes what it sends.
texts = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=5),
    st.sampled_from(["\0", "a\0b", "\n", "\x1f\x7f", "y" * 300, "é" * 130, "😀", "a b", "a.b", "`", "\\"]),
)
constants = st.one_of(
    st.sampled_from(LITERALS),
    texts.map(quoted),
    st.integers(-(2**65), 2**65).map(str),
    st.dates().map(lambda day: f"DATE '{day}'"),
    st.datetimes().map(lambda at: f"TIMESTAMP '{at}'"),
    st.binary(max_size=3).map(lambda some: f"X'{some.hex()}'"),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda number: f"{number:f}"[:60]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
values = st.one_of(constants, st.sampled_from(EXPRESSIONS))
names = st.one_of(
    st.sampled_from(
        ["t", "u", "nope", "p", "q", "v", "files", "history", ".", "..", "x/y", "%00", "default", ""]
    ),
    texts,
)
PLACES = [
    "",
    "/",
    "/s/t",
    "/a b",
    "/a%20b",
    "/a[b",
    "/a\0b",
    "/é",
    "/../x",
    "/" + "y" * 300,
    "/a=1",
    "/q?r#s",
    "/t/p=1",
]
STRANGE_PLACES = [
    "",
    "\0",
    "relative",
    "nope://x/y",
    "file:",
    "file:relative",
    "://",
    ":",
    "jar:file:/x!/y",
    "data:,x",
    "C:\\x",
]
PROPERTIES = [
    "", "x", "\0", "target-file-size", "compression", "sort-by", "distribution", "partition-order", "partition-indexes",
    "provider", "location", "owner", "comment", "external", "option.x", "parquet.block.size", "orc.compress", "k" * 3000,
]  # fmt: skip
SETTINGS = [
    "",
    "-1",
    "0",
    "1",
    "9" * 30,
    "NaN",
    "true",
    "p",
    "nope",
    "p DESC, q",
    "(p), (",
    "gzip",
    "none",
    "\0",
]
TABLES = ["d.t", "t", "nope.t", "", ".", "a.b.c.d", "`t`", "lake.d.t", "d.t\0", "d.t VERSION AS OF 1"]

PARTS: dict[str, st.SearchStrategy[str]] = {
    "constant": constants,
    "value": values,
    "type": st.sampled_from(TYPES),
    "any_type": st.sampled_from([*TYPES, *ODD_TYPES]),
    "name": names.map(backticked),
    "text": texts.map(quoted),
    "key": st.sampled_from(PROPERTIES).map(quoted),
    "setting": st.sampled_from(SETTINGS).map(quoted),
    "fmt": st.sampled_from(["parquet", "orc", "parquet", "csv", "`a\0`"]),
    "operator": st.sampled_from(["=", "<=>", "<", ">=", "!=", "IN (1, 2) OR p =", "LIKE"]),
    "argument": st.one_of(values, st.sampled_from(["array('p')", "array('q', 'p')", "array(NULL)", "array()"])),
    "named": st.sampled_from(TABLES).map(quoted),
    "procedure": st.sampled_from(["sync", "history", "rollback", "vacuum", "fsck", "nope"]),
    "indexing": st.sampled_from(["create", "drop", "rebuild"]),
    "parameter": st.sampled_from(["where", "dry_run", "version", "older_than", "columns", "name", "repair", "nope"]),
    "as_of": st.sampled_from(["VERSION", "TIMESTAMP"]),
    "comment": st.sampled_from(["", "COMMENT 'x'", "FIRST", "AFTER p", "AFTER nope", "NOT NULL", "DEFAULT 1"]),
}  # fmt: skip

WRITES = [
    "INSERT INTO {t} VALUES (1, {value}, {value})",
    "INSERT INTO {t} (q, p) VALUES ({value}, {value})",
    "INSERT INTO {t} BY NAME SELECT {value} AS p, {value} AS {name}",
    "INSERT INTO {t} PARTITION (p = {constant}, q = {constant}) VALUES (2)",
    "INSERT INTO {t} PARTITION (p = {constant}, q) SELECT 3, {value}",
    "INSERT OVERWRITE {t} PARTITION (p = {constant}, q = {constant}) VALUES (4)",
    "INSERT OVERWRITE {t} SELECT 5, {value}, {value}",
    "INSERT INTO {t} REPLACE WHERE p {operator} {value} SELECT 6, {value}, {value}",
    "INSERT INTO {t} REPLACE WHERE q {operator} {value} AND v > 0 SELECT 7, {value}, {value}",
    "DELETE FROM {t} WHERE p {operator} {value}",
    "TRUNCATE TABLE {t} PARTITION (p = {constant}, q = {constant})",
    "TRUNCATE TABLE {d}.{name}",
]
PARTITIONS = [
    "ALTER TABLE {t} ADD PARTITION (p = {constant}, q = {constant})",
    "ALTER TABLE {t} ADD IF NOT EXISTS PARTITION (p = {constant}, q = {constant}) PARTITION (p = {constant}, q = {constant})",
    "ALTER TABLE {t} ADD PARTITION (p = {constant}, q = {constant}) LOCATION {place}",
    "ALTER TABLE {t} DROP IF EXISTS PARTITION (p = {constant}, q = {constant})",
    "ALTER TABLE {t} PARTITION (p = 1, q = 1) RENAME TO PARTITION (p = {constant}, q = {constant})",
    "ALTER TABLE {t} PARTITION (p = {constant}, q = 1) SET LOCATION {place}",
    "SHOW PARTITIONS {t} PARTITION (p = {constant})",
    "SELECT * FROM {t} WHERE p {operator} {value}",
    "MSCK REPAIR TABLE {t}",
]
TABLE_DDL = [
    "CREATE TABLE {d}.{name} (a {any_type}, b {any_type}) USING {fmt}",
    "CREATE TABLE {d}.x (a INT, {name} {any_type}) USING {fmt} PARTITIONED BY ({name})",
    "CREATE TABLE {d}.x (a INT, b {any_type}, c {any_type}) USING {fmt} PARTITIONED BY (b, c)",
    "CREATE TABLE {d}.x (a INT) USING {fmt} LOCATION {place}",
    "CREATE TABLE {d}.x USING {fmt} LOCATION {place}",
    "CREATE TABLE {d}.x (a INT {comment}) COMMENT {text} TBLPROPERTIES ({key} = {setting})",
    "CREATE TABLE {d}.x PARTITIONED BY (b) AS SELECT 1 AS a, {value} AS b",
    "CREATE OR REPLACE TABLE {d}.x USING {fmt} AS SELECT {value} AS {name}, {value} AS b",
    "ALTER TABLE {t} ADD COLUMN {name} {any_type} {comment}",
    "ALTER TABLE {t} RENAME COLUMN {name} TO {name}",
    "ALTER TABLE {t} ALTER COLUMN v TYPE {any_type}",
    "ALTER TABLE {t} ALTER COLUMN {name} COMMENT {text}",
    "ALTER TABLE {t} SET TBLPROPERTIES ({key} = {setting})",
    "ALTER TABLE {t} UNSET TBLPROPERTIES ({key})",
    "ALTER TABLE {d}.{name} RENAME TO {d}.{name}",
    "ALTER TABLE {t} SET LOCATION {place}",
    "COMMENT ON TABLE {t} IS {text}",
    "DROP TABLE {d}.{name}",
]
NAMESPACE_DDL = [
    "CREATE NAMESPACE lake.{name}",
    "CREATE NAMESPACE lake.fuzz_other LOCATION {place}",
    "CREATE NAMESPACE lake.fuzz_other COMMENT {text} WITH DBPROPERTIES ({key} = {setting})",
    "ALTER NAMESPACE {d} SET DBPROPERTIES ({text} = {setting})",
    "DESCRIBE NAMESPACE lake.{name}",
    "SHOW TABLES IN lake.{name}",
]
CALLS = [
    "CALL lake.system.{procedure}({argument})",
    "CALL lake.system.{procedure}({named})",
    "CALL lake.system.{procedure}(table => {named}, {parameter} => {argument})",
    "CALL lake.system.{indexing}_partition_index(table => {named}, {parameter} => {argument})",
    "CALL lake.system.{indexing}_partition_index({named}, {argument}, {argument})",
    "SELECT * FROM {t} {as_of} AS OF {value}",
]


def _filled(draw: st.DrawFn, template: str, database: str, folder: str) -> str:
    """Write a statement of a template, each of its places filled anew."""

    def part(match: re.Match[str]) -> str:
        match match[1]:
            case "d":
                return database
            case "t":
                return f"{database}.t"
            case "place":
                near = st.sampled_from(PLACES).map(lambda place: f"{folder}{place}")
                return quoted(draw(near | near.map("file:{}".format) | st.sampled_from(STRANGE_PLACES)))
            case "named":
                return draw(PARTS["named"]).replace("d.t", f"{database.removeprefix('lake.')}.t")
        return draw(PARTS[match[1]])

    return re.sub(r"\{(\w+)\}", part, template)


@st.composite
def scripts(draw: st.DrawFn, templates: list[str], length: int) -> list[str]:
    """Make the statements of a session on a table `t (v, p, q)` whose partition columns are of any types."""
    fmt, p, q = draw(st.sampled_from(["parquet", "orc"])), draw(PARTS["type"]), draw(PARTS["type"])
    made = [f"CREATE TABLE {{d}}.t (v INT, p {p}, q {q}) USING {fmt} PARTITIONED BY (p, q)"]
    some = draw(st.lists(st.sampled_from(templates), min_size=length, max_size=length))
    return made + [_filled(draw, template, "{d}", "{folder}") for template in some]


class World:
    """A database of its own for each script, and what has to be true of it afterwards."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.number = 0
        self.ran: dict[str, int] = {"done": 0, "refused": 0}
        self.known = {name for (name,) in self._rows("SHOW NAMESPACES IN lake")}

    def run(self, script: list[str]) -> None:
        """Run the statements of a script and look at what they leave.

        Raises:
            AssertionError: one of them failed without a class, or left something that cannot be read.
        """
        self.number += 1
        database = f"lake.fuzz{self.number}"
        folder = str(self.folder / str(self.number))
        self.spark.sql(f"CREATE NAMESPACE {database}")
        try:
            for template in script:
                statement = template.replace("{d}", database).replace("{folder}", folder)
                note(statement)
                self.told(statement, lambda statement=statement: self._rows(statement))
            self._check(database)
        finally:
            for (name,) in self._rows("SHOW NAMESPACES IN lake"):
                if name not in self.known:
                    self.spark.sql(f"DROP NAMESPACE lake.{name} CASCADE")  # it is listed as SQL writes it

    def told(self, statement: str, run: Callable[[], Any]) -> None:
        """Run something that may be refused, by an error with a class."""
        try:
            run()
            self.ran["done"] += 1
        except Exception as error:
            self.ran["refused"] += 1
            condition = error.getCondition() if isinstance(error, PySparkException) else None
            if condition is not None and "INTERNAL" not in condition:
                return
            for excused in EXCUSED:
                if re.search(excused.statement, statement) and re.search(excused.error, str(error)):
                    return
            raise AssertionError(
                f"{statement!r} ended in {type(error).__name__} {condition}: {error}"
            ) from error

    def _check(self, database: str) -> None:
        for _, name, *_ in self._rows(f"SHOW TABLES IN {database}"):
            table = f"{database}.{backticked(name)}"
            self._rows(f"SELECT * FROM {table}")
            plain = f"{database}.{name}"
            if "." not in name and "`" not in name and name == name.strip():
                assert self._rows(f"CALL lake.system.fsck({quoted(plain)})") == [], plain

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(statement).collect()]


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A place for the scripts of all tests."""
    return World(spark, tmp_path_factory.mktemp("fuzz"))


def few(number: int) -> settings:
    """Return how the scripts of a test are made: the same at each run."""
    return settings(
        max_examples=examples(number, 3),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@few(4)
@example(
    [
        "CREATE TABLE {d}.t (v INT, p FLOAT, q STRING) PARTITIONED BY (p, q)",
        "ALTER TABLE {d}.t ADD PARTITION (p = 1.1, q = 'x') PARTITION (p = 2, q = 1) PARTITION (p = '3e0', q = DATE '2024-01-01')",
        "ALTER TABLE {d}.t PARTITION (p = 1.1, q = 'x') RENAME TO PARTITION (p = -0.3, q = 'a\0b')",
        "INSERT INTO {d}.t PARTITION (p = 1, q = 'a\0b') VALUES (1)",
        "INSERT INTO {d}.t VALUES (1, 0.7, 'a\0b')",
        "INSERT INTO {d}.t REPLACE WHERE q = 'a\0b' VALUES (1, 0.7, 'a\0b')",
    ]
)
@given(script=scripts(WRITES, 4))
def test_writes(world: World, script: list[str]) -> None:
    """INSERT, REPLACE WHERE, DELETE and TRUNCATE take values of all types, or say what is wrong with them."""
    world.run(script)


@few(8)
@given(script=scripts(PARTITIONS, 5))
def test_partitions(world: World, script: list[str]) -> None:
    """Partitions are added, renamed, emptied, dropped and looked for by values of all types, at any place."""
    world.run(script)


@few(8)
@example(
    [
        "CREATE TABLE {d}.t (v INT, p STRUCT<x: STRUCT<>>)",
        "CREATE TABLE {d}.t (v INT, `p\0` STRING) PARTITIONED BY (`p\0`)",
        "CREATE TABLE {d}.t (v INT) USING parquet LOCATION '{folder}/a\0b'",
        "CREATE TABLE {d}.t USING parquet LOCATION 'nope://x/y'",
        "CREATE TABLE {d}.t (v INT) USING parquet LOCATION '{folder}/" + "y" * 300 + "'",
        "INSERT INTO {d}.t VALUES (1)",
        "DROP TABLE {d}.t",
        "ALTER NAMESPACE {d} SET LOCATION '{folder}/a\0b'",
        "CREATE TABLE {d}.t (v INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('target-file-size' = '"
        + "9" * 30
        + "')",
        "ALTER TABLE {d}.t ADD PARTITION (p = '" + "y" * 300 + "')",
    ]
)
@given(script=scripts([*TABLE_DDL, *NAMESPACE_DDL], 6))
def test_definitions(world: World, script: list[str]) -> None:
    """Tables and databases of any name, type, location and property are made and changed, or refused with an
    error class.
    """
    world.run(script)


@few(8)
@given(script=scripts(CALLS, 6))
def test_procedures(world: World, script: list[str]) -> None:
    """Procedures and versions accept arguments of all types, NULL and unknown names, or refuse them with an
    error class.
    """
    world.run(script)


OPTIONS = [
    *PROPERTIES,
    "partitionOverwriteMode",
    "maxRecordsPerFile",
    "parquet.page.size",
    "timeZone",
    "versionAsOf",
    "path",
]


@few(6)
@given(
    given_options=st.dictionaries(st.sampled_from(OPTIONS), st.sampled_from(SETTINGS), min_size=1, max_size=2)
)
def test_options(world: World, given_options: dict[str, str]) -> None:
    """Options of DataFrame writers and readers, known or not, with any value, do no harm."""
    frame = world.spark.sql("SELECT 1 AS v, 2 AS p")
    world.spark.sql("CREATE NAMESPACE lake.fuzz_options")
    try:
        world.spark.sql("CREATE TABLE lake.fuzz_options.t (v INT, p INT) PARTITIONED BY (p)")
        for name, write in {
            "append": lambda: frame.writeTo("lake.fuzz_options.t").options(**given_options).append(),
            "overwrite": lambda: frame.write.options(**given_options).insertInto("lake.fuzz_options.t", True),
            "make": lambda: frame.write.options(**given_options).saveAsTable("lake.fuzz_options.made"),
            "read": lambda: world.spark.read.options(**given_options).table("lake.fuzz_options.t").collect(),
        }.items():
            world.told(f"{name} with {given_options}", write)
        world._check("lake.fuzz_options")
    finally:
        world.spark.sql("DROP NAMESPACE lake.fuzz_options CASCADE")


@pytest.mark.unaudited("a sample leaves out the scripts that it counts")
def test_something_succeeds_and_something_is_refused(world: World) -> None:
    """The scripts are no nonsense throughout: many statements do what they say, and many are refused."""
    assert min(world.ran.values()) >= 20, world.ran
