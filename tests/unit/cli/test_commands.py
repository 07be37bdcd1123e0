"""The command `parquetry`: what it prints, and how it fails."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
import typer

import parquetry
from parquetry.cli import doctor
from parquetry.cli.commands import GROUPS, POINTERS
from parquetry.cli.main import app, main
from parquetry.cli.reference import reference
from parquetry.config import SPARK_SERIES, spark
from parquetry.config.registry import CATALOG_OPTIONS, TABLE_SETTINGS
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.store import SQLiteStore
from parquetry.warehouse import STORE_VARIABLE, VARIABLE

ROOT = Path(__file__).parents[3]
COMMANDS = typer.main.get_command(app).commands
TYPED = ("date", "timestamp", "decimal(6,2)", "double", "binary", "boolean")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A warehouse, and a copy of it: `t` with partitions of a day, `typed` with one of each type."""
    path = tmp_path_factory.mktemp("cli") / "lake"
    with open_metastore(str(path), create=True) as metastore:
        columns = (
            TableColumn("id", "integer"),
            TableColumn("day", "date", metadata={"comment": "[red]of sale"}),
        )
        table = metastore.create_table(
            "default",
            "t",
            TableMetadata(columns, ("day",), "parquet", f"{path}/t", properties={"sort-by": "id"}),
        )
        transaction = Transaction(table, "append")
        for day in range(3):
            statistics = {"id": ColumnStatistics(80, 0, day * 10, day * 10 + 9)}
            transaction.append((day,), [FileRecord("f.parquet", 1500, 1000, 1, statistics)])
        transaction.append((None,), [FileRecord("g.parquet", 7)])
        commit(transaction)
        names = tuple(f"c{place}" for place in range(len(TYPED)))
        columns = tuple(TableColumn(name, type) for name, type in zip(names, TYPED, strict=True))
        typed = metastore.create_table(
            "default", "typed", TableMetadata(columns, names, "orc", f"{path}/typed")
        )
        transaction = Transaction(typed, "append")
        values = (19782, 1_500_000, Decimal("1.50"), float("inf"), b"\x01b", True)
        transaction.append(values, [FileRecord("f.orc", 1, 1)])
        commit(transaction)
    return path, shutil.copytree(path, tmp_path_factory.mktemp("copy") / "lake")


@pytest.fixture(autouse=True)
def warehouse(made, tmp_path, monkeypatch):
    """The warehouse as it was made, named by the environment."""
    path, copy = made
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(copy, path)
    monkeypatch.setenv(VARIABLE, str(path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def run(capsys):
    """Run a command; gives exit code, standard output and standard error."""

    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        captured = capsys.readouterr()
        return caught.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def objects(run):
    """Run a command that succeeds with JSON; gives what it printed."""

    def objects(*arguments):
        code, out, err = run(*arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return objects


def test_tables_as_objects(objects):
    """`tables --json` gives totals of each table, and null for rows that some file does not tell."""
    assert objects("tables") == [
        {"table": "default.t", "partitions": 4, "files": 4, "rows": None, "bytes": 4507},
        {"table": "default.typed", "partitions": 1, "files": 1, "rows": 1, "bytes": 1},
    ]


def test_tables_for_people(run):
    """`tables` aligns numbers to the right, has a unit for sizes, and `?` for rows that are not known."""
    assert run("tables") == (
        0,
        "table          partitions  files  rows    size\n"
        "default.t               4      4     ?  4.5 kB\n"
        "default.typed           1      1     1     1 B\n",
        "",
    )


def test_partitions_as_objects(objects, warehouse):
    """`partitions --json` has ISO dates and absolute places, and heeds `--where` and `--limit`."""
    assert objects("partitions", "t", "--where", "day > DATE '1970-01-01'", "--limit", "1") == [
        {
            "values": {"day": "1970-01-02"},
            "location": f"{warehouse}/t/day=1970-01-02",
            "files": 1,
            "rows": 1000,
            "bytes": 1500,
        }
    ]
    assert objects("partitions", "t")[0]["values"] == {"day": None}
    assert objects("partitions", "t", "--where", "day > '2000-01-01'") == []


def test_values_of_every_type_have_a_place_in_json(objects):
    """Dates and times are ISO text, decimals and infinity text, bytes hexadecimal."""
    assert list(objects("partitions", "typed")[0]["values"].values()) == [
        "2024-02-29",
        "1970-01-01T00:00:01.500000+00:00",
        "1.50",
        "Infinity",
        "0162",
        True,
    ]


def test_partitions_for_people(run):
    """`partitions` has a column for each partition column, and locations relative to the table.

    If it finds no partition, it prints a sentence.
    """
    code, out, _ = run("partitions", "t")
    assert code == 0
    assert out.splitlines()[:3] == [
        "day         files   rows    size  location",
        "NULL            1      ?     7 B  day=__HIVE_DEFAULT_PARTITION__",
        "1970-01-01      1  1,000  1.5 kB  day=1970-01-01",
    ]
    assert run("partitions", "t", "--where", "FALSE") == (0, "No partitions.\n", "")


def test_files_as_objects_pruned_by_statistics(objects, warehouse):
    """`files --where` lists what a query with this filter would read."""
    kept = objects("files", "default.t", "--where", "id = 15 AND day IS NOT NULL")
    assert kept == [
        {
            "path": f"{warehouse}/t/day=1970-01-02/f.parquet",
            "partition": {"day": "1970-01-02"},
            "rows": 1000,
            "bytes": 1500,
        }
    ]
    assert len(objects("files", "t")) == 4


def test_files_for_people(run):
    """`files` shows paths relative to the table."""
    _, out, _ = run("files", "t", "--where", "id < 5 AND day IS NOT NULL")
    assert out.splitlines() == [
        "file                       rows    size",
        "day=1970-01-01/f.parquet  1,000  1.5 kB",
    ]


def test_describe_as_an_object(objects, warehouse):
    """`describe --json` has columns with their comments, partition columns and properties."""
    (table,) = objects("describe", "T")
    assert (table["table"], table["version"], table["location"]) == ("default.t", 1, f"{warehouse}/t")
    assert table["columns"][1] == {"name": "day", "type": "date", "nullable": True, "comment": "[red]of sale"}
    assert (table["partition_by"], table["properties"]) == (["day"], {"sort-by": "id"})


def test_describe_for_people_takes_no_comment_for_markup(run):
    """A comment in brackets is printed as it is, not taken for a colour of Rich."""
    code, out, _ = run("describe", "t")
    assert code == 0
    assert "day     date          1  [red]of sale" in out
    assert "property sort-by  id" in out


def test_a_plan_for_people_shows_values_and_as_an_object_bytes(run, objects):
    """`plan` prints the values between the bounds of each range; `--json` has the keys, hexadecimal."""
    assert run("plan", "t", "day > '1970-01-01' AND day != '1970-01-09'", "--run") == (
        0,
        "scan day >= 1970-01-02 where day != DATE '1970-01-09'\n2 partitions found, 2 keys examined\n",
        "",
    )
    (scan,) = objects("plan", "t", "day = '1970-01-02'")["scans"]
    assert (scan["kind"], scan["start"]) == ("get", "0180000001" + "00000005")


def test_on_a_terminal_tables_are_folded_and_keep_all_text(warehouse):
    """On a terminal of 44 columns long cells go on in the next line, instead of being cut."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "parquetry.cli.main", "describe", "t"],
        stdout=follower,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "COLUMNS": "44",
            "NO_COLOR": "1",
            "TERM": "xterm",
        },
    ) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                shown += os.read(leader, 4096)
            except OSError:  # Linux says so at the end
                break
    os.close(leader)
    assert process.returncode == 0
    assert "──" in shown.decode()
    assert "[red]" in shown.decode()


def test_unprintable_characters_do_not_reach_the_terminal(warehouse, run):
    """Control characters in a value are printed as escapes."""
    with open_metastore(str(warehouse)) as metastore:
        table = metastore.create_table(
            "default", "odd", TableMetadata((TableColumn("p", "string"),), ("p",), "orc", f"{warehouse}/odd")
        )
        transaction = Transaction(table, "append")
        transaction.append(("a\x1b[2J\n",), [])
        commit(transaction)
    _, out, _ = run("partitions", "odd")
    assert "a\\x1b[2J\\n" in out
    assert "\x1b" not in out


def test_a_table_of_another_database_is_named(warehouse, run):
    """The error for a bare name that is not in the default database names the databases that have it.

    It suggests `parquetry tables`, and never SHOW TABLES.
    """
    with open_metastore(str(warehouse)) as metastore:
        for database in ("tpcds", "web"):
            metastore.create_database(database)
            metadata = TableMetadata(
                (TableColumn("id", "integer"),), (), "parquet", f"{warehouse}/{database}"
            )
            metastore.create_table(database, "store_sales", metadata)
    code, _, err = run("describe", "STORE_SALES")
    assert code == 1
    assert err == (
        "parquetry: Table default.STORE_SALES does not exist (tpcds.store_sales or web.store_sales?); "
        "`parquetry tables`, or tables() of the catalog, lists the tables that do.\n"
    )
    assert run("describe", "lake.tpcds.store_sales")[1] == run("describe", "tpcds.store_sales")[1]


def test_a_shell_completes_names_of_tables():
    """Completion offers the table names that begin so, and no name if there is no warehouse."""
    completed = COMMANDS["files"].params[0].shell_complete
    context = typer.Context(COMMANDS["files"])
    assert [each.value for each in completed(context, "default.t")] == ["default.t", "default.typed"]
    context.params["warehouse"] = "missing"
    assert completed(context, "") == []


def test_lists_have_limits(run, objects):
    """`--limit` of files, versions and partitions; none is negative."""
    for command, whole in (("files", 4), ("history", 2), ("partitions", 4)):
        assert len(objects(command, "t")) == whole
        assert objects(command, "t", "--limit", "1") == objects(command, "t")[:1]
        assert objects(command, "t", "--limit", "9") == objects(command, "t")
        assert run(command, "t", "--limit", "-1")[0] == 2


# -- failures


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("describe", "none"), "parquetry: Table default.none does not exist"),
        (
            ("partitions", "nowhere.t"),
            "parquetry: Database 'nowhere' does not exist (default.t?); `parquetry tables`",
        ),
        (
            ("files", "type"),
            "parquetry: Table default.type does not exist (default.typed?); `parquetry tables`",
        ),
        (("describe", "a.b.c.d"), "parquetry: 'a.b.c.d' does not name a table: say 'database.table'."),
        (("tables", "--warehouse", "missing"), "parquetry: There is no metastore at"),
        (("tables", "--store", "odd://x"), "parquetry: Store 'odd://x' is not known"),
        (("publish", "none"), "parquetry: Table default.none does not exist"),
        (("publish", "t", "--conf", "x"), "parquetry: Option --conf 'x' is no setting: write KEY=VALUE."),
        (
            ("publish", "t", "--follow", "--metastore", "thrift://127.0.0.1:1"),
            "parquetry: No server of Hive's metastore is reached (127.0.0.1:1: Connection refused): start one there.",
        ),
        (
            ("publish", "t", "--follow", "--metastore", "hive:9083/x"),
            "parquetry: Table property 'publish' is 'thrift://hive:9083/x/default.t': not one of none, delta, thrift",
        ),
    ],
)
def test_an_error_is_one_sentence_and_exit_code_1(run, arguments, sentence):
    """It goes to standard error, without a traceback."""
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith(sentence)
    assert err.count("\n") == 1


def test_publish_of_no_table_does_not_start_spark(warehouse, tmp_path):
    """The error comes before PySpark is imported, even if PySpark is installed."""
    program = (
        "import sys\nfrom parquetry.cli.main import main\ntry:\n    main(['publish', 'none', '--conf', 'a=b'])\n"
        "finally:\n    print([name for name in sys.modules if name.partition('.')[0] in ('pyspark', 'py4j')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "[]\n"), done.stderr
    assert done.stderr.startswith("parquetry: Table default.none does not exist")


def test_a_filters_error_marks_the_place(run):
    """Below the sentence stand the filter and a caret under the place."""
    code, _, err = run("partitions", "t", "--where", "day = = 3")
    assert code == 1
    assert err.splitlines()[1:] == ["  day = = 3", "        ^"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("tables", "--nonsense"),
        ("partitions",),
        ("partitions", "t", "--limit", "-1"),
        ("nonsense",),
        ("publish", "t", "--follow"),
        ("publish", "t", "--metastore", "thrift://h"),
        ("publish", "t", "--format", "delta", "--metastore", "thrift://h"),
    ],
)
def test_wrong_usage_has_exit_code_2(run, arguments):
    """Unknown options and commands, missing arguments and bad numbers show the usage on standard error."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "Usage: parquetry" in err


@pytest.mark.parametrize("lines", [0, 1])
def test_a_reader_who_stops_early_gets_no_complaint(warehouse, lines):
    """`parquetry … | head` prints nothing on standard error when the pipe is closed."""
    with open_metastore(str(warehouse)) as metastore:
        transaction = Transaction(metastore.table("default", "t"), "append")
        for day in range(10, 3000):
            transaction.append((day,), [])
        commit(transaction)
    with subprocess.Popen(
        [sys.executable, "-m", "parquetry.cli.main", "partitions", "t", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    ) as process:
        for _ in range(lines):
            process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


# -- help and reference


def test_the_version(run):
    """`--version` prints the package's own."""
    assert run("--version") == (0, f"parquetry {parquetry.__version__}\n", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_that_names_it(run, name):
    """The help shows the example on one line."""
    code, out, _ = run(name, "--help")
    assert code == 0
    assert COMMANDS[name].help
    example = COMMANDS[name].epilog
    assert example.startswith("Example: ")
    assert f"parquetry {name}" in example
    assert example in out, "the example is broken over lines: shorten it"


def test_the_help_begins_with_reading_and_fits_a_terminal(run, monkeypatch):
    """Each command is in one group, and its summary in one line of 80 columns; a usage has no braces."""
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run("--help")
    assert code == 0
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS)
    assert grouped[:6] == ["databases", "tables", "describe", "head", "query", "partitions"]
    lines = [line.split() for line in out.splitlines()]
    for name in grouped:
        (line,) = [line for line in lines if line[:1] == [name]]
        assert " ".join(line[1:]) == COMMANDS[name].help.splitlines()[0]
        assert "{" not in run(name, "--help")[1].split("\n\n")[0]
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("name", POINTERS)
def test_names_of_other_tools_are_answered(run, name):
    """A command that users of others try is none, and the error names a command that is, or a statement."""
    assert name not in COMMANDS
    code, out, err = run(name, "sales.orders")
    assert (code, out) == (2, "")
    assert f"No such command '{name}': " in err
    said = re.findall(r"`parquetry (\S+)[^`]*`|\$\(parquetry (conf)", " ".join(err.split()))
    assert said
    assert {command or other for command, other in said} <= {*COMMANDS, "--help", "--version"}


@pytest.mark.parametrize("command", ["partitions", "files", "plan", "verify", "sync"])
def test_filters_are_given_in_one_way_or_the_other(run, warehouse, command):
    """As an argument, as in Python, or as --where; both at once are refused, and plan needs one."""
    (warehouse / "t").mkdir()
    more = ["--dry-run"] if command == "sync" else []
    by_argument = run(command, "t", "day = DATE '1970-01-02'", *more)
    assert by_argument[0] == 0, by_argument
    assert run(command, "t", "--where", "day = DATE '1970-01-02'", *more) == by_argument
    code, _, err = run(command, "t", "id = 3", "--where", "id = 4", *more)
    assert (code, "join them with AND" in " ".join(err.split())) == (2, True)
    if command == "plan":
        code, _, err = run(command, "t")
        assert (code, "parquetry plan TABLE FILTER" in " ".join(err.split())) == (2, True)


def test_databases(run, objects, warehouse):
    """Each database has its number of tables, an empty one, too."""
    with open_metastore(str(warehouse)) as metastore:
        metastore.create_database("a.b")
    assert objects("databases") == [{"database": "a.b", "tables": 0}, {"database": "default", "tables": 2}]
    assert run("databases")[1].splitlines()[0].split() == ["database", "tables"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name):
    """The help of each option and argument is a sentence."""
    for parameter in COMMANDS[name].params:
        assert parameter.help.endswith("."), parameter.name


def test_the_reference_in_docs_is_current():
    """docs/cli.md is what `parquetry.cli.reference` writes today."""
    assert (ROOT / "docs" / "cli.md").read_text() == reference(), (
        "run: python -m parquetry.cli.reference > docs/cli.md"
    )


def test_starting_imports_no_large_library():
    """`parquetry tables` loads Typer, and neither Arrow, Spark, sqlglot nor Rich's console."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "parquetry.cli.main", "tables"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in loaded
    assert {"pyarrow", "pyspark", "sqlglot", "rich.console"}.isdisjoint(loaded)


# -- conf


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("TopSecret", "The --storage-option number 1 has no =: write KEY=VALUE."),
        ("wrong-name=TopSecret", "The storage option 'wrong-name' is unknown for S3; known are "),
    ],
)
def test_errors_show_no_storage_option(run, tmp_path, option, problem):
    """An error about a storage option names the option or its number, and never its value."""
    place = ("s3://bucket/lake", f"sqlite://{tmp_path}/elsewhere.sqlite")
    with Metastore(SQLiteStore(tmp_path / "elsewhere.sqlite"), place[0]) as metastore:
        columns = (TableColumn("id", "integer"),)
        metastore.create_table("default", "u", TableMetadata(columns, (), "parquet", f"{place[0]}/u"))
    given = ("-w", place[0], "--store", place[1], "--storage-option", option)
    code, out, err = run("sync", "u", *given)
    assert (code, out) == (1, "")
    assert f"parquetry: {problem}" in err
    assert "TopSecret" not in err


# -- doctor


def _check(name, warehouse=None):
    return next(check for check in doctor.examine(warehouse) if check.name == name)


@pytest.fixture
def java(tmp_path, monkeypatch):
    """Set JAVA_HOME to a Java of some version that can only answer `-version`."""

    def java(said):
        launcher = tmp_path / "jdk" / "bin" / "java"
        launcher.parent.mkdir(parents=True, exist_ok=True)
        launcher.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
        launcher.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    return java


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ('openjdk version "17.0.9" 2023-10-17', True),
        ('openjdk version "21" 2023-09-19', True),
        ('java version "1.8.0_301"', False),
        ('openjdk version "11.0.2" 2019-01-15', False),
        ("nonsense", False),
    ],
)
def test_doctor_reads_javas_version(java, said, fits):
    """Java 17 and later fit; an older one, or an answer that is no version, comes with a remedy."""
    java(said)
    check = _check("java")
    assert check.ok is fits
    assert (check.remedy is None) is fits


def test_doctor_misses_java(monkeypatch, tmp_path):
    """Neither an empty JAVA_HOME nor a PATH without java passes."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert _check("java").ok is False
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "PATH" in _check("java").found


def test_doctor_misses_pyspark(monkeypatch):
    """The remedy is the pip command."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    check = _check("pyspark")
    assert (check.ok, check.remedy) == (False, "pip install 'parquetry[spark]'")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("version", "fits"), [("4.3.1", True), ("4.2.0", True), ("4.30.0", False), ("3.5.1", False)]
)
def test_doctor_compares_pysparks_version(monkeypatch, version, fits):
    """Any version of a supported series fits, and 4.30 is not 4.3."""
    import pyspark

    monkeypatch.setattr(pyspark, "__version__", version)
    assert _check("pyspark").ok is fits


@pytest.mark.spark
def test_doctor_says_what_a_version_lacks(monkeypatch):
    """Each feature that is left out is a note with its reason; the newest series lacks nothing."""
    import pyspark

    for series, lacking in SPARK_SERIES.items():
        monkeypatch.setattr(pyspark, "__version__", f"{series}.0")
        notes = [check for check in doctor.examine() if check.name == f"left out on Spark {series}"]
        assert [(note.ok, note.found) for note in notes] == [
            (None, f"{each.text}: {each.reason}") for each in lacking
        ]
    assert next(iter(SPARK_SERIES.values())) == ()


@pytest.mark.parametrize(("version", "fits"), [("4.3.0", True), ("3.5.1", False)])
def test_doctor_looks_into_spark_home(monkeypatch, tmp_path, version, fits):
    """The doctor takes the version from the name of Spark's core jar; a folder without one is a problem."""
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert _check("SPARK_HOME").ok is False
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-core_2.13-{version}.jar").touch()
    check = _check("SPARK_HOME")
    assert check.ok is fits
    assert version in check.found


def test_doctor_shows_no_password(tmp_path):
    """A store's URL is shown with stars in place of its password."""
    url = "postgresql://ann:secret@127.0.0.1:1/lake?patience=0&password=secret"
    shown = [str(each) for each in doctor.settings_in_effect(str(tmp_path), url)]
    shown += map(str, doctor._warehouse(str(tmp_path), url, None, write=False))
    assert any("postgresql://ann:***@127.0.0.1:1/lake" in text for text in shown)
    assert not any("secret" in text for text in shown)


@pytest.mark.spark
def test_doctor_says_whether_the_bridge_is_still_to_be_compiled(monkeypatch, tmp_path):
    """It is a note, not a problem, and looking compiles nothing."""
    from parquetry.spark import bridge_jar

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if (Path(bridge_jar.__file__).parent / "jars" / bridge_jar.jar_name()).exists():
        pytest.skip("the package carries the bridge")
    assert _check("bridge").ok is None
    assert not (tmp_path / "parquetry").exists()


def test_doctor_looks_at_the_warehouse(warehouse, monkeypatch):
    """The doctor counts the tables of the warehouse, and reports a warehouse that does not exist.

    If none is named, it only adds a note.
    """
    check = _check("warehouse")
    assert (check.ok, check.found) == (True, f"{warehouse} (PARQUETRY_WAREHOUSE), 2 tables")
    check = _check("warehouse", "missing")
    assert check.ok is False
    assert "no metastore" in check.found
    assert not Path("missing").exists()
    monkeypatch.delenv(VARIABLE)
    assert _check("warehouse").ok is None


def test_doctor_looks_at_the_files(warehouse):
    """Without `write` the doctor only lists and reads; with it, it also writes and deletes a file.

    It does not create a folder that does not exist.
    """
    (warehouse / "t" / "day=__HIVE_DEFAULT_PARTITION__").mkdir(parents=True)
    file = warehouse / "t" / "day=__HIVE_DEFAULT_PARTITION__" / "g.parquet"
    file.write_bytes(b"PAR1")
    before = sorted(warehouse.iterdir())
    found = {check.name: check for check in doctor.examine()}
    assert (found["list"].ok, found["list"].found) == (True, f"{warehouse}, {len(before)} entries")
    assert (found["read"].ok, found["read"].found) == (True, str(file))
    assert (found["write"].ok, found["write"].found) == (None, "not tried")
    found = {check.name: check for check in doctor.examine(write=True)}
    names = ("list", "write", "read", "clock of the files", "delete")
    assert [found[name].ok for name in names] == [True] * len(names)
    assert sorted(warehouse.iterdir()) == before
    assert _check("list", "missing").ok is None
    assert "list" in {check.name for check in doctor.examine("missing", write=True)}
    assert not Path("missing").exists()


def test_doctor_prints_and_exits_by_what_it_found(run, monkeypatch):
    """A problem has a remedy below it and makes the exit code 1. `--settings` adds the settings, with whole
    names.
    """
    good, bad = doctor.Check("a", True, "1"), doctor.Check("b", False, "2", "mend it")
    monkeypatch.setattr(
        doctor, "settings_in_effect", lambda *_: [doctor.InEffect("s", "3", "file", ("x", "y"))]
    )
    monkeypatch.setattr(spark, "SPARK_SETTINGS", [spark.SparkSetting("t", None, "z")])
    pointer = "\nSettings: parquetry doctor --settings\n"
    settings = "\ns = 3  (file)\n    x\n    y\n\nSettings of Spark's, with the value that parquetry.configure gives them:\nt\n    z\n"
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: [good, doctor.Check("c", None, "3")])
    assert run("doctor") == (0, f"ok       a: 1\nnote     c: 3\n{pointer}", "")
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: [good, bad])
    assert run("doctor", "--settings") == (
        1, f"ok       a: 1\nPROBLEM  b: 2\n         → mend it\n{settings}", "",
    )  # fmt: skip
    assert [each["check"] for each in json.loads(run("doctor", "--json")[1])] == ["a", "b"]
    code, out, _ = run("doctor", "--settings", "--json")
    assert code == 1
    assert json.loads(out)[1:] == [
        {"check": "b", "ok": False, "found": "2", "remedy": "mend it"},
        {"setting": "s", "value": "3", "from": "file", "set_with": ["x", "y"]},
        {"spark_setting": "t", "configure_sets": None, "for": "z"},
    ]


def _of_catalog(**given):
    settings = {s.name: (s.value, s.origin) for s in doctor.settings_in_effect(**given)}
    return settings["warehouse"], settings["store"]


def test_doctor_says_where_a_catalogs_settings_come_from(warehouse, monkeypatch, tmp_path):
    """From the call, the environment, a file, or the default, for warehouse and store each."""
    assert _of_catalog() == ((str(warehouse), VARIABLE), ("sqlite", "default"))
    monkeypatch.setenv(STORE_VARIABLE, "hbase://h:1/t")
    assert _of_catalog() == ((str(warehouse), VARIABLE), ("hbase://h:1/t", STORE_VARIABLE))
    assert _of_catalog(store="sqlite:///x") == ((str(warehouse), VARIABLE), ("sqlite:///x", "as given"))
    assert _of_catalog(warehouse="/w") == (("/w", "as given"), ("sqlite", "default"))
    monkeypatch.delenv(VARIABLE)
    assert _of_catalog() == ((None, None), ("sqlite", "default"))
    file = tmp_path / "parquetry.toml"
    file.write_text('warehouse = "/w"\nstore = "sqlite:////m"\n')
    assert _of_catalog() == (("/w", str(file)), ("sqlite:////m", str(file)))
    file.write_text('wharehouse = "/w"\n')
    assert _of_catalog() == ((None, None), ("sqlite", "default"))
    assert _check("warehouse").ok is False


def test_doctor_says_how_each_setting_is_set():
    """Every setting is listed with its default, and with each place where it can be written."""
    settings = {s.name: s for s in doctor.settings_in_effect()}
    assert list(settings) == list(dict.fromkeys(each.name for each in (*CATALOG_OPTIONS, *TABLE_SETTINGS)))
    store, size, indexes = (settings[n] for n in ("store", "target-file-size", "partition-indexes"))
    assert store.how == ("--store", "PARQUETRY_STORE", "parquetry.toml", "spark.sql.catalog.<name>.store")
    assert (size.value, size.origin) == ("128mb", "default")
    assert size.how == ("option of the write", "SET `parquetry.target-file-size`", "table property")
    assert settings["runtime-pruning"].how[0] == settings["bucket-join"].how[0] == "option of the read"
    assert (indexes.value, indexes.origin) == (None, None)
    assert indexes.how == ("table property at creation",)


def test_relocate_for_people_and_as_objects(run, warehouse):
    """A dry run says what would change, and the command says what it changed.

    A location that no object has is refused.
    """
    there, new = warehouse.parent, warehouse.parent.with_name("moved away")
    code, out, _ = run("relocate", str(there), str(new), "--dry-run")
    assert (code, "and would be" in out) == (0, True)
    told = json.loads(run("relocate", str(there), str(new), "--dry-run", "--json")[1])
    assert {each["kind"] for each in told} >= {"table"}
    assert all(each["after"].replace(str(new), str(there)) == each["before"] for each in told)
    code, _, err = run("relocate", "/no/where", "/new")
    assert (code, "no location was changed" in err) == (1, True)
