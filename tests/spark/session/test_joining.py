"""Parquetry joins a Spark session: a new one, a running one, a submitted script, a shell, and unsuitable
ones.
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.config.spark import SPARK_SETTINGS
from parquetry.errors import BridgeError, ConfigurationError
from parquetry.spark import bridge_jar, session
from parquetry.spark.configuration import CATALOG_CLASS, EXTENSIONS_CLASS, settings
from tests.support.processes import run

BIN = Path(pyspark.__path__[0]) / "bin"
QUIET = [
    "--conf",
    "spark.ui.enabled=false",
    "--conf",
    "spark.log.level=ERROR",
    "--conf",
    "spark.sql.shuffle.partitions=2",
    "--conf",
    "spark.sql.catalogImplementation=in-memory",  # Hive's own metastore takes two seconds to start
    "--master",
    "local[1]",
]


def script(folder: Path, text: str) -> str:
    """Write a Python script, and return its path."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text))
    return str(path)


# -- settings


def test_settings_add_to_what_the_builder_holds() -> None:
    """`configure` appends to spark.jars and spark.sql.extensions, for each catalog, and repeats nothing."""
    builder = SparkSession.Builder().config("spark.jars", "/a.jar").config("spark.sql.extensions", "a.B")
    assert parquetry.configure(builder, "lake", "/w/lake", store="sqlite:///x.db") is builder
    parquetry.configure(builder, "pond", Path("/w/pond"))
    options = builder._options
    assert options["spark.jars"] == f"/a.jar,{bridge_jar.jar()}"
    assert options["spark.sql.extensions"] == f"a.B,{EXTENSIONS_CLASS}"
    assert options["spark.sql.catalog.lake"] == options["spark.sql.catalog.pond"] == CATALOG_CLASS
    assert options["spark.sql.catalog.lake.warehouse"] == "/w/lake"
    assert options["spark.sql.catalog.lake.store"] == "sqlite:///x.db"
    assert options["spark.sql.catalog.pond.warehouse"] == "/w/pond"


@pytest.mark.parametrize("warehouse", ["file:/w/a%20b", "file:///w", "hdfs:/w", "s3a://bucket/w", "/w/a%20b"])
def test_a_warehouse_may_be_a_uri(warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URI with one slash is a URI, too; a path begins in the working directory, with any
    characters in it.
    """
    monkeypatch.chdir(tmp_path)
    key = "spark.sql.catalog.lake.warehouse"
    assert settings("lake", warehouse)[key] == warehouse
    assert settings("lake", "b/%20")[key] == f"{tmp_path}/b/%20"


def test_settings_add_to_spark_defaults(tmp_path: Path) -> None:
    """The jars and extensions of spark-defaults.conf are kept, though a builder's setting would hide them."""
    (tmp_path / "spark-defaults.conf").write_text(
        "# a comment\nspark.jars   /d.jar,/e.jar\nspark.sql.extensions=d.E\nspark.jars.packages none\n"
    )
    program = """
        import parquetry
        from pyspark.sql import SparkSession
        options = parquetry.configure(SparkSession.builder, "lake", "w")._options
        print(options["spark.jars"]); print(options["spark.sql.extensions"])
    """
    out = run([sys.executable, script(tmp_path, program)], tmp_path, SPARK_CONF_DIR=str(tmp_path))
    assert out.splitlines() == [f"/d.jar,/e.jar,{bridge_jar.jar()}", f"d.E,{EXTENSIONS_CLASS}"]


@pytest.mark.parametrize("name", ["", "my-lake", "a.b", "a b", "spark_catalog"])
def test_a_name_that_cannot_be_a_catalogs(name: str) -> None:
    """A name that SQL or Spark could not use is refused, by name, before anything starts."""
    with pytest.raises(ConfigurationError, match=f"{name!r}.*"):
        parquetry.configure(SparkSession.Builder(), name, "w")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"wharehouse": "x"}, "wharehouse is unknown; known are .*store, .*warehouse"),
        ({"store": "redis://x"}, "redis"),
    ],
)
def test_an_unknown_option(spark: SparkSession, tmp_path: Path, options: dict[str, str], says: str) -> None:
    """An unknown option of a catalog is an error at the first use, which names it and the known options."""
    name = f"odd_{next(iter(options))}"
    for key, value in settings(name, tmp_path, **options).items():
        if key.startswith("spark.sql.catalog."):
            spark.conf.set(key, value)
    with pytest.raises(pyspark.errors.AnalysisException, match=says) as caught:
        spark.sql(f"SHOW NAMESPACES IN {name}")
    assert caught.value.getCondition() == "PARQUETRY_CONFIGURATION"
    assert not (tmp_path / "_parquetry").exists()


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        (
            "runtime-pruning",
            "flase",
            "is 'flase': not true or false; give the builder another value, or none.",
        ),
        (
            "runtime-pruning-max-build-size",
            "plenty",
            "is 'plenty': not a size such as 128mb; give the builder",
        ),
        (
            "runtime-prunning",
            "true",
            "is unknown: did you mean 'parquetry.runtime-pruning'?; give the builder",
        ),
        (
            "partition-order",
            "a DESC",
            "cannot be given for a session: set the table property 'partition-order'",
        ),
    ],
)
def test_a_setting_of_the_builder_that_cannot_be_used(
    tmp_path: Path, key: str, value: str, says: str
) -> None:
    """`getOrCreate` reports it: in a session made with it, every statement would fail, and RESET as well."""
    builder = parquetry.configure(SparkSession.Builder(), "lake", tmp_path).config(f"parquetry.{key}", value)
    with pytest.raises(ConfigurationError, match=re.escape(f"Session setting 'parquetry.{key}' {says}")):
        builder.getOrCreate()


def test_a_catalog_without_a_warehouse(spark: SparkSession) -> None:
    """A catalog class without a warehouse says which setting is missing."""
    spark.conf.set("spark.sql.catalog.homeless", CATALOG_CLASS)
    with pytest.raises(
        pyspark.errors.AnalysisException, match=r"set spark\.sql\.catalog\.homeless\.warehouse"
    ):
        spark.sql("SHOW NAMESPACES IN homeless")


def test_what_joins_of_buckets_depend_on_is_set_unless_somebody_has(spark: SparkSession) -> None:
    """The session of these tests has it; what a builder or a running session has been given stays."""
    ours = {setting.name: setting.value for setting in SPARK_SETTINGS}
    assert all(spark.conf.get(name) == value for name, value in ours.items() if value is not None)
    assert all(spark.conf.get(name, None) != "true" for name, value in ours.items() if value is None)
    first, second, *_ = (name for name, value in ours.items() if value == "true")
    spark.conf.set(second, "false")
    try:
        builder = SparkSession.Builder().config(first, "false")
        parquetry.configure(builder, "lake", "w")
        assert builder._options[first] == "false"
        assert second not in builder._options
    finally:
        spark.conf.set(second, "true")


# -- one session


def test_two_catalogs(spark: SparkSession, db: str) -> None:
    """Two catalogs in a session are two: a statement reads one and writes the other."""
    pond = db.replace("lake.", "pond.")
    spark.sql(f"CREATE NAMESPACE {pond}")
    spark.sql(f"CREATE TABLE {db}.t AS SELECT id FROM range(3)")
    assert spark.sql(f"SHOW TABLES IN {pond}").count() == 0
    spark.sql(f"CREATE TABLE {pond}.t AS SELECT id + 10 AS id FROM {db}.t")
    joined = spark.sql(f"SELECT p.id FROM {pond}.t p JOIN {db}.t l ON p.id = l.id + 10 WHERE l.id > 0")
    assert sorted(row.id for row in joined.collect()) == [11, 12]
    spark.sql(f"DROP NAMESPACE {pond} CASCADE")
    assert spark.table(f"{db}.t").count() == 3


def test_threads(spark: SparkSession, db: str) -> None:
    """Several threads make, fill and read tables of one session at once: one table each, and one shared by
    all.
    """
    spark.sql(f"CREATE TABLE {db}.common (thread int, p int) PARTITIONED BY (p)")

    def work(number: int) -> int:
        spark.sql(f"CREATE TABLE {db}.t{number} (id int, p int) PARTITIONED BY (p)")
        spark.sql(f"INSERT INTO {db}.t{number} SELECT id, id % 2 FROM range({number + 1})")
        spark.sql(f"INSERT INTO {db}.common VALUES ({number}, {number % 2})")
        return spark.table(f"{db}.t{number}").where("p >= 0").count()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(6))) == [1, 2, 3, 4, 5, 6]
    assert sorted(row.thread for row in spark.table(f"{db}.common").collect()) == list(range(6))
    assert spark.sql(f"SHOW PARTITIONS {db}.common").count() == 2


def test_a_second_builder_and_a_new_session(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """A later `getOrCreate` adds its catalog to the running session; `newSession` has all catalogs, with its
    own settings.
    """
    spark.sql(f"CREATE TABLE {db}.t (id int, p timestamp) PARTITIONED BY (p)")
    again = parquetry.configure(SparkSession.builder, "well", tmp_path / "well").getOrCreate()
    again.sql("CREATE NAMESPACE well.db")
    again.sql("CREATE TABLE well.db.t AS SELECT 1 AS a")
    assert again.table("well.db.t").collect() == [(1,)]
    other = spark.newSession()
    assert parquetry.attach(other) is other
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    other.sql(f"INSERT INTO {db}.t VALUES (1, TIMESTAMP '2024-01-01 09:00:00')")
    assert spark.sql(f"SELECT id FROM {db}.t WHERE p = TIMESTAMP '2024-01-01 00:00:00'").collect() == [(1,)]
    assert spark.sql(f"SHOW PARTITIONS {db}.t").collect() == other.sql(f"SHOW PARTITIONS {db}.t").collect()


# -- sessions that do not fit


def test_another_version(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bridge of another version than the package causes an error with both versions and the right jar."""
    ours = session.__version__
    monkeypatch.setattr(session, "__version__", "9.9.9")
    with pytest.raises(
        BridgeError, match=rf"of version {ours}, and Parquetry of 9\.9\.9: put .*\.jar into spark\.jars"
    ):
        parquetry.attach(spark)


def test_another_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PySpark of another series is one sentence with both versions and the command that mends it."""
    monkeypatch.setattr(pyspark, "__version__", "3.5.1")
    with pytest.raises(
        BridgeError, match=r"works with PySpark 4\.3 or 4\.2 or 4\.1 or 4\.0, and 3\.5\.1 is installed"
    ):
        bridge_jar.jar()


def test_a_connect_session() -> None:
    """A builder of a Spark Connect client gets the catalog's settings, and no jar; a path of this machine
    alone is refused.
    """
    builder = SparkSession.Builder().remote("sc://localhost:1")
    with pytest.raises(
        ConfigurationError, match="'w' is a relative path, and the Spark Connect server may run elsewhere"
    ):
        parquetry.configure(builder, "lake", "w")
    assert builder._options == {"spark.remote": "sc://localhost:1"}
    assert parquetry.configure(builder, "lake", "s3a://bucket/lake") is builder
    assert builder._options["spark.sql.catalog.lake.warehouse"] == "s3a://bucket/lake"
    assert "spark.jars" not in builder._options


SESSIONS = """
    import parquetry
    from parquetry.spark import bridge_jar as bridge, session
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    def plain(**conf):
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        for key, value in conf.items():
            builder.config(key.replace("__", "."), value)
        return builder

    def attempt(what):
        try:
            print("ok", what())
        except parquetry.ParquetryError as error:
            print(error.code, error)

    key = "parquetry.runtime-pruning"
    try:
        parquetry.configure(plain(), "lake", "w").config(key, "flase").getOrCreate()
    except parquetry.ParquetryError as error:
        print("setting", error.code, SparkContext._jvm)
    spark = plain().getOrCreate()
    attempt(lambda: parquetry.attach(spark))
    attempt(lambda: parquetry.configure(SparkSession.builder, "lake", "w").getOrCreate())
    spark.stop()
    spark = plain(spark__jars=str(bridge.jar())).getOrCreate()
    attempt(lambda: parquetry.attach(spark))
    spark.stop()
    spark = parquetry.configure(plain(spark__sql__shuffle__partitions="2"), "lake", "w").getOrCreate()
    spark.sql("CREATE TABLE lake.default.five AS SELECT 5 AS a")
    attempt(lambda: spark.table("lake.default.five").collect())
    spark.stop()
    spark = parquetry.configure(plain(), "lake", "w").config(key, "false").getOrCreate()
    attempt(lambda: spark.table("lake.default.five").collect())
    spark.sql("CREATE TABLE lake.default.t (x INT, p INT) PARTITIONED BY (p)")
    spark.sql("INSERT INTO lake.default.t SELECT id, id FROM range(9)")
    query = "SELECT /*+ BROADCAST(b) */ a.x FROM lake.default.t a JOIN lake.default.t b ON a.p = b.x WHERE b.x % 5 = 3"
    for statement in (None, f"SET `{key}` = true", f"RESET `{key}`"):
        if statement:
            spark.sql(statement)
        frame = spark.sql(query)
        rows = sorted(row.x for row in frame.collect())
        print("setting", rows, f"off (session setting '{key}')" in str(parquetry.report(frame)))
"""


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The lines that a program prints as it makes one session after another."""
    folder = tmp_path_factory.mktemp("sessions")
    return run([sys.executable, script(folder, SESSIONS)], folder)


def test_settings_that_the_session_is_made_with(sessions: str) -> None:
    """An invalid setting for reads starts nothing. A valid one applies to queries until SET replaces it, and
    RESET restores it.
    """
    told = [line for line in sessions.splitlines() if line.startswith("setting")]
    rows = [f"setting [3, 8] {off}" for off in (True, False, True)]
    assert told == ["setting CONFIGURATION None", *rows], sessions


def test_sessions_without_the_bridge_or_its_extensions(sessions: str) -> None:
    """A session without the bridge or the extensions reports so; after `stop`, `configure` makes one that
    works.
    """
    said = [line for line in sessions.splitlines() if line.startswith(("ok", "BRIDGE"))]
    assert len(said) == 5, sessions
    assert said[0].startswith("BRIDGE The bridge is not on this session's class path: make the session with ")
    for line in said[1:3]:
        assert "made without Parquetry's extensions, and a running one cannot take them: stop it" in line
        assert "spark.sql.extensions=org.apache.spark.sql.parquetry.ParquetryExtensions" in line
    assert said[3:] == ["ok [Row(a=5)]"] * 2
    assert "JavaPackage" not in sessions


# -- spark-submit and the shell

SCRIPT = """
    import parquetry
    from pyspark.sql import SparkSession

    spark = parquetry.configure(SparkSession.builder, "lake", "w").getOrCreate()
    spark.sql("CREATE TABLE lake.default.t (id int, p int) PARTITIONED BY (p)")
    spark.sql("INSERT INTO lake.default.t VALUES (1, 1), (2, NULL), (3, 1)")
    spark.sql("ALTER TABLE lake.default.t ADD PARTITION (p = 7)")
    print("FOUND", sorted(r.id for r in spark.sql("SELECT id FROM lake.default.t WHERE p = 1").collect()))
    print("JARS", spark.sparkContext.getConf().get("spark.jars"))
    print("EXTENSIONS", spark.conf.get("spark.sql.extensions"))
"""


def test_spark_submit(tmp_path: Path) -> None:
    """`spark-submit script.py` runs a script that calls `configure` unchanged, and keeps the command line's
    settings.
    """
    other = tmp_path / "other.jar"
    other.write_bytes(b"PK\x05\x06" + bytes(18))
    command = [str(BIN / "spark-submit"), *QUIET, "--jars", str(other), script(tmp_path, SCRIPT)]
    out = run(command, tmp_path)
    said = {line.split()[0]: line for line in out.splitlines() if line.split()[:1]}
    assert said.get("FOUND") == "FOUND [1, 3]", out
    assert "other.jar" in said["JARS"]
    assert said["EXTENSIONS"] == f"EXTENSIONS {EXTENSIONS_CLASS}"
    assert (tmp_path / "w" / "_parquetry" / "metastore.sqlite").exists()


def test_the_shell(tmp_path: Path) -> None:
    """The `pyspark` shell needs only the settings on its command line: it starts a planner, and `attach` does
    no harm.
    """
    given = settings("lake", tmp_path / "w")
    conf = [part for key, value in given.items() for part in ("--conf", f"{key}={value}")]
    typed = """
spark.sql("CREATE NAMESPACE lake.early")
print("EARLY", [row.namespace for row in spark.sql("SHOW NAMESPACES IN lake").collect()])

import parquetry
_ = parquetry.attach(spark)
_ = spark.sql("CREATE TABLE lake.default.t USING orc PARTITIONED BY (p) AS SELECT id, id % 3 AS p FROM range(9)")
print("FOUND", spark.table("lake.default.t").where("p = 2").count())
"""
    out = run(
        [str(BIN / "pyspark"), *QUIET, *conf], tmp_path, typed,
        PYSPARK_DRIVER_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON_OPTS="-i",
    )  # fmt: skip
    assert "EARLY ['default', 'early']" in out, out
    assert "FOUND 3" in out, out


# -- the bridge's jar


def test_two_processes_compile_at_once(tmp_path: Path) -> None:
    """With a cold cache two processes both get a whole jar, the same one, and leave nothing else behind."""
    # One of the files suffices: all of them are compiled for every other test.
    program = """
        from parquetry.spark import bridge_jar as bridge
        one = {name: path for name, path in bridge.sources().items() if name == "hash/HiveMurmur.scala"}
        bridge.sources = lambda *_: one
        print(bridge.jar())
    """
    command = [sys.executable, script(tmp_path, program)]
    cache = {
        "XDG_CACHE_HOME": str(tmp_path),
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    }
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: run(command, tmp_path, **cache), range(2))
    jar = Path(first.splitlines()[-1])
    assert Path(second.splitlines()[-1]) == jar
    assert jar.parent == tmp_path / "parquetry" / "bridge"
    assert [path.name for path in jar.parent.iterdir()] == [jar.name]
    assert "compiling the bridge" in first
    assert run(command, tmp_path, **cache) == f"{jar}\n"
    with zipfile.ZipFile(jar) as whole:
        assert whole.testzip() is None
        assert "org/apache/spark/sql/parquetry/protocol/BridgeVersion.class" in whole.namelist()


def test_no_java(tmp_path: Path) -> None:
    """Without Java the message says what to install, whether or not the bridge is compiled already."""
    program = """
        import json
        import os
        import sys
        import parquetry
        from pyspark.sql import SparkSession

        for variables in json.loads(sys.argv[1]):
            os.environ.update(variables)
            try:
                parquetry.configure(SparkSession.builder, "lake", "w").getOrCreate()
            except parquetry.ParquetryError as error:
                print(error.code, error)
    """
    compiled = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    machines = [
        *(
            {"PATH": "/nowhere", "JAVA_HOME": "", "XDG_CACHE_HOME": cache}
            for cache in (str(tmp_path), compiled)
        ),
        {"JAVA_HOME": "/nowhere/java"},
    ]
    out = run([sys.executable, script(tmp_path, program), json.dumps(machines)], tmp_path)
    says = "BRIDGE No Java was found: install a Java 17 runtime, or point JAVA_HOME to one."
    assert out.count(says) == 2, out
    assert "BRIDGE JAVA_HOME is /nowhere/java, and there is no bin/java in it" in out
