"""A table's versions as a Delta log: each reader gives the table's rows, or the table is refused."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import parquetry
from parquetry.cli.main import main
from parquetry.errors import UnsupportedError
from parquetry.metastore import Transaction, commit
from parquetry.publishing import publish_delta
from tests.support.readers.cases import CASES, NAMES_ALONE, Row
from tests.support.readers.python_tables import PythonLake
from tests.support.readers.values import comparable

REFUSALS = {
    "changed": "was renamed",
    "without ids": "was renamed",
    "another spelling": "distinguish letter case",
    "a wider integer": "was integer before it was long",
    "a wider float": "was float before it was double",
    "a padded text": "would not pad",
    "an equals sign in a folder": "Polars would read NULL",
    "letters of any script": "a character in its name",
    "an escaped byte in a folder": "Polars would read another value",
    "an interval": "lack or would not pad",
}
"""Refusals of Delta's that are not Iceberg's."""
LOUD = {("decimals", "delta-rs"): "is not a valid decimal128"}
"""Tables that a reader fails to read, with its error."""


def by_delta_rs(folder: str, version: int | None) -> list[Row]:
    return DeltaTable(folder, version=version).to_pyarrow_table().to_pylist()


def by_delta_rs_engine(folder: str, version: int | None) -> list[Row]:
    engine = QueryBuilder().register("t", DeltaTable(folder, version=version))
    return [
        row
        for batch in engine.execute("SELECT * FROM t")
        for row in __import__("pyarrow").record_batch(batch).to_pylist()
    ]


def by_polars(folder: str, version: int | None) -> list[Row]:
    return pl.scan_delta(folder, version=version).collect().to_dicts()


def by_duckdb(folder: str, version: int | None) -> list[Row]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        package = Path(str(resources.files("duckdb_extension_delta")))
        (file,) = package.glob(f"extensions/v{duckdb.__version__}/delta.duckdb_extension")
        connection.execute(f"LOAD '{file}'")
        at = "" if version is None else f", version => {version}"
        return connection.sql(f"SELECT * FROM delta_scan('{folder}'{at})").to_arrow_table().to_pylist()


READERS: dict[str, Callable[[str, int | None], list[Row]]] = {
    "delta-rs": by_delta_rs,
    "delta-rs engine": by_delta_rs_engine,
    "polars": by_polars,
    "duckdb": by_duckdb,
}


@pytest.mark.parametrize("name", CASES)
def test_readers_read_the_rows_or_the_table_is_refused(tmp_path: Path, name: str) -> None:
    """Every reader reads the rows that Spark reads; a refused table gets no log."""
    case, lake = CASES[name], PythonLake(tmp_path / "lake")
    case.make(lake)
    folder = lake.folder / "default.db" / "t"
    refusal = REFUSALS.get(name, None if name in NAMES_ALONE else case.refusal)
    if refusal is not None:
        with pytest.raises(UnsupportedError, match=refusal):
            publish_delta(lake.table("t"))
        assert not (folder / "_delta_log").exists()
        return
    publish_delta(lake.table("t"))
    for reader, read in READERS.items():
        if (name, reader) in LOUD:
            with pytest.raises(Exception, match=LOUD[name, reader]):
                read(str(folder), None)
            continue
        assert comparable(read(str(folder), None)) == comparable(case.rows or NAMES_ALONE[name]), reader


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long", "s": "string", "d": "double"}, ["p"])
    made.write("t", "p=1/f.parquet", [{"a": 1, "s": "x", "d": 0.5}, {"a": 3, "s": None, "d": None}])
    made.write("t", "p=2/f.parquet", [{"a": 5, "s": "y", "d": 1.5}])
    return made


def folder_of(lake: PythonLake) -> Path:
    return lake.folder / "default.db" / "t"


def actions(lake: PythonLake, number: int, table: str = "t") -> list[dict[str, Any]]:
    """Return the actions of a commit of the log."""
    text = (folder_of(lake).with_name(table) / "_delta_log" / f"{number:020d}.json").read_text()
    return [msgspec.json.decode(line) for line in text.splitlines()]


def kinds(lake: PythonLake, number: int) -> list[str]:
    return [next(iter(action)) for action in actions(lake, number)]


def drop(lake: PythonLake, value: int) -> None:
    transaction = Transaction(lake.table("t"), "drop")
    transaction.drop((value,))
    commit(transaction)


def test_a_file_whose_entry_changes_stays(lake: PythonLake) -> None:
    """Statistics of a dropped column leave the log: the file is added again, and not removed."""
    columns = lake.table("t").metadata.columns
    publish_delta(lake.table("t"))
    lake.alter("t", columns=(columns[0], columns[1], columns[3]), dropped=(("s",),))
    publish_delta(lake.table("t"))
    assert kinds(lake, 3) == ["commitInfo", "metaData", "add", "add"]
    assert [action["add"]["dataChange"] for action in actions(lake, 3)[2:]] == [False, False]
    for read in READERS.values():
        assert sorted(str(row["a"]) for row in read(str(folder_of(lake)), None)) == ["1", "3", "5"]


def test_each_version_is_a_commit(lake: PythonLake) -> None:
    """A later publication adds the later versions alone, and readers read each by its number."""
    published = publish_delta(lake.table("t"))
    assert [(each.action, each.count) for each in published] == [("versions added", 3), ("files", 2)]
    assert [kinds(lake, n) for n in range(3)] == [
        ["commitInfo", "protocol", "metaData"],
        ["commitInfo", "add"],
        ["commitInfo", "add"],
    ]
    drop(lake, 1)
    assert [(each.action, each.count) for each in publish_delta(lake.table("t"))] == [
        ("versions added", 1),
        ("files", 1),
    ]
    assert kinds(lake, 3) == ["commitInfo", "remove"]
    assert [each.count for each in publish_delta(lake.table("t"))] == [0, 1]
    for read in READERS.values():
        assert [len(read(str(folder_of(lake)), version)) for version in (1, 2, 3)] == [2, 3, 1]


def test_statistics_are_exact(lake: PythonLake) -> None:
    """Numbers and texts have their minimum and maximum; a double, whose NaN they would hide, has none."""
    publish_delta(lake.table("t"))
    (added,) = [action["add"] for action in actions(lake, 1) if "add" in action]
    assert added["partitionValues"] == {"p": "1"}
    assert msgspec.json.decode(added["stats"]) == {
        "numRecords": 2,
        "minValues": {"a": 1, "s": "x"},
        "maxValues": {"a": 3, "s": "x"},
        "nullCount": {"a": 0, "s": 1, "d": 1},
    }


@pytest.mark.parametrize("folder", ["p=3", "p=__HIVE_DEFAULT_PARTITION__", "x", "q=7/p=7", "P=7", ""])
def test_partitions_elsewhere_are_refused(lake: PythonLake, folder: str) -> None:
    """Polars would read the values that folders say, and NULL where they say none."""
    table = lake.table("t")
    found = table.partition((2,))
    assert found is not None
    (file,) = found.files
    place = f"{table.metadata.location}/{folder}/f.parquet"
    transaction = Transaction(table, "append")
    transaction.append((7,), [msgspec.structs.replace(file, path=place.replace("//f", "/f"))])
    with pytest.raises(UnsupportedError, match="does not say p=7, and Polars would read another value"):
        publish_delta(commit(transaction))


def test_a_file_without_a_bound_has_none(lake: PythonLake) -> None:
    """delta-rs finds rows by columns without bounds, and in files that lack a bound that others have."""
    lake.create("wide", {"a": "long", "d": "double", "s": "string"})
    lake.write("wide", "a.parquet", [{"a": 1, "d": 0.5, "s": "x" * 100}, {"a": None, "d": None, "s": None}])
    odd = pa.table({"a": [2], "d": [0.5], "s": pa.array([b"\xff"], pa.binary()).view(pa.string())})
    lake.put("wide", "b.parquet", odd)
    lake.write("wide", "c.parquet", [{"a": None, "d": 0.5, "s": "y"}])
    publish_delta(lake.sync("wide"))
    dataset = DeltaTable(str(lake.folder / "default.db" / "wide")).to_pyarrow_dataset()
    conditions = [pc.field("d") == 0.5, pc.field("a") == 2, pc.field("a").is_null(), pc.field("s") > "x"]
    counts = [dataset.to_table(["a"], filter=condition).num_rows for condition in conditions]
    assert counts == [3, 1, 2, 3]
    bounds = [
        msgspec.json.decode(action["add"]["stats"]).get("maxValues")
        for number in (1, 2)
        for action in actions(lake, number, "wide")
        if "add" in action
    ]
    assert sorted(map(str, bounds)) == ["None", f"{{'a': 1, 's': '{'x' * 63}y'}}", "{'s': 'y'}"]


def test_no_writer_of_delta_changes_the_table(lake: PythonLake) -> None:
    """The log has a feature that no writer knows."""
    publish_delta(lake.table("t"))
    table = DeltaTable(str(folder_of(lake)))
    with pytest.raises(Exception, match="parquetry-readonly"):
        write_deltalake(
            table, pl.DataFrame({"p": [3], "a": [1], "s": ["z"], "d": [0.1]}).to_arrow(), mode="append"
        )
    with pytest.raises(Exception, match="parquetry-readonly"):
        table.delete("a = 1")
    assert len(by_delta_rs(str(folder_of(lake)), None)) == 3


def test_a_log_of_another_program_is_left_alone(lake: PythonLake) -> None:
    """Publishing adds no commit to it."""
    log = folder_of(lake) / "_delta_log"
    log.mkdir()
    (log / f"{0:020d}.json").write_text('{"commitInfo": {}}\n')
    with pytest.raises(UnsupportedError, match="by another program"):
        publish_delta(lake.table("t"))
    (log / f"{0:020d}.json").write_text('{"commitInfo": {"parquetry.version": 1, "parquetry.table": "00"}}\n')
    with pytest.raises(UnsupportedError, match="of another table"):
        publish_delta(lake.table("t"))
    assert [path.name for path in log.iterdir()] == [f"{0:020d}.json"]


def test_the_log_is_not_taken_for_data(lake: PythonLake) -> None:
    """A sync finds nothing new in the folder."""
    publish_delta(lake.table("t"))
    assert lake.sync("t").version == 2


def test_a_table_can_be_followed(lake: PythonLake) -> None:
    """Each later version is published with its commit; a failure is logged, and does not undo the commit."""
    with parquetry.open(lake.folder) as catalog:
        assert catalog.publish_delta("t", follow=True) == 3
        drop(lake, 1)
        assert [kinds(lake, n)[1:] for n in (3, 4)] == [[], ["remove"]]
        lake.put("t", "p=3/f.parquet", pa.table({"A": [1]}))
        assert lake.sync("t").version == 5
        assert len(list((folder_of(lake) / "_delta_log").iterdir())) == 5
        with pytest.raises(UnsupportedError, match="distinguish letter case"):
            catalog.publish_delta("t")


def test_the_command_publishes(lake: PythonLake, capsys: pytest.CaptureFixture[str]) -> None:
    """It needs no Spark, and says how many versions the log got."""
    with pytest.raises(SystemExit) as ended:
        main(["publish", "t", "--format", "delta", "-w", str(lake.folder)])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("3 versions added to file:")
    assert len(by_polars(str(folder_of(lake)), None)) == 3
