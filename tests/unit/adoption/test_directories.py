"""Adoption takes in Hive's directories of skewed values, as far as their files prove the values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquetry
from parquetry.adoption.compare import Difference
from parquetry.layout.cells import REST
from parquetry.layout.skew_map import DEFAULT_DIRECTORY
from parquetry.metastore import (
    ArrangementSpec,
    AutoSkew,
    FileRecord,
    Metastore,
    SkewMap,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune.select import select_files
from parquetry.store import MemoryStore
from parquetry.verification.tuple_check import lacks_tuples

COLUMNS = (TableColumn("x", "string"), TableColumn("Y", "integer"), TableColumn("v", "integer"))
ARROW = {
    "string": pa.string(),
    "integer": pa.int32(),
    "double": pa.float64(),
    "decimal(5,2)": pa.decimal128(5, 2),
    "date": pa.date32(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
}
NULL = "__HIVE_DEFAULT_PARTITION__"
REST_OF_TWO = f"{DEFAULT_DIRECTORY}/{DEFAULT_DIRECTORY}"
NOT_READ = "directories below a partition are not read. Move the files up."


class Tree:
    """A table over a tree of Parquet files that others write."""

    def __init__(
        self, root: Path, columns: Sequence[TableColumn] = COLUMNS, by: Sequence[str] = ("ds",)
    ) -> None:
        self.root = root
        self.path = root / "t"
        self.columns = columns
        with open_metastore(str(root), create=True) as metastore:
            every = (*columns, *(TableColumn(name, "integer") for name in by))
            metastore.create_table("default", "t", TableMetadata(every, tuple(by), "parquet", str(self.path)))

    def internal(self, value: Any) -> Any:
        return (value - date(1970, 1, 1)).days if isinstance(value, date) else value

    def put(
        self, path: str, *rows: Sequence[Any], names: Sequence[str] | None = None, dictionary: bool = True
    ) -> None:
        columns = [column for column in self.columns if names is None or column.name in names]
        found = zip(*rows, strict=True)
        arrays = {
            column.name: pa.array(values, ARROW[column.type])
            for column, values in zip(columns, found, strict=True)
        }
        place = self.path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(arrays), place, use_dictionary=dictionary)

    def sync(self, **options: Any) -> list[Difference]:
        with parquetry.open(self.root) as catalog:
            return catalog.sync("t", **options)

    def metastore(self) -> Metastore:
        return open_metastore(str(self.root))

    def partition(self, *values: int) -> PartitionSnapshot:
        with self.metastore() as metastore:
            found = metastore.table("default", "t").partition(values)
            assert found is not None
            assert found.files is not None
            return found

    def cells(self, *values: int) -> dict[str, Any]:
        """Return for each file of a partition the tuple of its cell, or what else is recorded of it."""
        with self.metastore() as metastore:
            part = metastore.table("default", "t").partition(values)
            assert part is not None
            skew = part.arrangement.skew
            return {
                file.path: file.cell if file.cell in (None, REST) or skew is None else skew.cells[file.cell]
                for file in part.files
            }

    def read(self, *texts: str) -> set[str]:
        """Return the files that a query on all partitions reads."""
        with self.metastore() as metastore:
            table = metastore.table("default", "t")
            types = {column.name: column.column_type for column in table.metadata.columns}
            found = select_files(table, [parse_filter(text, types) for text in texts])
            return {file.file.path for file in found.files}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_directories_become_cells_where_their_files_prove_it(tree: Tree) -> None:
    """A file gets its directory's cell if its statistics prove that all its rows belong there.

    Every query reads the other files, as far as their statistics allow.
    """
    tree.put("ds=1/x=6/a", ("6", 1, 1), ("6", 2, 2))
    tree.put("ds=1/x=6_copy_1/a", ("6", 3, 3))
    tree.put("ds=1/x=7_copy_1/a", ("7_copy_1", 3, 3))
    tree.put(f"ds=1/x={NULL}/empty", ("", 3, 3))
    tree.put(f"ds=1/x={NULL}/null", (None, 3, 3))
    tree.put(f"ds=1/x={NULL}/both", (None, 3, 3), ("", 3, 3))
    tree.put("ds=1/x=a%2Fb/a", ("a/b", 1, 1))
    tree.put("ds=1/x=9/wrong", ("1", 1, 1), ("2", 2, 2))
    tree.put("ds=1/x=9/mixed", ("1", 1, 1), ("95", 2, 2))
    tree.put("ds=1/x=8/other", ("3", 1, 1))
    tree.put(f"ds=1/x={'l' * 80}/long", ("l" * 80, 1, 1))
    tree.put(f"ds=1/{DEFAULT_DIRECTORY}/all", ("", 1, 1), ("z", 2, 2))
    tree.put(f"ds=1/{DEFAULT_DIRECTORY}_copy_1/above", ("b", 1, 1), ("z", 2, 2))
    told = tree.sync()
    assert [(each.action, each.partition, each.files, each.rows) for each in told[:1]] == [
        ("added", "ds=1", 13, 19)
    ]
    assert {each.detail.partition(":")[0] for each in told[1:] if each.detail} == {
        "ds=1/x=9/wrong",
        "ds=1/x=8/other",
    }
    assert tree.cells(1) == {
        "x=6/a": ("6",),
        "x=6_copy_1/a": ("6",),
        "x=7_copy_1/a": ("7_copy_1",),
        f"x={NULL}/empty": ("",),
        f"x={NULL}/null": (None,),
        f"x={NULL}/both": None,
        "x=a%2Fb/a": ("a/b",),
        "x=9/wrong": None,
        "x=9/mixed": None,
        "x=8/other": None,
        f"x={'l' * 80}/long": None,
        f"{DEFAULT_DIRECTORY}/all": None,
        f"{DEFAULT_DIRECTORY}_copy_1/above": REST,
    }
    assert set(tree.partition(1).arrangement.skew.cells) == {(None,), ("",), ("6",), ("7_copy_1",), ("a/b",)}  # type: ignore[union-attr]
    default = {f"{DEFAULT_DIRECTORY}/all"}
    assert tree.read("x = '6'") == {"x=6/a", "x=6_copy_1/a", "x=9/mixed", *default}
    assert tree.read("x IS NULL") == {f"x={NULL}/null", f"x={NULL}/both"}
    assert tree.read("x = ''") == {f"x={NULL}/empty", f"x={NULL}/both", *default}
    assert tree.read("x = 'a/b' OR x = '7_copy_1'") == {"x=a%2Fb/a", "x=7_copy_1/a", "x=9/mixed", *default}
    assert tree.read("x = '3'") == {"x=8/other", "x=9/mixed", *default}
    assert tree.sync() == []


def test_several_columns_make_as_many_levels(tree: Tree) -> None:
    """A cell is a tuple; its columns have the names of the files, not the spelling of the directories."""
    other = f"{DEFAULT_DIRECTORY}/{DEFAULT_DIRECTORY}"
    tree.put("ds=1/y=7/x=a b/f", ("a b", 7, 1))
    tree.put(f"ds=1/y={NULL}/x=c/f", ("c", None, 1))
    tree.put(f"ds=1/{other}/f", ("a b", 1, 1), ("d", 9, 1), (None, 7, 1), ("c", 8, 1))
    tree.put(f"ds=1/{other}/g", ("a b", 1, 1), ("a b", 7, 1))
    tree.put(f"ds=1/{other}_copy_1/above", ("d", 8, 1), ("e", 9, 1))
    tree.put(f"ds=2/{other}/f", ("a b", 1, 1))
    assert [each.action for each in tree.sync()] == ["added", "added"]
    skew = tree.partition(1).arrangement.skew
    assert skew is not None
    assert skew.columns == ("Y", "x")
    assert tree.cells(1) == {
        "y=7/x=a b/f": (7, "a b"),
        f"y={NULL}/x=c/f": (None, "c"),
        f"{other}/f": REST,
        f"{other}/g": None,
        f"{other}_copy_1/above": REST,
    }
    assert tree.partition(2).arrangement == ArrangementSpec()
    assert tree.cells(2) == {f"{other}/f": None}
    assert tree.read("x = 'a b'", "Y = 7") == {"y=7/x=a b/f", f"{other}/g"}
    assert tree.read("Y = 8") == {f"{other}/f", f"{other}_copy_1/above"}
    assert tree.sync() == []


@pytest.mark.parametrize(
    ("paths", "refused"),
    [
        (["x=1/f", "Y=2/f"], ["Y=2", "x=1"]),
        (["x=1/f", "x=2/Y=3/f"], ["x=1", "x=2"]),
        (["x=1/x=1/f"], ["x=1"]),
        (["x=1/backup/f"], ["x=1"]),
        (["x=1/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME/f"], ["x=1"]),
        (["z=1/f"], ["z=1"]),
        (["backup/f"], ["backup"]),
        (["x/f"], ["x"]),
        (["x=/f"], ["x="]),
    ],
)
def test_other_directories_are_told_of_and_not_read(tree: Tree, paths: list[str], refused: list[str]) -> None:
    """A sync reports directories of differing depth or columns, or with other names.

    It reads no file there, and reports them again each time.
    """
    tree.put("ds=1/f", ("1", 1, 1))
    for path in paths:
        tree.put(f"ds=1/{path}", ("1", 2, 3))
    added, *ignored = tree.sync()
    assert (added.action, added.files) == ("added", 1)
    assert [(each.action, each.detail) for each in ignored] == [
        ("ignored", f"ds=1/{name}: {NOT_READ}") for name in refused
    ]
    assert tree.sync() == ignored


def test_partitions_of_others_are_no_heavy_values(tree: Tree) -> None:
    """A directory named for a column that the files lack is ignored: nothing here reads values from names."""
    tree.put("ds=1/x=1/f", (1, 1), names=("Y", "v"))
    tree.put("ds=1/x=2/f", ("2", 1, 1))
    tree.put("ds=2/x=1/f", (1, 1), names=("Y", "v"))
    told = tree.sync()
    ignored = [("ignored", f"ds={p}/x=1: {NOT_READ}") for p in (1, 2)]
    assert [(each.action, each.partition, each.files) for each in told[:2]] == [
        ("added", "ds=1", 1),
        ("added", "ds=2", 0),
    ]
    assert [(each.action, each.detail) for each in told[2:]] == ignored
    assert [(each.action, each.detail) for each in tree.sync()] == ignored
    assert tree.cells(1) == {"x=2/f": ("2",)}


@pytest.mark.parametrize(
    ("type", "heavy", "others"),
    [
        ("string", "6", ("", "é", "7", None)),
        ("integer", 6, (-1, 9, None)),
        ("decimal(5,2)", Decimal("1.50"), (Decimal("1.51"), Decimal("-999.99"), Decimal("999.99"))),
        ("date", date(2020, 1, 2), (date(1500, 1, 1), date(2999, 1, 1))),
        ("boolean", True, (False, None)),
        ("binary", b"6", (b"", b"\xff", None)),
    ],
)
@pytest.mark.parametrize("dictionary", [True, False])
def test_all_other_rows_are_looked_at(
    tmp_path: Path, type: str, heavy: Any, others: tuple[Any, ...], dictionary: bool
) -> None:
    """If a skewed value is between a file's minimum and maximum, the file's rows are read.

    The file joins the rest if none of its rows has the value.
    """
    tree = Tree(tmp_path, (TableColumn("x", type), TableColumn("v", "integer")))
    text = {b"6": "6", True: "true"}.get(heavy, heavy)
    tree.put(f"ds=1/x={text}/f", *[(heavy, 1)] * 3)
    for name, values in {"none": others, "some": (*others, heavy)}.items():
        tree.put(f"ds=1/{DEFAULT_DIRECTORY}/{name}", *((value, 1) for value in values), dictionary=dictionary)
    assert [each.action for each in tree.sync()] == ["added"]
    assert tree.cells(1) == {
        f"x={text}/f": ("1.5" if type.startswith("decimal") else tree.internal(heavy),),
        f"{DEFAULT_DIRECTORY}/none": REST,
        f"{DEFAULT_DIRECTORY}/some": None,
    }


def test_rows_are_looked_for_where_all_heavy_values_of_a_column_are_null(tree: Tree) -> None:
    """One file of the rest has a row of the skewed tuple; the other has its values only in different rows."""
    tree.put(f"ds=1/x=a/Y={NULL}/f", ("a", None, 1))
    tree.put(f"ds=1/{REST_OF_TWO}/has", ("a", None, 2), ("z", 5, 3))
    tree.put(f"ds=1/{REST_OF_TWO}/has_not", ("a", 5, 4), ("z", None, 5))
    tree.sync()
    assert tree.cells(1) == {
        f"x=a/Y={NULL}/f": ("a", None),
        f"{REST_OF_TWO}/has": None,
        f"{REST_OF_TWO}/has_not": REST,
    }


def test_days_of_another_calendar_prove_nothing(tmp_path: Path) -> None:
    """A date before 1582 may be in a file as another day, which Spark alone converts."""
    pq.write_table(pa.table({"x": pa.array([1, 2], pa.date32())}), tmp_path / "f")
    lacks = lacks_tuples(str(tmp_path), "parquet")
    assert lacks(FileRecord("f", 1), [TableColumn("x", "date")], [(-141_427,)])
    assert not lacks(FileRecord("f", 1), [TableColumn("x", "date")], [(-141_428,)])


def test_values_that_python_does_not_know_prove_nothing(tmp_path: Path) -> None:
    """Dates beyond its own, among others that it knows, in what is looked for and in the file."""
    column = TableColumn("x", "date")
    for name, days in {"known": [1, 2], "far": [1, 3_000_000]}.items():
        pq.write_table(pa.table({"x": pa.array(days, pa.date32())}), tmp_path / name)
        lacks = lacks_tuples(str(tmp_path), "parquet")
        assert not lacks(FileRecord(name, 1), [column], [(0,), (3_000_000,)])
        assert lacks(FileRecord(name, 1), [column], [(0,)])
        assert not lacks(FileRecord(name, 1), [column], [(1,)])


def test_floats_and_decimals(tmp_path: Path) -> None:
    """A float value is not proved, because statistics leave NaN out.

    A decimal value is proved, however many digits its directory has.
    """
    columns = (TableColumn("f", "double"), TableColumn("d", "decimal(5,2)"))
    tree = Tree(tmp_path, columns, by=())
    tree.put("d=1.5/f", (0.5, Decimal("1.50")))
    tree.put("d=2.00/f", (0.5, Decimal("2.00")))
    tree.put(f"{DEFAULT_DIRECTORY}/f", (0.5, Decimal("3.00")))
    assert [each.action for each in tree.sync()] == ["added"]
    assert tree.cells() == {"d=1.5/f": ("1.5",), "d=2.00/f": ("2",), f"{DEFAULT_DIRECTORY}/f": REST}
    assert tree.read("d = 1.5") == {"d=1.5/f"}
    other = Tree(tmp_path / "other", columns, by=())
    other.put("f=0.5/f", (0.5, Decimal("1.50")))
    assert [each.action for each in other.sync()] == ["added"]
    assert other.cells() == {"f=0.5/f": None}


def test_later_files(tree: Tree) -> None:
    """Later syncs add files to a directory that has a cell, and to a new directory.

    Files of the rest lose their cell if they may have rows of the new value. Deleted, changed, dropped and
    readopted files follow, too.
    """
    tree.put("ds=1/x=1/f", ("1", 1, 1))
    tree.put(f"ds=1/{DEFAULT_DIRECTORY}/low", ("2", 1, 1), ("3", 1, 1), ("4", 1, 1))
    tree.put(f"ds=1/{DEFAULT_DIRECTORY}/high", ("5", 1, 1), ("7", 1, 1))
    assert [each.action for each in tree.sync()] == ["added"]
    rest = {f"{DEFAULT_DIRECTORY}/low": REST, f"{DEFAULT_DIRECTORY}/high": REST}
    assert tree.cells(1) == {"x=1/f": ("1",), **rest}
    tree.put("ds=1/x=1/g", ("1", 2, 2))
    assert [each.detail for each in tree.sync()] == ["1 read, 0 gone"]
    assert tree.cells(1) == {"x=1/f": ("1",), "x=1/g": ("1",), **rest}
    tree.put("ds=1/x=3/f", ("3", 2, 2))
    assert [each.detail for each in tree.sync()] == ["1 read, 0 gone"]
    rest[f"{DEFAULT_DIRECTORY}/low"] = None
    assert tree.cells(1) == {"x=1/f": ("1",), "x=1/g": ("1",), "x=3/f": ("3",), **rest}
    assert tree.read("x = '3'") == {"x=3/f", f"{DEFAULT_DIRECTORY}/low"}
    tree.put("ds=1/x=1/g", ("1", 2, 2), ("2", 2, 2))
    (tree.path / "ds=1" / "x=3" / "f").unlink()
    assert [each.detail for each in tree.sync()] == ["1 read, 2 gone"]
    assert tree.cells(1) == {"x=1/f": ("1",), "x=1/g": None, **rest}
    assert tree.sync() == []
    with tree.metastore() as metastore:
        transaction = Transaction(metastore.table("default", "t"), "drop")
        transaction.drop((1,))
        commit(transaction)
    assert [each.action for each in tree.sync()] == ["ignored"]
    assert [each.action for each in tree.sync(readopt=True)] == ["added"]
    assert tree.cells(1) == {"x=1/f": ("1",), "x=1/g": None} | dict.fromkeys(rest, REST)
    assert tree.sync() == []


def test_a_map_that_is_known_is_kept(tree: Tree) -> None:
    """A new partition gets the table's if it is over the same columns; the partition's own locations stay."""
    skew = SkewMap(("x",), (("30",), ("1",)), directories=True)
    with tree.metastore() as metastore:
        table = metastore.table("default", "t")
        transaction = Transaction(table, "alter")
        transaction.set_metadata(msgspec.structs.replace(table.metadata, arrangement=ArrangementSpec(skew)))
        commit(transaction)
    tree.put("ds=1/x=1/f", ("1", 1, 1))
    tree.put("ds=1/x=2/f", ("2", 1, 1))
    tree.put("ds=2/y=2/f", ("2", 2, 1))
    tree.put("ds=3/f", ("2", 2, 1))
    assert [each.action for each in tree.sync()] == ["added"] * 3
    assert tree.partition(1).arrangement.skew == SkewMap(("x",), (("30",), ("1",), ("2",)), directories=True)
    assert tree.partition(2).arrangement.skew == skew
    assert tree.cells(2) == {"y=2/f": None}
    assert tree.cells(3) == {"f": REST}
    assert tree.sync() == []


def test_a_map_that_was_to_be_measured_is_what_directories_say(tree: Tree) -> None:
    """A partition with files is not measured any more; one without still will be."""
    skew = SkewMap(("x",), directories=True, auto=AutoSkew(0.1, 4))
    with tree.metastore() as metastore:
        table = metastore.table("default", "t")
        transaction = Transaction(table, "alter")
        transaction.set_metadata(msgspec.structs.replace(table.metadata, arrangement=ArrangementSpec(skew)))
        commit(transaction)
    tree.put("ds=1/x=1/f", ("1", 1, 1))
    tree.put("ds=2/f", ("1", 1, 1))
    (tree.path / "ds=3").mkdir()
    assert [each.action for each in tree.sync()] == ["added"] * 3
    assert tree.partition(1).arrangement.skew == SkewMap(("x",), (("1",),), directories=True)
    assert tree.partition(2).arrangement.skew == SkewMap(("x",), (), directories=True)
    assert tree.cells(2) == {"f": REST}
    assert tree.partition(3).arrangement.skew == skew
    assert tree.sync() == []


def test_the_tables_own_files_in_directories_differ_from_nothing(tree: Tree) -> None:
    """A sync leaves own files alone, also where no column has the name of the directories.

    Vacuum and fsck leave them alone, too; vacuum deletes only leftovers.
    """
    skew = SkewMap(("x", "gone"), (("1", 1),), directories=True)
    columns = (*COLUMNS, TableColumn("gone", "integer"))
    with tree.metastore() as metastore:
        table = metastore.table("default", "t")
        by = table.metadata.columns[-1:]
        transaction = Transaction(table, "insert")
        transaction.set_metadata(msgspec.structs.replace(table.metadata, columns=(*columns, *by)))
        names = [
            f"{folder}/pq-{table.id.hex()}-1-{n}.parquet"
            for n, folder in enumerate(("x=1/gone=1", REST_OF_TWO))
        ]
        for name in names:
            tree.put(f"ds=1/{name}", ("1", 1, 1))
        sizes = [(tree.path / "ds=1" / name).stat().st_size for name in names]
        files = [
            FileRecord(name, size, 1, cell=cell)
            for name, size, cell in zip(names, sizes, (0, REST), strict=True)
        ]
        transaction.replace((1,), files, arrangement=ArrangementSpec(skew))
        table = commit(transaction)
        transaction = Transaction(table, "alter")
        transaction.set_metadata(msgspec.structs.replace(table.metadata, columns=(*COLUMNS, *by)))
        commit(transaction)
    leftover = f"x=2/gone=3/pq-{table.id.hex()}-0-0.parquet"
    tree.put(f"ds=1/{leftover}", ("2", 1, 1))
    arrangement = tree.partition(1).arrangement
    assert [(each.action, each.detail) for each in tree.sync()] == [("ignored", f"ds=1/x=2: {NOT_READ}")]
    assert tree.partition(1).arrangement == arrangement
    assert tree.cells(1) == {names[0]: ("1", 1), names[1]: REST}
    with parquetry.open(tree.root) as catalog:
        assert catalog.fsck("t") == []
        os.utime(tree.path / "ds=1" / leftover, (1e9, 1e9))
        later = datetime.now(UTC) + timedelta(minutes=1)
        assert [each.path for each in catalog.vacuum("t", later, allow_recent=True) if each.path] == [
            str(tree.path / "ds=1" / leftover)
        ]
        assert not (tree.path / "ds=1" / "x=2").exists()
        assert (tree.path / "ds=1" / names[0]).exists()
        with tree.metastore() as metastore:
            transaction = Transaction(metastore.table("default", "t"), "drop")
            transaction.drop((1,))
            commit(transaction)
        assert len([each.path for each in catalog.vacuum("t", later, allow_recent=True) if each.path]) == 2
    assert not (tree.path / "ds=1").exists()


def test_other_verbs_know_files_in_directories(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A rename, a rollback and a restored dump keep the files' cells; fsck reports a missing file."""
    tree.put("ds=1/x=1/f", ("1", 1, 1))
    tree.put(f"ds=1/{DEFAULT_DIRECTORY}/f", ("2", 1, 1))
    tree.sync()
    cells = tree.cells(1)
    assert cells == {"x=1/f": ("1",), f"{DEFAULT_DIRECTORY}/f": REST}
    folder = tmp_path_factory.mktemp("dumped")
    with tree.metastore() as metastore:
        dump(metastore, folder / "dump")
        restored = Metastore(MemoryStore(), str(tree.root))
        restore(restored, folder / "dump")
        part = restored.table("default", "t").partition((1,))
        assert part is not None
        assert {file.path: file.cell for file in part.files} == {"x=1/f": 0, f"{DEFAULT_DIRECTORY}/f": REST}
        transaction = Transaction(metastore.table("default", "t"), "rename")
        transaction.rename((1,), (2,))
        commit(transaction)
    assert tree.cells(2) == cells
    assert tree.sync() == []
    tree.put("ds=1/x=1/g", ("1", 1, 1))
    assert [each.partition for each in tree.sync()] == ["ds=2"]
    assert tree.cells(2) == cells | {"x=1/g": ("1",)}
    with parquetry.open(tree.root) as catalog:
        catalog.rollback("t", 1)
        assert tree.cells(1) == cells
        assert catalog.fsck("t") == []
        (tree.path / "ds=1" / "x=1" / "f").unlink()
        # a sync would adopt the other file again, which this version does not list
        assert [each.kind for each in catalog.fsck("t")] == ["missing file", "foreign file"]
