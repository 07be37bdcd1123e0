"""Large values have a table of their own in a SQLite file, and none outlives its row.

Files of older libraries are read and written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import given, settings, strategies as st

from parquetry.errors import MetastoreVersionError
from parquetry.store import SQLiteStore, sqlite_layout
from parquetry.store.groups import Groups
from parquetry.store.sqlite_layout import MAX_ROW_BYTES_IN_PAGE, MAX_VALUE_BYTES_IN_VERSION_0
from tests.support.effort import examples
from tests.support.stores.sqlite_files import OLD_PUT, check_values_apart, make_old, version

ROOT = Path(__file__).parents[2]
HUGE = b"h" * (MAX_VALUE_BYTES_IN_VERSION_0 + 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    """A store in a new file."""
    with contextlib.closing(SQLiteStore(tmp_path / "rows.sqlite")) as opened:
        yield opened


@pytest.fixture
def old(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of an older library to a file that it has made, with three rows."""
    path = make_old(tmp_path / "old.sqlite", (b"a", b"1"), (b"b", b"2" * 400_000), (b"c", b"3"))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


# -- no value without a row, no row without its value

keys = st.sampled_from([b"a", b"b", b"bb", b"c" * 30, b"d"])
values = st.builds(
    lambda letter, size: letter * size,
    st.sampled_from([b"x", b"y"]),
    st.sampled_from(
        [
            1,
            MAX_ROW_BYTES_IN_PAGE - 30,
            MAX_ROW_BYTES_IN_PAGE - 1,
            MAX_ROW_BYTES_IN_PAGE,
            MAX_ROW_BYTES_IN_PAGE + 1,
            3 * MAX_ROW_BYTES_IN_PAGE,
        ]
    ),
)
writes = st.one_of(
    st.tuples(st.just("put"), st.lists(st.tuples(keys, values), max_size=6)),
    st.tuples(st.just("delete"), st.lists(keys, max_size=3)),
    st.tuples(st.just("swap"), st.tuples(keys, st.booleans(), st.none() | values)),
)


@pytest.mark.parametrize("form", ["new", "old", "raised"])
@settings(max_examples=examples(60))
@given(first=st.dictionaries(keys, values), calls=st.lists(writes, max_size=12))
def test_values_go_with_their_rows(
    form: Literal["new", "old", "raised"], first: dict[bytes, bytes], calls: list[tuple[str, list]]
) -> None:
    """After any calls, also with repeated keys, a file of any form equals a dict; no value is left over."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "rows.sqlite"
        if form != "new":
            make_old(path, *first.items())
        patch.setattr(
            sqlite_layout,
            "MAX_VALUE_BYTES_IN_VERSION_0",
            2 * MAX_ROW_BYTES_IN_PAGE if form == "raised" else 10 * MAX_ROW_BYTES_IN_PAGE,
        )
        with contextlib.closing(SQLiteStore(path)) as store:
            if form == "new":
                store.put_many(first.items())
            model = dict(first)
            inherited = 0 if form == "new" else len(first)
            for kind, what in calls:
                if kind == "put":
                    store.put_many(iter(what))
                    model.update(what)
                elif kind == "delete":
                    store.delete_many(iter(what))
                    for key in what:
                        model.pop(key, None)
                else:
                    key, as_expected, value = what
                    expected = model.get(key) if as_expected else b"x" * MAX_ROW_BYTES_IN_PAGE + b"z"
                    assert store.compare_and_set(key, expected, value) is as_expected
                    if as_expected:
                        model.pop(key, None)
                        model.update({} if value is None else {key: value})
                assert list(store.scan(b"", None)) == sorted(model.items())
                if not version(path):  # what is beside its key by now may stay there when the file is raised
                    inherited = max(inherited, len(model))
            assert store.get_many(sorted(model)) == [value for _, value in sorted(model.items())]
        if version(path):
            count = check_values_apart(path, inherited=inherited)
            large = sum(len(key) + len(value) > MAX_ROW_BYTES_IN_PAGE for key, value in model.items())
            assert count == large if form == "new" else count <= large
        else:
            assert form != "new"


def test_a_failed_batch_leaves_no_values(store: SQLiteStore) -> None:
    """A batch that ends with an error writes nothing, neither rows nor values."""

    def rows() -> Iterator[tuple[bytes, bytes]]:
        yield b"a", HUGE
        yield b"b", HUGE
        raise KeyError

    store.put_many([(b"a", HUGE + b"before")])
    with pytest.raises(KeyError):
        store.put_many(rows())
    assert list(store.scan(b"", None)) == [(b"a", HUGE + b"before")]
    assert check_values_apart(Path(store.path)) == 1


def test_no_row_overflows_its_page(store: SQLiteStore) -> None:
    """A row of the greatest size that is kept together takes a quarter of a page.

    A larger row takes no more of the rows' pages.
    """
    for more in (0, 1):
        key = b"%d%04d"
        store.put_many((key % (more, n), b"v" * (MAX_ROW_BYTES_IN_PAGE - 5 + more)) for n in range(200))
    store.delete_many(key % (1, n) for n in range(200))
    connection = store._connection()
    connection.execute("VACUUM")
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    assert 200 / 4 <= pages <= 200 / 4 + 10


def test_groups_of_large_rows(store: SQLiteStore) -> None:
    """One row of each group is found where large values stand apart."""
    rows = [(b"%02d%c" % (group, age), b"v" * (age * 900)) for group in range(20) for age in range(1, 90)]
    store.put_many(rows)
    groups = Groups(1, b"\x05")
    found = list(store.scan_ranges([(b"", None)], groups=groups))
    assert [row for row in found if row[0][-1] == 5] == [row for row in rows if row[0][-1] == 5]
    assert set(found) <= set(rows)
    assert len(found) < 500


# -- files of older libraries


def test_an_old_file_stays_old_until_it_has_to_change(old: sqlite3.Connection, tmp_path: Path) -> None:
    """Rows that an older library may have written leave the schema unchanged: both go on with the file."""
    path = tmp_path / "old.sqlite"
    schema = old.execute("SELECT * FROM sqlite_master").fetchall()
    with contextlib.closing(SQLiteStore(path, create=False)) as store:
        store.put_many([(b"d", b"4" * MAX_VALUE_BYTES_IN_VERSION_0), (b"a", b"one")])
        assert store.compare_and_set(b"c", b"3", b"5" * MAX_VALUE_BYTES_IN_VERSION_0)
        store.delete_many([b"b"])
        assert old.execute("SELECT v FROM kv WHERE k = ?", (b"c",)).fetchone() == (
            b"5" * MAX_VALUE_BYTES_IN_VERSION_0,
        )
        old.execute(OLD_PUT, (b"e", b"old"))
        assert store.get(b"e") == b"old"
    assert version(path) == 0
    assert old.execute("SELECT * FROM sqlite_master").fetchall() == schema


@pytest.mark.parametrize("by", ["put", "swap"])
def test_an_old_file_is_raised(old: sqlite3.Connection, tmp_path: Path, by: str) -> None:
    """The first larger value raises the file's version; the other values stay where they were.

    Stores opened before and after it find all values.
    """
    path = tmp_path / "old.sqlite"
    rows = [(b"a", HUGE), (b"b", b"2" * 400_000), (b"c", b"3")]
    with (
        contextlib.closing(SQLiteStore(path, create=False)) as store,
        contextlib.closing(SQLiteStore(path, create=False)) as other,
    ):
        assert other.get(b"a") == b"1"
        if by == "put":
            store.put_many(rows[:1])
        else:
            assert store.compare_and_set(b"a", b"1", HUGE)
        for each in (store, other, SQLiteStore(path, create=False)):
            assert list(each.scan(b"", None)) == rows
            assert each.get_many([b"a", b"b", b"c", b"d"]) == [*(value for _, value in rows), None]
        assert check_values_apart(path, inherited=1) == 1
        other.put_many([(b"b", b"small"), (b"c", HUGE)])
        assert other.compare_and_set(b"a", HUGE, None)
        assert check_values_apart(path) == 1
        assert list(store.scan(b"", None)) == [(b"b", b"small"), (b"c", HUGE)]
    assert version(path) == 1


def test_older_libraries_read_a_raised_file_and_cannot_write_it(
    old: sqlite3.Connection, tmp_path: Path
) -> None:
    """The statements of a library that knows only version 0 find all values; its writes fail and say why."""
    old.execute("SELECT v FROM kv WHERE k = ?", (b"a",)).fetchone()
    store = SQLiteStore(tmp_path / "old.sqlite", create=False)
    store.put_many([(b"a", HUGE)])
    rows = [(b"a", HUGE), (b"b", b"2" * 400_000), (b"c", b"3")]
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as later:
        for connection in (old, later):
            assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'kv'").fetchone() == (1,)
            assert [
                connection.execute("SELECT v FROM kv WHERE k = ?", (key,)).fetchone() for key, _ in rows
            ] == [(value,) for _, value in rows]
            for order, expected in (("ASC", rows[:2]), ("DESC", rows[1::-1])):
                scan = f"SELECT k, v FROM kv WHERE k >= ? AND k < ? ORDER BY k {order} LIMIT ?"
                assert connection.execute(scan, (b"a", b"c", 64)).fetchall() == expected
            for statement, arguments in (
                (OLD_PUT, (b"a", b"new")),
                ("INSERT INTO kv (k, v) VALUES (?, ?) ON CONFLICT (k) DO NOTHING", (b"n", b"new")),
                ("UPDATE kv SET v = ? WHERE k = ? AND v = ?", (b"new", b"a", HUGE)),
                ("DELETE FROM kv WHERE k = ? AND v = ?", (b"c", b"3")),
                ("DELETE FROM kv WHERE k = ?", (b"c",)),
            ):
                connection.execute("BEGIN IMMEDIATE")
                with pytest.raises(
                    sqlite3.Error, match=r"a later Parquetry has changed|cannot UPSERT a view"
                ):
                    connection.execute(statement, arguments)
                connection.execute("ROLLBACK")
    assert list(store.scan(b"", None)) == rows
    store.close()


def test_the_oldest_metastore_is_raised(tmp_path: Path) -> None:
    """A metastore that an older library wrote holds the same rows after a large one has raised its file."""
    path = Path(shutil.copy(ROOT / "tests" / "golden" / "format-1" / "metastore.sqlite", tmp_path))
    with contextlib.closing(SQLiteStore(path, create=False)) as store:
        rows = list(store.scan(b"", None))
        store.put_many([(b"\xff", HUGE)])
        assert list(store.scan(b"", None)) == [*rows, (b"\xff", HUGE)]
        store.delete_many([b"\xff"])
        assert list(store.scan(b"", None)) == rows
    assert len(rows) > 50
    assert check_values_apart(path, inherited=len(rows)) == 0


def test_a_later_version_is_refused(store: SQLiteStore) -> None:
    """Tables of a version to come are neither read by who opens the file, nor written by who has it open."""
    store.put_many([(b"k", b"v")])
    with contextlib.closing(sqlite3.connect(store.path)) as later:
        later.execute("PRAGMA user_version = 2")
    with pytest.raises(MetastoreVersionError, match=r"rows\.sqlite has tables of version 2, this is"):
        SQLiteStore(store.path)
    with pytest.raises(MetastoreVersionError, match="version 2"):
        store.put_many([(b"k", b"w")])
    assert store.get(b"k") == b"v"


# -- several processes

REPLACE = """
import random, sys
from parquetry.store.sqlite import SQLiteStore
from tests.support.effort import examples
store = SQLiteStore(sys.argv[1], create=False)
chance = random.Random(int(sys.argv[2]))
keys = [b"a", b"b", b"c"]
for _ in range(120):
    some = [(key, b"%d" % chance.randrange(10) * chance.choice([1, 4000, 20_000, 90_000])) for key in keys]
    kind = chance.choice(["put", "swap", "delete"])
    if kind == "put":
        store.put_many(some)
    elif kind == "swap":
        key, value = chance.choice(some)
        store.compare_and_set(key, store.get(key), chance.choice([value, None]))
    else:
        store.delete_many(chance.sample(keys, 1))
    for key, value in list(store.scan(b"", None)) + [(key, store.get(key) or b"0") for key in keys]:
        assert value == value[:1] * len(value) and len(value) in (1, 4000, 20_000, 90_000), key
"""


@pytest.mark.parametrize("form", ["new", "old"])
def test_processes_replace_each_other_s_values(tmp_path: Path, form: str) -> None:
    """Processes that read and replace the same rows, small and large, see whole values; none is left over."""
    path = tmp_path / "rows.sqlite"
    if form == "old":
        make_old(path, (b"a", b"0"))
    else:
        SQLiteStore(path).close()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", REPLACE, str(path), str(seed)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        for seed in range(3)
    ]
    assert [worker.wait(120) for worker in workers] == [0, 0, 0]
    assert check_values_apart(path) <= 3
