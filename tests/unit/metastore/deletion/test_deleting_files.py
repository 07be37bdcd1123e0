"""A drop, a purge and a vacuum delete exactly the files that they should.

The tests create each file, and look for each one afterwards.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pyarrow.fs as pafs
import pytest

from parquetry.errors import LocationTakenError
from parquetry.metastore import ArrangementSpec, FileRecord, SkewMap, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.deletion.claims import claims, require_free, require_outside
from parquetry.metastore.deletion.dropped_files import DroppedTableFiles, purge
from parquetry.metastore.deletion.file_access import FileAccess, RealPaths
from parquetry.metastore.results import Removed
from parquetry.metastore.storage.keyspace import metadata_key, partition_prefix, prefix_range
from parquetry.metastore.vacuuming.clocks import HOUR_MS
from parquetry.metastore.vacuuming.vacuum import vacuum
from tests.support.stores.metastores import metadata
from tests.support.tables.lakes import NOW, TableLake

KEY = (1, "a")
OTHER = (2, "b")
FOLDER = "d=1/s=a"
TWO_DAYS_S = 2 * 24 * 60 * 60


def tree(folder: Path) -> set[str]:
    """Return all that is below a folder, directories with a slash; links are not followed."""
    found = set()
    for path, folders, files in os.walk(folder):
        here = Path(path).relative_to(folder)
        found |= {f"{here / name}/" for name in folders}
        found |= {str(here / name) for name in files}
    return found


def own(table: TableSnapshot, name: str) -> str:
    """Return the name of a file that was written for a table."""
    return f"pq-{table.id.hex()}-{name}.parquet"


def own_name(lake: TableLake, name: str) -> str:
    return own(lake.table(), name)


def put(path: Path, text: str = "x") -> FileRecord:
    """Write a file, and return it as its partition lists it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return FileRecord(path.name, len(text), 1, path.stat().st_mtime_ns // 1_000_000)


def another(
    lake: TableLake,
    name: str,
    location: str | Path,
    *,
    external: bool = False,
    files: dict[tuple[int, str], Iterable[FileRecord]] | None = None,
    place: str | None = None,
) -> TableSnapshot:
    """Make a further table of the metastore, as a version before claims were looked at could."""
    table = lake.metastore.create_table("default", name, metadata(location=str(location), external=external))
    transaction = Transaction(table, "fill")
    for key, each in (files or {}).items():
        transaction.add(key, place, list(each))
    return commit(transaction)


def drop(lake: TableLake, name: str = "t") -> list[str]:
    doomed = DroppedTableFiles(lake.metastore.table("default", name))
    lake.metastore.drop_table("default", name)
    return doomed.delete()


def names(removed: list[Removed]) -> set[tuple[str, str]]:
    return {(row.kind, Path(row.path).name) for row in removed if row.path is not None}


# -- dropping


@pytest.mark.parametrize("external", [True, False])
@pytest.mark.parametrize("written", [True, False])
def test_a_place_that_cannot_be_reached(tmp_path: Path, external: bool, written: bool) -> None:
    """Dropping a table at an unreachable location reports a failure.

    An external table without a commit reports none, as it has no files there.
    """
    lake = TableLake(tmp_path)
    place = "nowhere://bucket/t"
    lake.metastore.create_table("default", "far", metadata(location=place, external=external))
    if written:
        table = lake.metastore.table("default", "far")
        transaction = Transaction(table, "append")
        transaction.append(KEY, [FileRecord(own(table, "f"), 1, 1)])
        commit(transaction)
    failures = drop(lake, "far")
    assert bool(failures) is (written or not external)
    assert all("nowhere" in failure for failure in failures)


def test_a_managed_table_takes_its_own_with_it(tmp_path: Path) -> None:
    """Dropping a managed table deletes files of all versions, adopted files, and files of failed writes.

    Their checksums go, too, and foreign files that were never adopted stay.
    """
    lake = TableLake(tmp_path)
    lake.append(KEY, "old")
    lake.append(OTHER, "adopted", own=False)
    lake.append((3, "c"), "adopted before", own=False)
    lake.replace(KEY, "new")
    lake.drop((3, "c"))
    lake.file(OTHER, "failed")
    for path in list(lake.location.rglob("*")):
        if path.is_file():
            put(path.with_name(f".{path.name}.crc"))
    put(lake.location / FOLDER / f".{own(lake.table(), 'gone')}.crc")
    (lake.location / "empty" / "below").mkdir(parents=True)
    put(tmp_path / "beside")
    assert drop(lake) == []
    assert tree(tmp_path) == {"beside"}

    lake = TableLake(tmp_path / "2")
    lake.append(KEY, "mine")
    lake.append(OTHER, "adopted", own=False)
    put(lake.location / "README")
    put(lake.location / FOLDER / "theirs.parquet")
    put(lake.location / FOLDER / ".theirs.parquet.crc")
    put(lake.location / "d=2/s=b" / "adopted.more")
    assert drop(lake) == []
    assert tree(lake.location) == {
        "README",
        "d=1/",
        "d=1/s=a/",
        "d=1/s=a/theirs.parquet",
        "d=1/s=a/.theirs.parquet.crc",
        "d=2/",
        "d=2/s=b/",
        "d=2/s=b/adopted.more",
    }


def test_an_external_table_leaves_what_is_live(tmp_path: Path) -> None:
    """Its own dead files go, with checksums and emptied folders; live ones and all that others wrote stay."""
    lake = TableLake(tmp_path, external=True)
    lake.append(KEY, "dead")
    lake.append(OTHER, "dead too")
    lake.append((3, "c"), "theirs", own=False)
    lake.drop((3, "c"))
    lake.replace(KEY, "live")
    lake.drop(OTHER)
    live = own(lake.table(), "live")
    for name in (own(lake.table(), "dead"), live):
        put(lake.location / FOLDER / f".{name}.crc")
    assert drop(lake) == []
    assert tree(lake.location) == {
        "d=1/", "d=1/s=a/", f"d=1/s=a/{live}", f"d=1/s=a/.{live}.crc", "d=3/", "d=3/s=c/", "d=3/s=c/theirs",
    }  # fmt: skip


@pytest.mark.parametrize("external", [False, True])
def test_a_table_that_lies_in_the_folder_of_another(tmp_path: Path, external: bool) -> None:
    """Dropping the outer table keeps the inner table, its empty folder, and the files that both list.

    The inner table can be dropped afterwards.
    """
    lake = TableLake(tmp_path)
    both = put(lake.location / "in" / FOLDER / "both.parquet")
    inner = another(lake, "inner", f"file:{lake.location}/in/", external=external, files={KEY: [both]})
    mine = put(lake.location / "in" / FOLDER / own(inner, "x"))
    transaction = Transaction(inner, "append")
    transaction.append(KEY, [mine])
    commit(transaction)
    another(lake, "empty", lake.location / "void", external=external)
    (lake.location / "void" / "d=7").mkdir(parents=True)
    lake.append(OTHER, "outer")
    transaction = Transaction(lake.table(), "add")
    transaction.add(KEY, f"{lake.location}/in/{FOLDER}", [both])
    commit(transaction)
    kept = {
        f"in/{FOLDER}/both.parquet",
        f"in/{FOLDER}/{mine.path}",
        "in/",
        "in/d=1/",
        f"in/{FOLDER}/",
        "void/",
        "void/d=7/",
    }
    assert drop(lake) == []
    assert tree(lake.location) == kept
    assert drop(lake, "inner") == []
    assert tree(lake.location) == (kept if external else {"void/", "void/d=7/"})


def test_the_inner_of_two_tables(tmp_path: Path) -> None:
    """Dropping it deletes its own files, but none that the outer one lists."""
    lake = TableLake(tmp_path)
    inner = another(lake, "inner", f"{lake.location}/in")
    shared = put(lake.location / "in" / FOLDER / own(inner, "shared"))
    lone = put(lake.location / "in" / FOLDER / own(inner, "lone"))
    transaction = Transaction(inner, "append")
    transaction.append(KEY, [shared, lone])
    commit(transaction)
    transaction = Transaction(lake.table(), "add")
    transaction.add(KEY, f"{lake.location}/in/{FOLDER}", [shared])
    commit(transaction)
    assert drop(lake, "inner") == []
    assert tree(lake.location) == {"in/", "in/d=1/", f"in/{FOLDER}/", f"in/{FOLDER}/{shared.path}"}


def test_two_external_tables_over_one_folder(tmp_path: Path) -> None:
    """Dropping one table deletes its overwritten files.

    A file that any version of the other table has adopted stays.
    """
    lake = TableLake(tmp_path, external=True)
    taken = lake.append(KEY, "taken")
    was_taken = lake.append(KEY, "was taken")
    lake.append(KEY, "overwritten")
    second = another(
        lake, "second", f"file://{lake.location}/", external=True, files={KEY: [taken, was_taken]}
    )
    transaction = Transaction(second, "replace")
    transaction.replace(KEY, [taken])
    commit(transaction)
    lake.replace(KEY, "live")
    assert drop(lake) == []
    assert lake.on_disk() == {"taken", "was taken", "live"}


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Files behind a link out of the folder stay, whichever table lists them.

    A link to a file is deleted, and its target stays.
    """
    lake = TableLake(tmp_path)
    away = tmp_path / "away"
    strangers = put(away / "listed.parquet")
    mine = put(away / own(lake.table(), "written-through"))
    (lake.location / "d=1").mkdir(parents=True)
    (lake.location / FOLDER).symlink_to(away)
    linked = put(away / "target.parquet")
    (lake.location / "d=2/s=b").mkdir(parents=True)
    (lake.location / "d=2/s=b/linked.parquet").symlink_to(away / "target.parquet")
    broken = FileRecord("broken.parquet", 1, 1)
    (lake.location / "d=2/s=b/broken.parquet").symlink_to(away / "nothing")
    within = put(lake.location / "d=3/s=c/within.parquet")
    (lake.location / "d=4").symlink_to(lake.location / "d=3")
    transaction = Transaction(lake.table(), "fill")
    transaction.append(KEY, [strangers, mine])
    transaction.append(OTHER, [FileRecord("linked.parquet", linked.bytes, 1), broken])
    transaction.append((4, "c"), [within])
    commit(transaction)
    assert drop(lake) == []
    assert tree(tmp_path) == {
        "away/", "away/listed.parquet", f"away/{mine.path}", "away/target.parquet", "t/", "t/d=1/", f"t/{FOLDER}/",
        "t/d=4",  # the owner of that link is unknown
    }  # fmt: skip


def test_a_location_that_is_a_link_or_has_dots(tmp_path: Path) -> None:
    """The folder that a location leads to is the table's; the link itself stays, and leads somewhere."""
    real = tmp_path / "real"
    (real / "t").mkdir(parents=True)
    (tmp_path / "t").symlink_to(real / "t")
    lake = TableLake(tmp_path)
    lake.append(KEY, "one")
    lake.append(KEY, "adopted", own=False)
    dotted = another(lake, "dotted", f"file:{tmp_path}/no/../../{tmp_path.name}/u")
    put(tmp_path / "u" / FOLDER / own(dotted, "x"))
    (tmp_path / "no").mkdir()
    assert drop(lake) == drop(lake, "dotted") == []
    assert tree(tmp_path) == {"real/", "real/t/", "t/", "no/"}


def test_names_are_taken_by_the_letter(tmp_path: Path) -> None:
    """Names are compared letter by letter: `a%20b` differs from `a b`, and `T` from `t`.

    The folder `t2` is not below `t`.
    """
    lake = TableLake(tmp_path)
    lake.append(KEY, "mine")
    for name in ("T", "t2", "t%2F", "t "):
        put(tmp_path / name / FOLDER / own(lake.table(), "mine"))
    transaction = Transaction(lake.table(), "add")
    transaction.add((9, "z"), f"file:{tmp_path}/t2/x", [put(tmp_path / "t2" / "x" / "listed")])
    commit(transaction)
    before, mine = tree(tmp_path), own_name(lake, "mine")
    assert drop(lake) == []
    assert before - tree(tmp_path) == {"t/", "t/d=1/", f"t/{FOLDER}/", f"t/{FOLDER}/{mine}"}


def test_what_cannot_be_deleted_is_told(tmp_path: Path) -> None:
    """One file that stays keeps no other from going."""
    lake = TableLake(tmp_path)
    lake.append(KEY, "one")
    lake.append(OTHER, "two")
    stuck = lake.location / FOLDER / f".{own_name(lake, 'one')}.crc"
    (stuck / "in the way").mkdir(parents=True)
    (failure,) = drop(lake)
    assert str(stuck) in failure
    assert "cannot be deleted" in failure
    assert lake.on_disk() == {"one"}


def test_a_table_that_cannot_be_read_keeps_no_other_from_going(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A damaged table does not block the drop of another one.

    The log says that its location is unknown.
    """
    lake = TableLake(tmp_path)
    lake.append(KEY, "one")
    damaged = another(lake, "damaged", tmp_path / "damaged")
    lake.store.put_many([(metadata_key(damaged.id, 0), b"\xc1")])
    assert drop(lake) == []
    assert tree(tmp_path) == set()
    assert "the location of table default.damaged is not known" in caplog.text


# -- purging


def test_purge(tmp_path: Path) -> None:
    """A purge deletes the files of dropped partitions, their checksums and folders.

    A file that another partition lists stays, and so does a file elsewhere.
    """
    lake = TableLake(tmp_path)
    lake.append(KEY, "mine")
    put(lake.location / FOLDER / f".{own_name(lake, 'mine')}.crc")
    shared = lake.append(OTHER, "shared", own=False)
    lake.append(OTHER, "alone", own=False)
    away = put(tmp_path / "away" / "a.parquet")
    transaction = Transaction(lake.table(), "add")
    transaction.add((3, "c"), f"{tmp_path}/away", [away])
    transaction.add((4, "d"), f"file:{lake.location}//d=2/s=b/", [shared])
    commit(transaction)
    before = lake.table()
    locations = [
        f"{part.location}/{file.path}"
        for part in before.partitions()
        if part.values[0] != 4
        for file in part.files
    ]
    transaction = Transaction(before, "drop")
    for key in (KEY, OTHER, (3, "c")):
        transaction.drop(key)
    assert purge(commit(transaction), locations) == []
    assert tree(tmp_path) == {"t/", "t/d=2/", "t/d=2/s=b/", "t/d=2/s=b/shared", "away/", "away/a.parquet"}


def wrote_elsewhere(lake: TableLake, *more: str) -> TableSnapshot:
    """Make a partition elsewhere, and replace its own file `dead` by `live`.

    The partition also lists a foreign file.
    """
    away = lake.location.parent / "away"
    theirs = put(away / "theirs.parquet")
    mine = [put(away / own_name(lake, name)) for name in ("dead", "live")]
    for name in more:
        put(away / name)
    transaction = Transaction(lake.table(), "add")
    transaction.add((3, "c"), f"file:{away}", [theirs, mine[0]])
    commit(transaction)
    transaction = Transaction(lake.table(), "replace")
    transaction.replace((3, "c"), [theirs, mine[1]], f"file:{away}")
    return commit(transaction)


def test_what_a_table_wrote_to_a_partition_elsewhere(tmp_path: Path) -> None:
    """Vacuum, purge and DROP delete own files of a partition elsewhere, also files of failed writes.

    The foreign files and the folder stay.
    """
    lake = TableLake(tmp_path)
    left = own_name(lake, "left")
    vacuum(wrote_elsewhere(lake, left), older_than=NOW, grace=-24 * HOUR_MS)
    assert tree(tmp_path / "away") == {"theirs.parquet", own_name(lake, "live")}
    before = lake.table()
    gone = [f"{part.location}/{file.path}" for part in before.partitions() for file in part.files]
    lake.drop((3, "c"))
    assert purge(lake.table(), gone) == []
    assert tree(tmp_path / "away") == {"theirs.parquet"}

    for external, names in ((False, ()), (True, ("live",))):
        lake = TableLake(tmp_path / str(external), external=external)
        wrote_elsewhere(lake, own_name(lake, "left"), f".{own_name(lake, 'dead')}.crc")
        kept = {"theirs.parquet", *(own_name(lake, name) for name in names)}
        assert drop(lake) == []
        assert tree(lake.location.parent / "away") == kept


def test_a_young_file_in_a_place_that_only_old_rows_tell_of(tmp_path: Path) -> None:
    """A young file of a failed write stays, because a write may still run in a dropped partition's location.

    The rows that record this location stay until the file is old enough.
    """
    lake = TableLake(tmp_path)
    lake.append(OTHER, "kept")
    left = own_name(lake, "left")
    wrote_elsewhere(lake, left)
    lake.drop((3, "c"))
    for _ in range(2):
        planned = vacuum(lake.table(), older_than=NOW, dry_run=True)
        assert vacuum(lake.table(), older_than=NOW) == planned
        assert tree(tmp_path / "away") == {"theirs.parquet", left}
        assert lake.listed() == {"kept"}
    vacuum(lake.table(), older_than=NOW, grace=-24 * HOUR_MS)
    assert tree(tmp_path / "away") == {"theirs.parquet"}
    assert b"away" not in b"".join(
        value for _, value in lake.store.scan(*prefix_range(partition_prefix(lake.id)))
    )
    assert vacuum(lake.table(), older_than=NOW, grace=-24 * HOUR_MS) == []
    assert lake.on_disk() == {"kept"}


@pytest.mark.parametrize("dropped", [False, True])
def test_directories_of_heavy_values_elsewhere(tmp_path: Path, dropped: bool) -> None:
    """Vacuum and DROP delete own files that the table no longer lists in directories elsewhere.

    They delete files of failed writes there, too, also in the directories of future partitions.
    """
    lake = TableLake(tmp_path)
    places = [tmp_path / name for name in ("one", "two")]
    arrangements = [ArrangementSpec(SkewMap(("x",), ((1,),), True, (f"file:{place}",))) for place in places]
    own = [own_name(lake, name) for name in ("dead", "live", "left")]
    for place in places:
        for name in (*own, "theirs", "pq-0011223344556677-1.parquet"):
            put(place / name)
    for name in own[:2]:
        transaction = Transaction(lake.table(), "replace")
        file = msgspec.structs.replace(put(places[0] / name), path=f"file:{places[0]}/{name}")
        transaction.replace(KEY, [file], arrangement=arrangements[0])
        commit(transaction)
    transaction = Transaction(lake.table(), "alter")
    transaction.set_metadata(msgspec.structs.replace(lake.table().metadata, arrangement=arrangements[1]))
    commit(transaction)
    if dropped:
        assert drop(lake) == []
    else:
        vacuum(lake.table(), older_than=NOW, grace=-24 * HOUR_MS)
    theirs = {"theirs", "pq-0011223344556677-1.parquet"}
    assert tree(places[0]) == (theirs if dropped else {*theirs, own[1]})
    assert tree(places[1]) == theirs


def test_what_another_table_lists_of_a_partition_elsewhere(tmp_path: Path) -> None:
    """A file stays if another table whose folder overlaps lists it.

    A file behind a link within the table stays, too.
    """
    lake = TableLake(tmp_path)
    table = wrote_elsewhere(lake)
    dead = tmp_path / "away" / own_name(lake, "dead")
    another(
        lake, "u", tmp_path / "away", external=True, files={KEY: [put(dead)]}, place=f"file:{tmp_path}/away"
    )
    linked = put(tmp_path / "linked" / own_name(lake, "linked"))
    (lake.location / "d=1").mkdir(parents=True)
    (lake.location / "d=1" / "s=a").symlink_to(tmp_path / "linked")
    vacuum(table, older_than=NOW, grace=-24 * HOUR_MS)
    assert tree(tmp_path / "away") == {"theirs.parquet", dead.name, own_name(lake, "live")}
    assert tree(tmp_path / "linked") == {linked.path}


def test_purge_of_what_others_own(tmp_path: Path) -> None:
    """Files in another table's folder stay, even if that folder is within this table's folder.

    Older versions allowed such a folder.
    """
    lake = TableLake(tmp_path)
    beside = another(lake, "beside", tmp_path / "beside")
    theirs = put(tmp_path / "beside" / FOLDER / own(beside, "x"))
    another(lake, "inner", lake.location / "in")
    listed = put(lake.location / "in" / FOLDER / "y.parquet")
    transaction = Transaction(lake.table(), "add")
    transaction.add(KEY, f"{tmp_path}/beside/{FOLDER}", [theirs])
    transaction.add(OTHER, f"{lake.location}/in/{FOLDER}", [listed])
    commit(transaction)
    gone = [f"{part.location}/{file.path}" for part in lake.table().partitions() for file in part.files]
    lake.drop(KEY)
    lake.drop(OTHER)
    before = tree(tmp_path)
    assert purge(lake.table(), gone) == []
    vacuum(lake.table(), older_than=NOW)
    assert tree(tmp_path) == before


def test_purge_of_an_external_table(tmp_path: Path) -> None:
    """Nothing goes: the files of an external table outlive it."""
    lake = TableLake(tmp_path, external=True)
    lake.append(KEY, "mine")
    lake.drop(KEY)
    assert purge(lake.table(), [f"{lake.location}/{FOLDER}/{own_name(lake, 'mine')}"]) == []
    assert lake.on_disk() == {"mine"}


# -- vacuum


def test_vacuum_takes_checksums(tmp_path: Path) -> None:
    """A file's checksum is deleted with it, and a checksum without a file is deleted, too.

    Live files keep their checksums.
    """
    lake = TableLake(tmp_path)
    for name, mine in (("old", True), ("adopted", False)):
        lake.append(KEY, name, own=mine)
    lake.replace(KEY, "live")
    stranger = put(lake.location / FOLDER / "stranger")
    for name in (own_name(lake, "old"), "adopted", own_name(lake, "live"), stranger.path):
        put(lake.location / FOLDER / f".{name}.crc", "sum")
    outlived = put(lake.location / "d=5/s=e" / f".{own_name(lake, 'gone')}.crc")
    running = put(lake.location / FOLDER / f".{own_name(lake, 'running')}.crc")
    put(lake.location / FOLDER / ".not-ours.crc")
    days_ago = time.time() - TWO_DAYS_S
    for path in lake.location.rglob("*"):
        if path.is_file() and "running" not in path.name and "adopted" not in path.name:
            os.utime(path, (days_ago, days_ago))
    expected = {
        ("data file", own_name(lake, "old")),
        ("data file", "adopted"),
        ("checksum file", f".{own_name(lake, 'old')}.crc"),
        ("checksum file", ".adopted.crc"),
        ("left-over file", outlived.path),
    }
    planned = vacuum(lake.table(), older_than=NOW, dry_run=True)
    assert names(planned) == expected
    assert {row.bytes for row in planned if row.kind == "checksum file"} == {3}
    done = vacuum(lake.table(), older_than=NOW)
    assert names(done) == expected
    live = own_name(lake, "live")
    assert tree(lake.location) == {
        "d=1/", f"{FOLDER}/", *(f"{FOLDER}/{name}" for name in (
            live, f".{live}.crc", "stranger", ".stranger.crc", running.path, ".not-ours.crc")),
    }  # fmt: skip
    assert names(vacuum(lake.table(), older_than=NOW)) == set()


def test_vacuum_looks_at_a_file_by_where_it_is(tmp_path: Path) -> None:
    """A live file that is listed by another way than the table's location is not taken for left over."""
    lake = TableLake(tmp_path)
    (tmp_path / "way").symlink_to(lake.location)
    live = put(lake.location / FOLDER / own_name(lake, "live"))
    away = put(tmp_path / "away" / own_name(lake, "away"))
    (lake.location / "d=2").symlink_to(tmp_path / "away")
    days_ago = time.time() - TWO_DAYS_S
    for path in (lake.location / FOLDER / live.path, tmp_path / "away" / away.path):
        os.utime(path, (days_ago, days_ago))
    transaction = Transaction(lake.table(), "add")
    transaction.add(KEY, f"{tmp_path}/way/d=1/../{FOLDER}", [live])
    commit(transaction)
    before = tree(tmp_path)
    assert names(vacuum(lake.table(), older_than=NOW)) == set()
    assert tree(tmp_path) == before


def test_vacuum_of_two_external_tables_over_one_folder(tmp_path: Path) -> None:
    """A file that one table has overwritten stays while the other table lists it."""
    lake = TableLake(tmp_path, external=True)
    taken = lake.append(KEY, "taken")
    lake.append(KEY, "not taken")
    second = another(lake, "second", lake.location, external=True, files={KEY: [taken]})
    lake.replace(KEY, "new")
    vacuum(lake.table(), older_than=NOW)
    assert lake.on_disk() == {"taken", "new"}
    transaction = Transaction(second, "drop")
    transaction.drop(KEY)
    vacuum(commit(transaction), older_than=NOW)
    assert lake.on_disk() == {"taken", "new"}  # the second did not write it


# -- claims


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("{}/t", "this is the folder of table default.t"),
        ("file:{}//t/", "this is the folder of table default.t"),
        ("{}/u/../t", "this is the folder of table default.t"),
        ("{}/link", "this is the folder of table default.t"),
        ("{}/t/below", "above it is the folder of table default.t"),
        ("{}/link/below/that", "above it is the folder of table default.t"),
        ("{}", "below it is the folder of table default.t"),
        ("/", "below it is the folder of table default.t"),
        ("{}/T", None),
        ("{}/t2", None),
        ("{}/t%2Fbelow", None),
        ("s3://lake{}/t", None),
        ("s3a://bucket/x/../data", "this is the folder of table default.bucket"),
        ("s3://bucket", "below it is the folder of table default.bucket"),
        ("s3://bucket/data2", None),
        ("hdfs://bucket/data", None),
    ],
)
def test_a_managed_tables_folder_is_its_own(tmp_path: Path, location: str, says: str | None) -> None:
    """No table can be in, at or above a managed table's folder, by any spelling or link.

    Neighbouring folders are allowed.
    """
    lake = TableLake(tmp_path)
    another(lake, "bucket", "s3://bucket/data")
    lake.location.mkdir()
    (tmp_path / "link").symlink_to(lake.location)
    place = location.format(tmp_path)

    def check(managed: bool) -> None:
        require_free(claims(lake.metastore.store, RealPaths()), place, "table a.b", managed=managed)

    for managed in (False, True):
        if says is None:
            check(managed)
        else:
            with pytest.raises(LocationTakenError, match=f"table a.b cannot be at .*: {says}, at .*LOCATION"):
                check(managed)


def test_external_tables_may_share_a_folder(tmp_path: Path) -> None:
    """External tables may share a folder with each other, but not with a managed table.

    No table may be at the default folder for tables of a database, or above it.
    """
    lake = TableLake(tmp_path, external=True)

    def check(location: str, managed: bool = False) -> None:
        held = claims(lake.metastore.store, RealPaths())
        databases = {"default": str(tmp_path / "w"), "d": str(tmp_path / "w/d.db")}
        require_free(held, location, "table a.b", managed=managed, databases=databases)

    for location in (f"{lake.location}", f"{lake.location}/below", f"{tmp_path}/w/d.db/t"):
        check(location)
    for location, says in (
        (f"{tmp_path}/w/d.db", "this is the default folder for tables of database d"),
        (f"{tmp_path}/w", "this is the default folder for tables of database default"),
        (f"{tmp_path}", "below it is the default folder for tables of database default"),
    ):
        with pytest.raises(LocationTakenError, match=says):
            check(location)
    for location in (f"{lake.location}", f"{lake.location}/below"):
        with pytest.raises(LocationTakenError, match=r"folder of table default\.t"):
            check(location, managed=True)


def test_a_database_lies_in_no_tables_folder(tmp_path: Path) -> None:
    """Its directory may hold tables, and be no table's."""
    lake = TableLake(tmp_path)

    def check(location: Path) -> None:
        require_outside(claims(lake.metastore.store, RealPaths()), str(location), "d")

    check(tmp_path)
    check(tmp_path / "t.db")
    for location in (lake.location, lake.location / "d.db"):
        with pytest.raises(LocationTakenError, match=r"database d cannot be at .*folder of table default\.t"):
            check(location)


def test_a_table_that_was_dropped_holds_nothing(tmp_path: Path) -> None:
    """A table in the making does."""
    lake = TableLake(tmp_path)
    staged = lake.metastore.stage_table("default", "new", metadata(location=str(tmp_path / "new")))
    lake.metastore.drop_table("default", "t")
    (claim,) = claims(lake.metastore.store, RealPaths())
    assert (claim.label, claim.managed, claim.location) == ("a table in the making", True, f"{tmp_path}/new")
    staged.discard()
    assert list(claims(lake.metastore.store, RealPaths())) == []


def test_folders_of_other_file_systems() -> None:
    """If the file system deletes full directories, too, directories with a file at any depth stay.

    The directories that the caller excludes stay, too.
    """
    system, _ = pafs.FileSystem.from_uri("mock://x/")
    for folder in ("t/full/deep", "t/empty/deep", "t/spared/empty", "u"):
        system.create_dir(folder)
    for name in ("t/full/deep/file", "t/pq-1"):
        with system.open_output_stream(name) as stream:
            stream.write(b"x")
    files = FileAccess()
    files._systems["mock://x"], files._prefixes["mock://x"] = system, ""
    root = files.storage_path("mock://x/t")
    assert {place for place, _ in files.below(root)} == {
        files.storage_path("mock://x/t/full/deep/file"),
        files.storage_path("mock://x/t/pq-1"),
    }
    files.delete(files.storage_path("mock://x/t/pq-1"))
    files.delete_empty_below(root, lambda folder: folder.path == "/t/spared")
    left = {info.path for info in system.get_file_info(pafs.FileSelector("", recursive=True))}
    assert left == {"t", "t/full", "t/full/deep", "t/full/deep/file", "t/spared", "u"}
    files.delete(files.storage_path("mock://x/t/full/deep/file"))
    files.delete_empty_below(root, lambda folder: False)
    assert [info.path for info in system.get_file_info(pafs.FileSelector("", recursive=True))] == ["u"]


def test_a_path_that_no_file_system_takes_is_a_missing_file(tmp_path: Path) -> None:
    """One name that is too long ends no look at the others."""
    (tmp_path / "there").touch()
    paths = [str(tmp_path / name) for name in ("x" * 300, "there", "gone")]
    assert FileAccess().missing(paths) == [paths[0], paths[2]]
