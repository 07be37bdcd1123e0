"""`parquetry.open` shows tables, partitions, files and plans of a warehouse, without Spark."""

import datetime
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

import parquetry
from parquetry.catalog import Catalog
from parquetry.errors import (
    ConfigurationError,
    FilterError,
    NamespaceNotFoundError,
    TableNotFoundError,
    WarehouseError,
)
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest.entries import FILES_PER_READ, read_files
from parquetry.predicate.nodes import Compare
from parquetry.predicate.pruning.match import match
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune.select import select_files
from parquetry.types import STRING
from parquetry.warehouse import STORE_VARIABLE, VARIABLE, find_warehouse

FIRST_DAY = 19782  # 2024-02-29
ORDERS = TableMetadata(
    columns=(
        TableColumn("id", "long", nullable=False),
        TableColumn("price", "decimal(10,2)"),
        TableColumn("tags", {"type": "array", "elementType": "string", "containsNull": True}),
        TableColumn("Day", "date", metadata={"comment": "of the sale"}),
        TableColumn("shop", "string"),
    ),
    partition_by=("Day", "shop"),
    format="parquet",
    location="",
    properties={"compression": "zstd"},
    comment="all of them",
)


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv(STORE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def warehouse(tmp_path):
    """Two databases; `sales.orders` has three days of two shops (one NULL) with two files, and one of one."""
    path = tmp_path / "lake"
    with open_metastore(str(path), create=True) as metastore:
        metastore.create_database("sales")
        metastore.create_table(
            "default", "empty", TableMetadata((TableColumn("x", "integer"),), (), "orc", f"{path}/empty")
        )
        location = metastore.table_location("sales", "orders")
        table = metastore.create_table("sales", "Orders", msgspec.structs.replace(ORDERS, location=location))
        transaction = Transaction(table, "append")
        for day in range(3):
            for shop in ("a", None):
                files = [_file(day, part) for part in range(2)]
                transaction.append((FIRST_DAY + day, shop), files)
        transaction.append((FIRST_DAY + 3, "z"), [FileRecord("/elsewhere/z.parquet", 5)])
        commit(transaction)
    return path


def _file(day, part):
    low = day * 100 + part * 10
    statistics = {
        "id": ColumnStatistics(80, 0, low, low + 9),
        "price": ColumnStatistics(40, 1, "1.50", f"{day + 2}.00"),
    }
    return FileRecord(f"part-{part}.parquet", 1000, 10, 1, statistics)


@pytest.fixture
def catalog(warehouse):
    with parquetry.open(warehouse) as catalog:
        yield catalog


def test_lists_databases_and_tables(catalog, warehouse):
    """Names come sorted, tables with their database, the default one's included."""
    assert catalog.warehouse == str(warehouse)
    assert catalog.databases() == ["default", "sales"]
    assert catalog.tables() == ["default.empty", "sales.orders"]


def test_a_table_is_told_in_plain_values(catalog, warehouse):
    """Types are SQL text, the time is aware in UTC, and rows are None as one file does not tell its own."""
    table = catalog.table("sales.orders")
    assert (table.name, table.version, table.operation) == ("sales.orders", 1, "append")
    assert table.committed_at.tzinfo is datetime.UTC
    assert (table.partitions, table.files, table.rows, table.bytes) == (7, 13, None, 12005)
    assert [(c.name, c.type, c.nullable, c.comment) for c in table.columns] == [
        ("id", "bigint", False, None),
        ("price", "decimal(10,2)", True, None),
        ("tags", "array<string>", True, None),
        ("Day", "date", True, "of the sale"),
        ("shop", "string", True, None),
    ]
    assert table.partition_by == ("Day", "shop")
    assert table.location == f"{warehouse}/sales.db/orders"
    assert (table.format, table.external, table.properties) == ("parquet", False, {"compression": "zstd"})


@pytest.mark.parametrize("name", ["SALES.Orders", "`sales`.`orders`", " sales . orders "])
def test_names_are_read_in_any_case_and_in_backticks(catalog, name):
    """Blanks around the dot do not matter, either."""
    assert catalog.table(name).name == "sales.orders"


def test_a_name_alone_is_of_the_default_database(catalog):
    """`Empty` is `default.empty`."""
    assert catalog.table("Empty").name == "default.empty"


def test_names_with_dots_come_and_go_in_backticks(warehouse):
    """A name that `tables()` lists finds its table, even with dots or backticks in it."""
    with open_metastore(str(warehouse)) as metastore:
        metastore.create_table(
            "sales", "a.b`c", TableMetadata((TableColumn("x", "integer"),), (), "orc", "/t")
        )
    with parquetry.open(warehouse) as catalog:
        assert "sales.`a.b``c`" in catalog.tables()
        assert all(catalog.table(name).name == name for name in catalog.tables())


@pytest.mark.parametrize(
    "name", ["", ".", "a.b.c.d", "lake.sales.none", "sales.", "`sales", "sales.a/b", "sales.none"]
)
def test_a_name_that_is_no_table_is_an_error(catalog, name):
    """Be it empty, of too many parts, badly quoted, or of no table, it raises TableNotFoundError."""
    with pytest.raises(TableNotFoundError):
        catalog.table(name)


def test_a_database_that_is_not_there_is_named(catalog):
    """The error is about the database, not about the table in it."""
    with pytest.raises(NamespaceNotFoundError, match="nowhere"):
        catalog.table("nowhere.t")


def test_partitions_come_in_order_with_typed_values(catalog, warehouse):
    """NULL comes first, a day is a `date`, and each partition has its place and totals."""
    found = list(catalog.partitions("sales.orders"))
    day = datetime.date(2024, 2, 29)
    assert found[0].values == {"Day": day, "shop": None}
    assert found[1].values == {"Day": day, "shop": "a"}
    assert found[1].location == f"{warehouse}/sales.db/orders/Day=2024-02-29/shop=a"
    assert (found[1].files, found[1].rows, found[1].bytes) == (2, 20, 2000)
    assert len(found) == 7
    assert found[-1].rows is None


def test_partitions_are_limited(catalog):
    """`limit` takes the first ones in key order, and may be 0."""
    assert [p.values["shop"] for p in catalog.partitions("sales.orders", limit=3)] == [None, "a", None]
    assert list(catalog.partitions("sales.orders", limit=0)) == []


@pytest.mark.parametrize(
    ("where", "number"),
    [
        ("day = DATE '2024-03-01'", 2),
        ("shop IS NULL", 3),
        ("shop = 'z' OR day < '2024-03-01'", 3),
        ("day > '2030-01-01'", 0),
        (Compare("=", "SHOP", "a", STRING), 3),
    ],
)
def test_partitions_are_filtered_by_text_or_predicate(catalog, where, number):
    """A filter's columns are found in any case, in SQL and in nodes alike."""
    assert len(list(catalog.partitions("sales.orders", where))) == number


def test_a_filter_of_partitions_on_a_data_column_says_which_columns_there_are(catalog):
    """The error lists the partition columns and points at the data column in the filter."""
    with pytest.raises(
        FilterError, match=r"not a partition column of sales\.orders \(they are: Day, shop\)"
    ) as caught:
        catalog.partitions("sales.orders", "day > '2024-01-01' AND id = 3")
    assert caught.value.position == 23


def test_a_bad_filter_is_told_before_anything_is_read(catalog):
    """The call itself raises FilterError, not the iterator that it would return."""
    for method in (catalog.partitions, catalog.files, catalog.plan):
        with pytest.raises(FilterError):
            method("sales.orders", "day = = 3")


def test_files_are_told_with_path_partition_and_statistics(catalog, warehouse):
    """Paths are absolute, and partition values have their Python types.

    A file without statistics has an empty dict of them.
    """
    files = list(catalog.files("sales.orders"))
    assert len(files) == 13
    assert files[2].path == f"{warehouse}/sales.db/orders/Day=2024-02-29/shop=a/part-0.parquet"
    assert files[2].partition == {"Day": datetime.date(2024, 2, 29), "shop": "a"}
    assert (files[2].rows, files[2].bytes) == (10, 1000)
    statistics = files[2].statistics
    assert (statistics["id"].min, statistics["id"].max, statistics["id"].bytes) == (0, 9, 80)
    assert (statistics["price"].min, statistics["price"].nulls) == (Decimal("1.50"), 1)
    assert (files[-1].path, files[-1].rows, files[-1].statistics) == ("/elsewhere/z.parquet", None, {})


def test_files_are_read_as_they_are_given(tmp_path, monkeypatch):
    """Reading the files of one partition holds at most some thousand of them in memory.

    If the table is dropped meanwhile, an error says so.
    """
    read = []
    monkeypatch.setattr(
        "parquetry.metastore.versions.partition.read_files",
        lambda *args: read.append(len(found := read_files(*args))) or found,
    )
    files = [FileRecord(f"{n}.orc", 7, 3) for n in range(3 * FILES_PER_READ)]
    with open_metastore(str(tmp_path / "lake"), create=True) as metastore:
        table = metastore.create_table(
            "default", "t", TableMetadata((TableColumn("x", "integer"),), (), "orc", f"{tmp_path}/t")
        )
        for start in range(0, len(files), FILES_PER_READ // 2):
            transaction = Transaction(table, "append")
            transaction.append((), files[start : start + FILES_PER_READ // 2])
            table = commit(transaction)
        catalog = Catalog(metastore)
        assert [file.path for file in catalog.files("t")] == [f"{tmp_path}/t/{file.path}" for file in files]
        assert sum(read) == len(files)
        assert max(read) <= FILES_PER_READ
        read.clear()
        found = catalog.files("t")
        assert next(found).path == f"{tmp_path}/t/0.orc"
        assert len(read) == 1
        metastore.drop_table("default", "t")
        with pytest.raises(TableNotFoundError, match="dropped"):
            list(found)


def test_files_are_pruned_by_partition_values_and_statistics(catalog):
    """A filter on both kinds of columns leaves the files that a query would read."""
    kept = list(catalog.files("sales.orders", "id BETWEEN 5 AND 12 AND shop = 'a'"))
    assert [file.path.rpartition("/")[2] for file in kept] == ["part-0.parquet", "part-1.parquet"]
    assert {str(file.partition) for file in kept} == {str(kept[0].partition)}
    # the file without statistics stays, because any value may be in it
    assert [file.path for file in catalog.files("sales.orders", "id = 999")] == ["/elsewhere/z.parquet"]


def test_selected_files_are_looked_at_some_thousand_at_a_time(tmp_path, monkeypatch):
    """With a filter on data columns, too; what is given is what one selection of the whole table gives."""
    looked_at = []
    monkeypatch.setattr(
        "parquetry.prune.rules.files.match",
        lambda condition, known: looked_at.append(known.count) or match(condition, known),
    )
    with open_metastore(str(tmp_path / "lake"), create=True) as metastore:
        columns = (TableColumn("x", "integer"), TableColumn("p", "integer"))
        table = metastore.create_table("default", "t", TableMetadata(columns, ("p",), "orc", f"{tmp_path}/t"))
        transaction = Transaction(table, "append")
        for p in range(40):
            transaction.append(
                (p,),
                [
                    FileRecord(f"{n}.orc", 7, 3, columns={"x": ColumnStatistics(min=n, max=n)})
                    for n in range(300)
                ],
            )
        table = commit(transaction)
        where = parse_filter("x IN (7, 250)", {column.name: column.column_type for column in columns})
        whole = select_files(table, [where]).files
        assert len(whole) == 80
        looked_at.clear()
        found = Catalog(metastore).files("t", "x IN (7, 250)")
        assert [file.path for file in found] == [file.path for file in whole]
        assert (len(looked_at), sum(looked_at), max(looked_at)) == (3, 12_000, 4_200)


def test_a_table_without_partition_columns_has_one_partition_once_it_holds_files(warehouse):
    """The one partition has no values, and its location is the table's location."""
    with parquetry.open(warehouse) as catalog:
        assert list(catalog.partitions("empty")) == []
    with open_metastore(str(warehouse)) as metastore:
        transaction = Transaction(metastore.table("default", "empty"), "append")
        transaction.append((), [FileRecord("a.orc", 7, 3)])
        commit(transaction)
    with parquetry.open(warehouse) as catalog:
        (only,) = catalog.partitions("empty")
        assert (dict(only.values), only.location) == ({}, f"{warehouse}/empty")
        assert [file.path for file in catalog.files("empty")] == [f"{warehouse}/empty/a.orc"]


def test_a_plan_is_plain_data(catalog):
    """`to_dict` has a range's bounds in hexadecimal and its residual as SQL.

    A contradiction has no ranges.
    """
    plan = catalog.plan("sales.orders", "day = '2024-02-29' AND shop LIKE '%a'").to_dict()
    (scan,) = plan["scans"]
    assert scan["kind"] == "range"
    assert bytes.fromhex(scan["start"]) < bytes.fromhex(scan["stop"])
    assert scan["residual"] == "shop LIKE '%a'"
    assert scan["index"] is None
    assert (plan["partitions"], plan["keys_examined"], plan["keys_returned"]) == (None, None, None)
    nothing = catalog.plan("sales.orders", "day < '2024-01-01' AND day > '2024-01-01'", run=True)
    assert nothing.to_dict() == {"scans": [], "partitions": 0, "keys_examined": 0, "keys_returned": 0}


def test_a_plan_that_is_run_counts(catalog):
    """`run=True` reports the partitions found and the keys examined.

    Without a bound these are all keys of the table.
    """
    plan = catalog.plan("sales.orders", "shop LIKE '%a'", run=True)
    (scan,) = plan.to_dict()["scans"]
    assert (scan["kind"], scan["start"], scan["residual"]) == ("range", "", "shop LIKE '%a'")
    found = list(catalog.partitions("sales.orders", "shop LIKE '%a'"))
    assert plan.partitions == len(found)
    assert plan.keys_examined == plan.keys_returned == catalog.table("sales.orders").partitions
    assert str(plan).endswith(f"{len(found)} partitions found, {plan.keys_examined} keys examined")


def test_a_plans_text_shows_values_and_its_dict_bytes(catalog):
    """`print` says which values the ranges hold; the bytes of their bounds are in `to_dict` alone."""
    plan = catalog.plan("sales.orders", "day = '2024-02-29' AND shop > 'a' OR day IS NULL")
    assert str(plan) == "scan Day IS NULL\nscan Day = 2024-02-29, shop > 'a'"
    assert [scan["start"][:4] for scan in plan.to_dict()["scans"]] == ["00", "0180"]


def test_an_open_end_is_beyond_every_key(catalog):
    """A range without an upper bound has a stop in the dict all the same, greater than any key."""
    (scan,) = catalog.plan("sales.orders", "day IS NULL OR day IS NOT NULL").to_dict()["scans"]
    assert (scan["start"], scan["residual"]) == ("", None)
    assert bytes.fromhex(scan["stop"]) > b"\xff" * len(catalog.table("sales.orders").partition_by)


def test_opening_creates_nothing(tmp_path):
    """A warehouse that is not there is an error, and is not there afterwards."""
    with pytest.raises(WarehouseError, match="no metastore"):
        parquetry.open(tmp_path / "none")
    assert not (tmp_path / "none").exists()


# -- which warehouse is meant


def test_without_a_name_the_warehouse_is_that_of_the_environment(warehouse, monkeypatch):
    """`parquetry.open()` takes PARQUETRY_WAREHOUSE."""
    monkeypatch.setenv(VARIABLE, str(warehouse))
    assert parquetry.open().warehouse == str(warehouse)


def test_else_that_of_the_nearest_configuration_file(warehouse, monkeypatch, tmp_path):
    """A parquetry.toml in a folder above counts, and its paths are relative to it."""
    (tmp_path / "parquetry.toml").write_text('warehouse = "lake"\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert parquetry.open().warehouse == str(warehouse)


def test_else_that_of_the_users_configuration_file(tmp_path):
    """Below XDG_CONFIG_HOME; the file is named as the origin."""
    file = tmp_path / "xdg" / "parquetry" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('warehouse = "s3a://bucket/lake/"\nstore = "sqlite:////m.sqlite"\n')
    found = find_warehouse()
    assert (found.location, found.store, found.origin) == (
        "s3a://bucket/lake",
        "sqlite:////m.sqlite",
        str(file),
    )


def test_a_store_is_taken_from_where_its_warehouse_is_named(tmp_path, monkeypatch):
    """The store in a configuration file applies only to that file's warehouse.

    A store that is passed as an argument or variable applies to any warehouse.
    """
    (tmp_path / "parquetry.toml").write_text('warehouse = "lake"\nstore = "sqlite:////m.sqlite"\n')
    assert find_warehouse().store == "sqlite:////m.sqlite"
    assert find_warehouse(tmp_path / "other").store is None
    assert find_warehouse(store="memory").store == "memory"
    monkeypatch.setenv(VARIABLE, "/w")
    assert find_warehouse().store is None
    monkeypatch.setenv(STORE_VARIABLE, "sqlite:////n.sqlite")
    assert find_warehouse().store == "sqlite:////n.sqlite"


def test_no_name_at_all_is_an_error_that_says_where_to_write_one():
    """It names the option, the variable and the file."""
    with pytest.raises(WarehouseError, match=r"--warehouse.*PARQUETRY_WAREHOUSE.*parquetry\.toml"):
        parquetry.open()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("warehouse = ", ConfigurationError, "cannot be read"),
        ("warhouse = 'x'", ConfigurationError, "'warhouse', which is unknown"),
        ("warehouse = 3", ConfigurationError, "text in quotes"),
        ("", WarehouseError, "names no warehouse"),
    ],
)
def test_a_configuration_file_that_cannot_be_used_is_named(tmp_path, text, error, message):
    """The error has the file's path and what is wrong: syntax, an unknown key, a type, no warehouse."""
    (tmp_path / "parquetry.toml").write_text(text)
    with pytest.raises(error, match=message) as caught:
        parquetry.open()
    assert str(tmp_path) in str(caught.value)


# -- the package


def _python(code):
    source = Path(parquetry.__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(source)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_importing_the_package_imports_none_of_the_large_libraries():
    """`import parquetry` loads neither Arrow, Spark and sqlglot nor the CLI's libraries and msgspec."""
    loaded = _python("import parquetry; print(*sys.modules)").split()
    assert {"pyarrow", "pyspark", "sqlglot", "rich", "typer", "msgspec"}.isdisjoint(loaded)


def test_looking_at_tables_needs_no_arrow_no_sqlglot_and_no_spark(warehouse):
    """Opening a warehouse and listing partitions loads none of the three."""
    loaded = _python(
        f"import parquetry; catalog = parquetry.open({str(warehouse)!r})\n"
        "list(catalog.partitions('sales.orders')); print(*sys.modules)"
    ).split()
    assert {"pyarrow", "pyspark", "sqlglot"}.isdisjoint(loaded)


@pytest.mark.parametrize("name", ["configure", "attach", "explain", "report"])
def test_without_pyspark_the_names_that_need_it_say_what_to_install(name):
    """The error names the function that needs PySpark, and the pip command."""
    said = _python(
        "sys.modules['pyspark'] = None\nimport parquetry\n"
        f"try: parquetry.{name}\nexcept parquetry.ParquetryError as error: print(error)"
    )
    assert said == f"parquetry.{name} needs PySpark, which is not installed: pip install 'parquetry[spark]'\n"


@pytest.mark.spark
def test_with_pyspark_they_are_its_functions():
    """The package's names are the functions of `parquetry.spark`, not wrappers."""
    from parquetry.spark import configuration, report, session

    assert parquetry.configure is session.configure
    assert parquetry.attach is session.attach
    assert parquetry.settings is configuration.settings
    assert parquetry.explain is report.explain
    assert parquetry.report is report.report


def test_all_public_names_are_listed_and_others_are_no_attributes():
    """`dir` has what `__all__` has, the names that are loaded late included."""
    assert set(parquetry.__all__) <= set(dir(parquetry))
    with pytest.raises(AttributeError, match="nothing"):
        parquetry.nothing  # noqa: B018


def test_arguments_of_other_kinds(warehouse):
    """The error names the argument, and no row is read."""
    with parquetry.open(warehouse) as catalog:
        with pytest.raises(ValueError, match="Limit -1 is negative"):
            catalog.partitions("sales.orders", limit=-1)
        for ask in (catalog.partitions, catalog.files, catalog.plan):
            with pytest.raises(TypeError, match="give a text or a Predicate"):
                ask("sales.orders", ["Day = 1"])
